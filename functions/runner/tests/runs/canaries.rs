//! Searches for secrets where there must be none.

use std::fs;
use std::path::Path;

use crate::scene::CANARY;

/// How many files there are below `dir`, of which none holds a canary.
pub fn hold_no_canary(dir: &Path) -> usize {
    let (mut folders, mut files) = (vec![dir.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let bytes = fs::read(entry.path()).unwrap_or_default();
            assert!(
                !String::from_utf8_lossy(&bytes).contains(CANARY),
                "{entry:?}"
            );
            files += 1;
        }
    }
    files
}
