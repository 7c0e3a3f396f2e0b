//! Completions for shells and pages for `man`, from clap's description of the command line.

use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;

/// Writes the completions of a shell to standard output.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "awo", &mut text);
    out(&text)
}

/// Writes the manual: its first page to standard output, or all pages into a folder.
pub fn manual(dir: Option<&Path>) -> Result<(), Failure> {
    let command = Arguments::command();
    let failed =
        |error: std::io::Error| Failure::Broken(format!("cannot write the manual: {error}"));
    match dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(failed)?;
            clap_mangen::generate_to(command, dir).map_err(failed)
        }
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(command)
                .render(&mut text)
                .map_err(failed)?;
            out(&text)
        }
    }
}

fn out(text: &[u8]) -> Result<(), Failure> {
    let written = std::io::stdout().lock().write_all(text);
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Broken(format!("cannot write the output: {error}")),
    })
}
