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

/// True if `path` fits a switch: a name, the end of a path (`a/b`), or a folder anywhere (`a/`).
pub(crate) fn is_switch(path: &Path, switch: &str) -> bool {
    let parts = || {
        path.components()
            .filter_map(|part| part.as_os_str().to_str())
    };
    if let Some(part_pattern) = switch.strip_suffix('/') {
        return parts().any(|part| is_named(part, part_pattern));
    }
    if switch.contains('/') {
        return path.ends_with(switch);
    }
    parts()
        .next_back()
        .is_some_and(|name| is_named(name, switch))
}
