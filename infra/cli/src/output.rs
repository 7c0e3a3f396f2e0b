//! Standard output, and how a failure is told.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::paint::Paint;

/// Standard output.
pub struct Output {
    /// True if it is for programs.
    pub json: bool,
    /// True if a terminal shows it, with or without colours: nothing may steer it then.
    pub terminal: bool,
    /// Its colours.
    pub paint: Paint,
}

impl Output {
    /// The process's own.
    pub fn new(json: bool) -> Output {
        let terminal = std::io::stdout().is_terminal();
        Output {
            json,
            terminal,
            paint: Paint::of_terminal(terminal),
        }
    }

    /// Writes a line.
    pub fn line(&self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let written = writeln!(out, "{text}").and_then(|()| out.flush());
        written.map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::Broken(format!("cannot write the output: {error}")),
        })
    }

    /// Writes a remark beside what was asked for; one that nobody reads does no harm.
    pub fn remark(&self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Tells a failure: to programs as the API said it, to people in words.
    pub fn failure(&self, failure: &Failure) -> ExitCode {
        if let (true, Failure::Api(api)) = (self.json, failure)
            && serde_json::from_str::<serde_json::Value>(&api.body).is_ok()
        {
            // The exit code tells what an unwritten line would.
            let _ = self.line(&api.body);
        }
        if let Some(text) = failure.text() {
            let paint = Paint::of_terminal(std::io::stderr().is_terminal());
            let _ = writeln!(std::io::stderr(), "{} {text}", paint.bad("error:"));
        }
        ExitCode::from(failure.exit_code())
    }
}
