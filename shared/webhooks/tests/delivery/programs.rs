//! The programs of other languages, if this machine has them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command, if there is such a program. Where there is none the test shows nothing, and says
/// so past the capture of its output, in words that `check-suite` knows.
pub fn found(test: &str, program: &str, arguments: &[&str]) -> Option<Command> {
    let mut probe = Command::new(program);
    probe
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let works = probe.status().is_ok_and(|status| status.success());
    if !works {
        let line = format!("\nnot shown: {test}, since {program} is not on this machine\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    works.then(|| Command::new(program))
}

/// What the command prints, if all is well with it.
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}
