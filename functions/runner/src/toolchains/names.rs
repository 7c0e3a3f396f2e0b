//! Names of files as the table of toolchains writes them.

use std::path::Path;

/// True if `name` fits a pattern with at most one `*`, which stands for any text.
pub(crate) fn is_named(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

/// True if `path` fits a pattern: a name, the end of a path (`a/b`), or a folder anywhere (`a/`, `a/b/`). Each
/// part may have a `*`.
pub(crate) fn is_switch(path: &Path, pattern: &str) -> bool {
    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
    let Some(parts) = parts else {
        return false;
    };
    let fits = |parts: &[&str], pattern: &[&str]| {
        let mut pairs = parts.iter().zip(pattern);
        parts.len() == pattern.len() && pairs.all(|(part, one)| is_named(part, one))
    };
    if let Some(folder) = pattern.strip_suffix('/') {
        let folder: Vec<&str> = folder.split('/').collect();
        return parts
            .windows(folder.len())
            .any(|parts| fits(parts, &folder));
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    let start = parts.len().checked_sub(pattern.len());
    start.is_some_and(|start| fits(&parts[start..], &pattern))
}
