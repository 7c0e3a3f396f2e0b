//! The display of progress: on a terminal a live line with a spinner below the permanent lines,
//! elsewhere only the lines.

use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::output::Output;
use crate::paint::Paint;

const TICK: Duration = Duration::from_millis(100);

/// Where progress is shown.
pub struct Screen<'a> {
    output: &'a Output,
    spinner: Option<ProgressBar>,
    /// What goes on, and what is known beside it.
    live: RefCell<(String, String)>,
    /// Its colours.
    pub paint: Paint,
}

impl Screen<'_> {
    /// Progress for people goes to standard output; beside JSON it goes to standard error.
    pub fn new(output: &Output) -> Screen<'_> {
        let error_is_terminal = std::io::stderr().is_terminal();
        let spinner = error_is_terminal.then(|| {
            let spinner = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
                spinner.set_style(style);
            }
            spinner.enable_steady_tick(TICK);
            spinner
        });
        Screen {
            output,
            spinner,
            live: RefCell::default(),
            paint: if output.is_for_programs() {
                Paint::of_terminal(error_is_terminal)
            } else {
                output.paint
            },
        }
    }

    /// Shows the awaited event while the wait lasts.
    pub async fn during<T>(output: &Output, what: String, work: impl Future<Output = T>) -> T {
        let screen = Screen::new(output);
        screen.now(what);
        let done = work.await;
        screen.end();
        done
    }

    /// Adds a line that stays.
    pub fn line(&self, text: &str) -> Result<(), Failure> {
        let write = || {
            if self.output.is_for_programs() {
                // Progress beside JSON is a courtesy: without a reader the run is followed all
                // the same.
                let _ = writeln!(std::io::stderr(), "{text}");
                Ok(())
            } else {
                self.output.line(text)
            }
        };
        match &self.spinner {
            Some(spinner) => spinner.suspend(write),
            None => write(),
        }
    }

    /// Changes the live line.
    pub fn now(&self, text: String) {
        self.live.borrow_mut().0 = text;
        self.refresh();
    }

    /// Changes the text beside it.
    pub fn beside(&self, text: String) {
        self.live.borrow_mut().1 = text;
        self.refresh();
    }

    /// True if this goes on.
    pub fn is_at(&self, place: &str) -> bool {
        self.live.borrow().0 == place
    }

    /// True if there is a live line.
    pub fn is_live(&self) -> bool {
        self.spinner.is_some()
    }

    fn refresh(&self) {
        if let Some(spinner) = &self.spinner {
            let live = self.live.borrow();
            let gap = if live.1.is_empty() { "" } else { ", " };
            spinner.set_message(format!("{}{gap}{}", live.0, live.1));
        }
    }

    /// Takes the live line away.
    pub fn end(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}
