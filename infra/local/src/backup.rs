//! `awo-local backup` and `awo-local restore`: the data directory without its reproducible parts.
//!
//! A backup is a folder of plain files that only its owner can read. The database is copied as of
//! one moment, while the service writes to it; keys and secrets are small files that are replaced
//! as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use awo_cloud::personal;
use rusqlite::{Connection, OpenFlags};

use crate::Failure;

/// The database of a data directory.
const DATABASE: &str = "dynamodb.sqlite";
/// Files that are small, and written anew as a whole: keys, secrets, the journal of tasks.
const FILES: [&str; 4] = [
    "access-key-id",
    "first-key.json",
    "secrets.json",
    "ecs-tasks.jsonl",
];
/// Folders: workspace archives.
const FOLDERS: [&str; 1] = ["files"];

/// Copies a data directory into a folder that is not there yet; the service may run meanwhile.
pub fn back_up(data_dir: &Path, to: &Path) -> Result<(), Failure> {
    let database = data_dir.join(DATABASE);
    if !database.is_file() {
        return Err(format!("{} holds no data of a service", data_dir.display()).into());
    }
    if to.exists() {
        return Err(format!("{} exists; name a folder that does not", to.display()).into());
    }
    // Under another name until it is whole, so that what was cut off is not taken for a backup.
    let partial = partial_name(to);
    if partial.exists() {
        fs::remove_dir_all(&partial)?;
    }
    personal::make_dir(&partial)?;
    let copy = partial.join(DATABASE);
    let connection = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(std::time::Duration::from_secs(30))?;
    let name = copy.to_str().ok_or("the folder's name is not UTF-8")?;
    connection.execute("VACUUM INTO ?1", [name])?;
    copy_others(data_dir, &partial)?;
    fs::File::open(&copy)?.sync_all()?;
    fs::rename(&partial, to)?;
    Ok(())
}

/// Copies a backup into a data directory that holds no data yet. The caller holds its lock.
pub fn restore(from: &Path, data_dir: &Path) -> Result<(), Failure> {
    let database = data_dir.join(DATABASE);
    if database.exists() {
        let dir = data_dir.display();
        return Err(format!("{dir} holds data; move it away, or name another AWO_DATA_DIR").into());
    }
    let copy = from.join(DATABASE);
    if !copy.is_file() {
        return Err(format!("{} is no backup: it has no {DATABASE}", from.display()).into());
    }
    copy_others(from, data_dir)?;
    // Last, so that a restore that was cut off can be repeated.
    let partial = data_dir.join(format!("{DATABASE}.partial"));
    fs::copy(&copy, &partial)?;
    fs::File::open(&partial)?.sync_all()?;
    fs::rename(&partial, &database)?;
    Ok(())
}

fn partial_name(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

fn copy_others(from: &Path, to: &Path) -> io::Result<()> {
    for name in FILES {
        match fs::copy(from.join(name), to.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    for name in FOLDERS {
        let folder = from.join(name);
        if folder.is_dir() {
            copy_folder(&folder, &to.join(name))?;
        }
    }
    Ok(())
}

/// What goes meanwhile, as an archive that expires, is left out.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    personal::make_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        let copied = if kind.is_dir() {
            copy_folder(&entry.path(), &target)
        } else if kind.is_file() {
            fs::copy(entry.path(), &target).map(|_| ())
        } else {
            Ok(())
        };
        match copied {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
