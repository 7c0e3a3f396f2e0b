//! Standard output, and the presentation of failures.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::paint::{Paint, clean_line};
use crate::times;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people: a table that fits the terminal, or a field a line
    Table,
    /// For scripts: values between tabs, whole, under a line of names
    Tsv,
    /// The API's own answer
    Json,
    /// Ids alone, one a line
    Ids,
}

/// Standard output.
pub struct Output {
    /// How answers are written.
    pub format: Format,
    /// True if a terminal shows it, with or without colours: nothing may steer it then.
    pub terminal: bool,
    /// Its colours.
    pub paint: Paint,
}

impl Output {
    /// The process's own.
    pub fn new(format: Format) -> Output {
        let terminal = std::io::stdout().is_terminal();
        Output {
            format,
            terminal,
            paint: Paint::of_terminal(terminal && format == Format::Table),
        }
    }

    /// True if the API's own answer is wanted.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// True if a program reads it: then progress goes to standard error.
    pub fn is_for_programs(&self) -> bool {
        self.format != Format::Table
    }

    /// A time as it came; people are shown how long ago it is as well.
    pub fn time(&self, time: &str) -> String {
        let whole = times::without_ms(time);
        match times::ago(time).filter(|_| self.terminal && !self.is_for_programs()) {
            Some(ago) => format!("{ago} ({whole})"),
            None if self.is_for_programs() => clean_line(time),
            None => whole,
        }
    }

    /// Writes what a person can do next.
    pub fn hint(&self, text: &str) -> Result<(), Failure> {
        if self.is_for_programs() {
            Ok(())
        } else {
            self.line(&format!("\n{text}"))
        }
    }

    /// Writes a line.
    pub fn line(&self, text: &str) -> Result<(), Failure> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// Writes bytes as they are.
    #[expect(clippy::unused_self, reason = "output is written through its owner")]
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        written.map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::Broken(format!("cannot write the output: {error}")),
        })
    }

    /// Writes a remark beside the result; a remark that is not read does no harm.
    pub fn remark(&self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Reports a failure: to programs as the API returned it, to people in words.
    pub fn failure(&self, failure: &Failure) -> ExitCode {
        if let (true, Failure::Api(api)) = (self.is_json(), failure)
            && serde_json::from_str::<serde_json::Value>(&api.body).is_ok()
        {
            // The exit code replaces a line that cannot be written.
            let _ = self.line(&api.body);
        }
        if let Some(text) = failure.text() {
            let paint = Paint::of_terminal(std::io::stderr().is_terminal());
            let _ = writeln!(std::io::stderr(), "{} {text}", paint.bad("error:"));
        }
        ExitCode::from(failure.exit_code())
    }
}
