//! The program `awo-local`, called by a new user.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use awo_tests::local::Local;
use awo_tests::service::program;

fn called(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program("awo-local"));
    command.args(arguments).current_dir(dir).env_clear();
    command.output().unwrap()
}

#[test]
fn the_local_service_starts_for_no_argument() {
    let dir = tempfile::tempdir().unwrap();
    for (argument, code, shown) in [
        ("--help", 0, "AWO_DATA_DIR"),
        ("--version", 0, env!("CARGO_PKG_VERSION")),
        ("--port", 2, "--port"),
        ("start", 2, "start"),
    ] {
        let output = called(dir.path(), &[argument]);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{argument}: {text}");
        assert!(text.contains(shown), "{argument}: {text}");
        let made: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
        assert!(made.is_empty(), "{argument}: {made:?}");
    }
}

#[test]
fn a_file_with_a_key_is_written_through_no_link() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("elsewhere");
    std::fs::write(&elsewhere, "somebody else's").unwrap();
    let ready = dir.path().join("ready.json");
    symlink(&elsewhere, ready.with_extension("draft")).unwrap();
    drop(Local::start(dir.path(), &[]));
    assert_eq!(
        std::fs::read_to_string(&elsewhere).unwrap(),
        "somebody else's"
    );
    let written = std::fs::symlink_metadata(&ready).unwrap();
    assert!(written.is_file(), "{written:?}");
    assert_eq!(written.permissions().mode() & 0o777, 0o600);
}
