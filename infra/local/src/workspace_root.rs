//! The default folder of the runs' workspaces.
//!
//! The folder is beside the service's other data, unless a project is above: Cargo, npm, pytest, Go, Gradle and
//! others read manifests and settings of the folders above their own, so a run would be verified as part
//! of that project, or fail since commands cannot read its files. Then it is in the folder of the
//! system for a program's state.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use awo_cloud::personal;
use nix::unistd::geteuid;
use sha2::{Digest, Sha256};

/// Files that tool chains look for in the folders above.
const LOOKED_FOR_ABOVE: [&str; 26] = [
    ".cargo/config",
    ".cargo/config.toml",
    ".eslintrc.json",
    ".python-version",
    ".tool-versions",
    "Cargo.toml",
    "Directory.Build.props",
    "Gemfile",
    "build.gradle",
    "build.gradle.kts",
    "conftest.py",
    "deno.json",
    "deno.jsonc",
    "global.json",
    "go.mod",
    "go.work",
    "package.json",
    "pnpm-workspace.yaml",
    "pyproject.toml",
    "pytest.ini",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "settings.gradle",
    "settings.gradle.kts",
    "tox.ini",
];

/// Returns the folder, which exists afterwards, of a service whose data are in `data_dir`.
///
/// # Errors
/// If it cannot be made.
pub fn default_root(data_dir: &Path) -> io::Result<PathBuf> {
    let beside_data = data_dir.join("workspaces");
    if file_above(&beside_data).is_some() {
        let outside = folders_of_state(data_dir).into_iter().find(|dir| {
            file_above(dir).is_none() && personal::make_dir(dir).is_ok() && is_own(dir)
        });
        if let Some(dir) = outside {
            return Ok(dir);
        }
    }
    personal::make_dir(&beside_data)?;
    Ok(beside_data)
}

/// Returns the nearest file above `dir` that tool chains take for a part of the project in `dir`.
#[must_use]
pub fn file_above(dir: &Path) -> Option<PathBuf> {
    let above = dir.ancestors().skip(1);
    above
        .flat_map(|folder| LOOKED_FOR_ABOVE.iter().map(move |name| folder.join(name)))
        .find(|file| file.is_file())
}

/// Folders for the workspaces of one data directory, best first.
fn folders_of_state(data_dir: &Path) -> Vec<PathBuf> {
    let hash = hex::encode(Sha256::digest(data_dir.as_os_str().as_encoded_bytes()));
    let name = format!("awo-workspaces-{}", &hash[..16]);
    let user = geteuid();
    let state = if user.is_root() {
        Some(PathBuf::from("/var/lib"))
    } else {
        let home = || std::env::home_dir().map(|home| home.join(".local/state"));
        let given = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
        given.filter(|dir| dir.is_absolute()).or_else(home)
    };
    let state = state.map(|dir| dir.join(&name));
    let shared = Path::new("/var/tmp").join(format!("{name}-{user}"));
    state.into_iter().chain([shared]).collect()
}

/// True if `dir` is a folder of our own, and no link.
fn is_own(dir: &Path) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_are_beside_the_data_unless_a_project_is_above() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("project/.local");
        fs::create_dir_all(&data).unwrap();
        assert_eq!(default_root(&data).unwrap(), data.join("workspaces"));
        fs::write(dir.path().join("project/Cargo.toml"), "[workspace]\n").unwrap();
        let outside = default_root(&data).unwrap();
        assert!(!outside.starts_with(dir.path()), "{}", outside.display());
        assert!(outside.is_dir() && file_above(&outside).is_none());
        assert_eq!(default_root(&data).unwrap(), outside);
        fs::remove_dir(outside).unwrap();
    }

    #[test]
    fn settings_of_a_tool_chain_in_a_home_count_as_a_project() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".cargo")).unwrap();
        let settings = dir.path().join(".cargo/config.toml");
        fs::write(&settings, "").unwrap();
        let nearest = file_above(&dir.path().join("data/workspaces"));
        assert_eq!(nearest, Some(settings));
    }
}
