//! The files of a checkout, by name: links are listed and never followed.

use std::io;
use std::path::{Path, PathBuf};

/// Most files that are listed.
const MAX_FILES: usize = 500_000;

/// Every file and link below `dir`, relative to it, `.git` left out.
pub(crate) fn list(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(dir.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name();
            if name == ".git" {
                continue;
            }
            let path = folder.join(name);
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if files.len() == MAX_FILES {
                return Err(io::Error::other(format!("more than {MAX_FILES} files")));
            } else {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}
