//! A name for a user that the machine has none for: programs such as `ssh` and `initdb` do not run as a number. In
//! the command's view alone, the machine's files stay as they are.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use nix::mount::{MsFlags, mount};

const NAME: &str = "agent";
/// Folder of the command's own in which the files lie until they are bound.
const DRAFTS: &str = "/dev/shm";

/// Adds the user and its group to the lists of this process's view, unless they are there.
///
/// # Errors
/// If a list cannot be replaced.
pub(crate) fn name_user(uid: u32, gid: u32, home: Option<&OsStr>) -> io::Result<()> {
    let home = home.and_then(OsStr::to_str).unwrap_or("/");
    let passwd = |name: &str| format!("{name}:x:{uid}:{gid}::{home}:/bin/sh\n");
    let group = |name: &str| format!("{name}:x:{gid}:\n");
    add("/etc/passwd", uid, &passwd)?;
    add("/etc/group", gid, &group)
}

fn add(list: &str, id: u32, line: &dyn Fn(&str) -> String) -> io::Result<()> {
    let Ok(text) = fs::read_to_string(list) else {
        return Ok(());
    };
    let Some(text) = with_line(&text, id, line) else {
        return Ok(());
    };
    let draft = Path::new(DRAFTS).join(format!(".{id}"));
    fs::write(&draft, text)?;
    let bound = mount(
        Some(&draft),
        list,
        None::<&str>,
        MsFlags::MS_BIND,
        None::<&str>,
    );
    fs::remove_file(&draft)?;
    Ok(bound?)
}

/// The list with a line for this id; none if it has one, or the line would be several.
fn with_line(text: &str, id: u32, line: &dyn Fn(&str) -> String) -> Option<String> {
    let ids = text.lines().filter_map(|line| line.split(':').nth(2));
    let is_there = ids
        .filter_map(|field| field.parse().ok())
        .any(|other: u32| other == id);
    let is_taken = text
        .lines()
        .any(|line| line.split(':').next() == Some(NAME));
    let name = if is_taken {
        format!("{NAME}{id}")
    } else {
        NAME.to_owned()
    };
    let line = line(&name);
    let is_line = line.lines().count() == 1;
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    (!is_there && is_line).then(|| format!("{text}{end}{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_a_name_gets_one_that_is_free() {
        let line = |name: &str| format!("{name}:x:7:7\n");
        let with = |text: &str| with_line(text, 7, &line);
        assert_eq!(
            with("root:x:0:0").as_deref(),
            Some("root:x:0:0\nagent:x:7:7\n")
        );
        assert_eq!(
            with("agent:x:1:1\n").as_deref(),
            Some("agent:x:1:1\nagent7:x:7:7\n")
        );
        assert_eq!(with("other:x:7:0\n"), None);
        assert_eq!(
            with_line("", 7, &|name| format!("{name}\nroot:x:0:0\n")),
            None
        );
    }
}
