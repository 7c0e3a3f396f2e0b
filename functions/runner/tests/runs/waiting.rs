//! Waits for what a run does, and looks at the processes of this machine.

use std::fs;
use std::time::{Duration, Instant};

use crate::scene::PATIENCE;

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Command lines of living processes that hold `mark`.
pub fn alive(mark: &str) -> Vec<String> {
    let mut command_lines = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let read = |name: &str| {
            let bytes = fs::read(entry.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let is_process = entry
            .file_name()
            .to_str()
            .is_some_and(|n| n.parse::<u32>().is_ok());
        let is_self = entry.file_name().to_str() == Some(&std::process::id().to_string());
        if is_process
            && !is_self
            && (read("cmdline").contains(mark) || read("environ").contains(mark))
        {
            command_lines.push(read("cmdline"));
        }
    }
    command_lines
}
