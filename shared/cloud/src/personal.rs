//! Files of one user on this machine: the folder of `awo`'s settings, and files that no other user
//! may read.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::Mint;
use crate::environment::Environment;

/// The file of the settings folder in which the local service records where it runs.
const RECORD: &str = "local.json";

/// Where the local service runs. Its key stays in the data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalRecord {
    /// Its data directory, an absolute path.
    pub data_dir: PathBuf,
    /// Its process.
    pub pid: u32,
}

/// The folder of a person's settings: `AWO_CONFIG_DIR`, else `$XDG_CONFIG_HOME/awo`, else
/// `$HOME/.config/awo`. None for a process without a home.
#[must_use]
pub fn config_dir(environment: &Environment) -> Option<PathBuf> {
    let of = |name: &str| environment.get(name).map(PathBuf::from);
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    of("AWO_CONFIG_DIR")
        .or_else(|| Some(of("XDG_CONFIG_HOME").and_then(absolute)?.join("awo")))
        .or_else(|| Some(of("HOME").and_then(absolute)?.join(".config").join("awo")))
}

impl LocalRecord {
    /// The record of the service that started last on this machine; none if there is none.
    #[must_use]
    pub fn read(config_dir: &Path) -> Option<LocalRecord> {
        serde_json::from_slice(&std::fs::read(config_dir.join(RECORD)).ok()?).ok()
    }

    /// Records this service, in place of any other.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, config_dir: &Path) -> io::Result<()> {
        make_dir(config_dir)?;
        write(&config_dir.join(RECORD), &serde_json::to_vec(self)?)
    }

    /// Takes the record away, unless another service has replaced it.
    pub fn remove(&self, config_dir: &Path) {
        if LocalRecord::read(config_dir).as_ref() == Some(self) {
            // A record that stays names a service that does not answer, which awo reports.
            let _ = std::fs::remove_file(config_dir.join(RECORD));
        }
    }
}

/// Makes a folder that only its owner can read, unless it is there.
///
/// # Errors
/// It cannot be made.
pub fn make_dir(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Writes a file whole or not at all, for the owner only. Others may write to its folder: the
/// draft is a new file under an unpredictable name, and a link that stands at `path` is
/// replaced, not followed.
///
/// # Errors
/// It cannot be written; then nothing is left of it.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.draft", &Mint::default().secret()[..32]));
    let mut file = std::fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&draft)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        // What is left of a draft may hold a key.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn environment(pairs: &'static [(&str, &str)]) -> Environment {
        Environment::new(|name| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_settings_folder_is_the_nearest_that_is_named() {
        let of = |pairs| config_dir(&environment(pairs));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("HOME", "relative")]), None);
        assert_eq!(of(&[("HOME", "/h")]), Some("/h/.config/awo".into()));
        let both = of(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]);
        assert_eq!(both, Some("/x/awo".into()));
        let named = of(&[("HOME", "/h"), ("AWO_CONFIG_DIR", "/n")]);
        assert_eq!(named, Some("/n".into()));
    }

    #[test]
    fn a_private_file_is_the_owners_and_replaces_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a.json"), dir.path().join("other"));
        std::fs::write(&other, "theirs").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        write(&path, b"ours").unwrap();
        assert_eq!(std::fs::read(&other).unwrap(), b"theirs");
        let meta = std::fs::symlink_metadata(&path).unwrap();
        assert!(meta.is_file() && meta.permissions().mode() & 0o777 == 0o600);
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            2,
            "no draft is left"
        );
    }

    #[test]
    fn a_service_removes_its_own_record_alone() {
        let dir = tempfile::tempdir().unwrap();
        let record = |pid| LocalRecord {
            data_dir: "/d".into(),
            pid,
        };
        record(1).write(dir.path()).unwrap();
        record(2).write(dir.path()).unwrap();
        record(1).remove(dir.path());
        assert_eq!(LocalRecord::read(dir.path()), Some(record(2)));
        record(2).remove(dir.path());
        assert_eq!(LocalRecord::read(dir.path()), None);
    }
}
