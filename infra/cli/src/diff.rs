//! `awo diff`: a run's diff, coloured on a terminal and otherwise unchanged.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::answers;
use crate::arguments;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::{Paint, clean_line};
use crate::reference;
use crate::screen::Screen;

/// The part of the answer that is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Diff {
    #[serde(default)]
    iteration: Option<u32>,
    diff: String,
    /// The exact bytes, where they are no text.
    #[serde(default)]
    base64: Option<String>,
    bytes: u64,
    truncated: bool,
    #[serde(default)]
    error: Option<String>,
}

/// Shows it.
pub async fn run(
    client: &Client,
    wanted: &arguments::Diff,
    output: &Output,
) -> Result<(), Failure> {
    let run = reference::run(client, &wanted.id).await?;
    let (path, reading) = (
        format!("/v1/runs/{run}/diff"),
        format!("reading the diff of {run}"),
    );
    let text = Screen::during(output, reading, client.get(&path, &[])).await?;
    if output.is_json() {
        return output.line(&answers::read::<Value>(&text)?.to_string());
    }
    let diff: Diff = answers::read(&text)?;
    if diff.iteration.is_none() {
        output.remark(&format!("{run} has no commit yet"));
        return Ok(());
    }
    if output.terminal {
        if !diff.diff.is_empty() {
            let shown = painted(&diff.diff, output.paint);
            output.line(shown.trim_end_matches('\n'))?;
        }
    } else {
        // Into a file or a program it goes as it is: it is a patch.
        output.bytes(&diff.exact()?)?;
    }
    match diff.fault() {
        Some(fault) => {
            output.remark(&clean_line(&fault));
            if output.terminal {
                Ok(())
            } else {
                Err(Failure::NotDone)
            }
        }
        None => Ok(()),
    }
}

impl Diff {
    /// The patch.
    fn exact(&self) -> Result<Vec<u8>, Failure> {
        let Some(encoded) = &self.base64 else {
            return Ok(self.diff.clone().into_bytes());
        };
        let decoded = STANDARD.decode(encoded);
        decoded.map_err(|why| Failure::Broken(format!("the service's diff is damaged: {why}")))
    }

    /// The reason why `git apply` cannot restore the run's changes from it.
    fn fault(&self) -> Option<String> {
        if let Some(why) = &self.error {
            return Some(why.clone());
        }
        let bytes = self.bytes;
        let shown = self.exact().map_or(0, |exact| exact.len());
        if self.truncated && (shown as u64) < bytes {
            return Some(format!(
                "truncated: {shown} of {bytes} bytes are shown, so git apply cannot take the diff; \
                 fetch the run's branch instead"
            ));
        }
        let mut lines = self.diff.lines();
        let named = lines.find(|line| line.starts_with("Binary files "))?;
        Some(format!(
            "the diff names a binary file without its content, so git apply cannot take it; fetch \
             the run's branch instead: {named}"
        ))
    }
}

/// As git colours it, and nothing in it that could steer the terminal.
fn painted(diff: &str, paint: Paint) -> String {
    let mut in_hunk = false;
    let lines = diff.lines().map(|line| {
        in_hunk = match line {
            _ if line.starts_with("@@") => true,
            _ if line.starts_with("diff --git ") => false,
            _ => in_hunk,
        };
        let text = clean_line(line);
        match line.as_bytes().first() {
            Some(b'@') => paint.faint(&text),
            Some(b'+') if in_hunk => paint.good(&text),
            Some(b'-') if in_hunk => paint.bad(&text),
            Some(b' ' | b'\\') | None => text,
            Some(_) => paint.strong(&text),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(json: &str) -> Diff {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_diff_is_exact_and_a_faulty_one_says_why() {
        let text = diff(r#"{"iteration":1,"diff":"+a\n\n","bytes":4,"truncated":false}"#);
        assert_eq!(text.exact().unwrap(), b"+a\n\n");
        assert_eq!(text.fault(), None);
        let json =
            r#"{"iteration":1,"diff":"+\ufffd\n","base64":"K+kK","bytes":3,"truncated":false}"#;
        assert_eq!(diff(json).exact().unwrap(), b"+\xe9\n");
        let cut = diff(r#"{"iteration":1,"diff":"+a\n","bytes":9,"truncated":true}"#);
        assert!(cut.fault().unwrap().starts_with("truncated: 3 of 9 bytes"));
        let json = r#"{"iteration":1,"diff":"Binary files a/x and b/x differ\n","bytes":32,"truncated":false}"#;
        assert!(diff(json).fault().unwrap().contains("a/x and b/x"));
    }
}
