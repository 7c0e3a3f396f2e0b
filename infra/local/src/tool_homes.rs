//! Where this machine's version managers keep their tool chains: in the cloud the image of runs
//! has its tools in the system's own places, here a task is told where they are.

use std::collections::BTreeMap;
use std::path::Path;

/// Variables that lead to the tool chains that there are.
pub(crate) fn found() -> BTreeMap<String, String> {
    let home = std::env::var("HOME").unwrap_or_default();
    [
        ("RUSTUP_HOME", ".rustup"),
        ("PYENV_ROOT", ".pyenv"),
        ("RBENV_ROOT", ".rbenv"),
    ]
    .into_iter()
    .filter_map(|(name, usual)| {
        let usual = Path::new(&home).join(usual);
        let set = std::env::var(name).ok();
        let place = set.or_else(|| usual.is_dir().then(|| usual.display().to_string()))?;
        Some((name.to_owned(), place))
    })
    .chain(
        std::env::var("JAVA_HOME")
            .ok()
            .map(|place| ("JAVA_HOME".to_owned(), place)),
    )
    .collect()
}
