//! Lock files with addresses from which their package manager downloads: while commands run they name the servers
//! on loopback, and in what is committed they name the registries.

use std::fs;
use std::io;
use std::path::Path;

use awo_domain::environment::RegistryKind;

use super::Local;
use crate::agent_user::AgentUser;
use crate::layout;
use crate::safe_files::{self, Unreadable};

/// Lock files by the kind of their registry.
const LOCK_FILES: [(&str, RegistryKind); 8] = [
    ("uv.lock", RegistryKind::Pypi),
    ("poetry.lock", RegistryKind::Pypi),
    ("pdm.lock", RegistryKind::Pypi),
    ("pylock.toml", RegistryKind::Pypi),
    ("yarn.lock", RegistryKind::Npm),
    ("pnpm-lock.yaml", RegistryKind::Npm),
    (NPM_LOCK, RegistryKind::Npm),
    (NPM_SHRINKWRAP, RegistryKind::Npm),
];
const NPM_LOCK: &str = "package-lock.json";
const NPM_SHRINKWRAP: &str = "npm-shrinkwrap.json";
/// Folders that hold no project's lock file.
const SKIPPED: [&str; 4] = [".git", ".venv", "node_modules", "target"];
/// Deepest folder below the checkout in which one is looked for.
const MAX_DEPTH: usize = 4;
/// Most entries of folders that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// Largest lock file.
const MAX_BYTES: u64 = 32 * 1_048_576;

/// Another text for a lock file of this name; `None` leaves it.
type Rewriting<'a> = &'a dyn Fn(&str, &str) -> Option<String>;

/// Rewrites the lock files of a checkout.
pub(super) fn rewrite(
    user: Option<AgentUser>,
    checkout: &Path,
    rewriting: Rewriting<'_>,
) -> io::Result<()> {
    let mut left = MAX_ENTRIES;
    below(user, checkout, rewriting, (MAX_DEPTH, &mut left))
}

fn below(
    user: Option<AgentUser>,
    folder: &Path,
    rewriting: Rewriting<'_>,
    (depth, left): (usize, &mut usize),
) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        // Its owner has closed it, to itself as well, and git reads nothing there either.
        Err(why) if is_closed(&why) => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Some(rest) = left.checked_sub(1) else {
            return Ok(());
        };
        *left = rest;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let Some(name) = name.to_str() else {
            continue;
        };
        if kind.is_dir() && depth > 0 && !SKIPPED.contains(&name) {
            below(user, &entry.path(), rewriting, (depth - 1, &mut *left))?;
        }
        if kind.is_file() && LOCK_FILES.iter().any(|(lock, _)| *lock == name) {
            rewrite_file(user, folder, name, rewriting)?;
        }
    }
    Ok(())
}

fn is_closed(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound
    )
}

fn rewrite_file(
    user: Option<AgentUser>,
    folder: &Path,
    name: &str,
    rewriting: Rewriting<'_>,
) -> io::Result<()> {
    let bytes = match safe_files::read_within(folder, name, MAX_BYTES) {
        Err(Unreadable::Io(why)) if !is_closed(&why) => return Err(why),
        // What is no plain file of this size is no lock file.
        Err(_) => return Ok(()),
        Ok(bytes) => bytes,
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(());
    };
    match rewriting(name, &text).filter(|new| *new != text) {
        None => Ok(()),
        Some(new) => {
            let path = folder.join(name);
            layout::write_anew(&path, new.as_bytes())?;
            layout::give(&path, user)
        }
    }
}

/// A lock file with the addresses of servers.
pub(super) fn localized(locals: &[Local], file: &str, text: &str) -> Option<String> {
    let (_, kind) = LOCK_FILES.iter().find(|(lock, _)| *lock == file)?;
    // The default registry's address in it is replaced by npm itself.
    let is_npms_own = file == NPM_LOCK || file == NPM_SHRINKWRAP;
    let is_meant = |local: &&Local| local.kind == *kind && !(is_npms_own && local.is_default);
    let mut meant: Vec<&Local> = locals.iter().filter(is_meant).collect();
    // Of several at one host the one with the longest path.
    meant.sort_by_key(|local| std::cmp::Reverse(local.path.len()));
    let mut new = text.to_owned();
    for local in &meant {
        let path = local.path.trim_end_matches('/');
        if !path.is_empty() {
            for end in ['/', '"', '\'', '\n'] {
                let from = format!("{}{path}{end}", local.origin);
                new = new.replace(&from, &format!("http://{}{path}{end}", local.address));
            }
        }
    }
    // Files of an index lie beside its path.
    for local in &meant {
        let from = format!("{}/", local.origin);
        new = new.replace(&from, &format!("http://{}/", local.address));
    }
    Some(new)
}

/// A lock file with the addresses of registries.
pub(super) fn restored(locals: &[Local], text: &str) -> Option<String> {
    let new = locals.iter().fold(text.to_owned(), |text, local| {
        let with_key = format!("http://{}/{}/", local.address, local.key);
        let text = text.replace(&with_key, &format!("{}/", local.origin));
        text.replace(
            &format!("http://{}/", local.address),
            &format!("{}/", local.origin),
        )
    });
    Some(new)
}

#[cfg(test)]
pub(super) fn local(kind: RegistryKind, url: &str) -> Local {
    let parsed = url::Url::parse(url).unwrap();
    Local {
        kind,
        secret: "TOKEN".to_owned(),
        name: None,
        scopes: Vec::new(),
        is_default: true,
        origin: parsed.origin().ascii_serialization(),
        address: "127.0.0.1:7".to_owned(),
        path: parsed.path().to_owned(),
        host: parsed.host_str().unwrap().to_owned(),
        url: url.to_owned(),
        key: "key".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UV: &str = "source = { registry = \"https://pypi.acme.example/simple/\" }\n\
                      wheels = [{ url = \"https://pypi.acme.example/files/a.whl\" }]\n\
                      other = { url = \"https://elsewhere.example/b.whl\" }\n";

    #[test]
    fn a_lock_file_names_the_server_while_commands_run_and_the_registry_in_a_commit() {
        let locals = [local(
            RegistryKind::Pypi,
            "https://pypi.acme.example/simple/",
        )];
        let dir = tempfile::tempdir().unwrap();
        let nested = dir.path().join("packages/api");
        fs::create_dir_all(&nested).unwrap();
        fs::create_dir_all(dir.path().join("node_modules")).unwrap();
        let (lock, skipped) = (
            nested.join("uv.lock"),
            dir.path().join("node_modules/uv.lock"),
        );
        fs::write(&lock, UV).unwrap();
        fs::write(&skipped, UV).unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(outside.path(), UV).unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("uv.lock")).unwrap();
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        rewrite(None, dir.path(), &|file, text| {
            localized(&locals, file, text)
        })
        .unwrap();
        let local = read(&lock);
        assert!(local.contains("\"http://127.0.0.1:7/simple/\""), "{local}");
        assert!(local.contains("http://127.0.0.1:7/files/a.whl"), "{local}");
        assert!(local.contains("https://elsewhere.example/b.whl"), "{local}");
        rewrite(None, dir.path(), &|_, text| restored(&locals, text)).unwrap();
        assert_eq!(read(&lock), UV);
        assert_eq!(
            (read(&skipped), read(outside.path())),
            (UV.to_owned(), UV.to_owned())
        );
    }

    #[test]
    fn npm_replaces_the_default_registry_itself_and_needs_help_with_scopes() {
        let lock = "\"resolved\": \"https://npm.example/p/@acme/a/-/a-1.tgz\"\n";
        let default = local(RegistryKind::Npm, "https://npm.example/p/");
        assert_eq!(
            localized(std::slice::from_ref(&default), NPM_LOCK, lock).as_deref(),
            Some(lock)
        );
        let scoped = Local {
            is_default: false,
            scopes: vec!["@acme".to_owned()],
            ..default
        };
        let changed = localized(std::slice::from_ref(&scoped), NPM_LOCK, lock).unwrap();
        assert!(
            changed.contains("http://127.0.0.1:7/p/@acme/a/-/a-1.tgz"),
            "{changed}"
        );
        assert_eq!(restored(&[scoped], &changed).as_deref(), Some(lock));
    }
}
