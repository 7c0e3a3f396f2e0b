//! A value that must not be on a command line: it comes from standard input, or is typed without
//! echo.

use std::io::{BufRead, IsTerminal, Read, Write};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

use crate::failure::Failure;

/// Longest value, in bytes: Secrets Manager's own limit.
const MAX_SECRET: u64 = 65_536;

/// Reads a value: piped in, or typed after `what` was asked for.
pub async fn read(what: &str) -> Result<String, Failure> {
    let text = if std::io::stdin().is_terminal() {
        typed(what).await?
    } else {
        let mut text = String::new();
        let read = std::io::stdin()
            .lock()
            .take(MAX_SECRET + 1)
            .read_to_string(&mut text);
        read.map_err(|e| Failure::Usage(format!("the value cannot be read: {e}")))?;
        text
    };
    // A file or `echo` ends with a line end that belongs to no token.
    let value = text.trim_end_matches(['\r', '\n']).to_owned();
    if value.is_empty() || value.len() as u64 > MAX_SECRET {
        return Err(Failure::Usage(format!(
            "the value must have 1 to {MAX_SECRET} bytes; pipe it to standard input, or type it at the prompt"
        )));
    }
    if value.chars().any(char::is_control) {
        return Err(Failure::Usage(
            "the value must be one line without control characters".to_owned(),
        ));
    }
    Ok(value)
}

/// Reads a text of several lines, which is piped in.
pub fn read_piped() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        let why = "pipe the file to standard input: < key.pem";
        return Err(Failure::Usage(why.to_owned()));
    }
    let mut text = String::new();
    let read = std::io::stdin()
        .lock()
        .take(MAX_SECRET)
        .read_to_string(&mut text);
    read.map_err(|e| Failure::Usage(format!("the file cannot be read: {e}")))?;
    Ok(text)
}

/// Asks on the terminal. An interrupt is caught, so that the echo comes back whatever happens.
async fn typed(what: &str) -> Result<String, Failure> {
    let broken = |e: std::io::Error| Failure::Broken(format!("cannot read from the terminal: {e}"));
    let mut err = std::io::stderr();
    write!(err, "{what} (not shown): ")
        .and_then(|()| err.flush())
        .map_err(broken)?;
    let silence = Silence::begin()?;
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let mut limited = std::io::stdin().lock().take(MAX_SECRET + 1);
        limited.read_line(&mut line).map(|_| line)
    });
    let typed = tokio::select! {
        line = line => line.map_err(|e| broken(std::io::Error::other(e)))?.map_err(broken),
        _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
    };
    drop(silence);
    let _ = writeln!(err);
    typed
}

/// The terminal shows nothing as long as this lives.
struct Silence {
    before: Termios,
}

impl Silence {
    fn begin() -> Result<Silence, Failure> {
        let broken =
            |e: nix::Error| Failure::Broken(format!("cannot turn off the terminal's echo: {e}"));
        let before = tcgetattr(std::io::stdin()).map_err(broken)?;
        let mut without_echo = before.clone();
        without_echo.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(std::io::stdin(), SetArg::TCSAFLUSH, &without_echo).map_err(broken)?;
        Ok(Silence { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), SetArg::TCSAFLUSH, &self.before);
    }
}
