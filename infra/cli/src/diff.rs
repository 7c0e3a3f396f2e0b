//! `awo diff`: a run's diff, coloured on a terminal and otherwise unchanged.

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
    // Into a file or a program it goes as it is: it is a patch.
    let shown = if output.terminal {
        painted(&diff.diff, output.paint)
    } else {
        diff.diff.clone()
    };
    if !shown.is_empty() {
        output.line(shown.trim_end_matches('\n'))?;
    }
    if let Some(why) = &diff.error {
        output.remark(&clean_line(why));
    } else if diff.truncated {
        let (shown, all) = (diff.diff.len(), diff.bytes);
        output.remark(&format!("truncated: {shown} of {all} bytes are shown"));
    }
    Ok(())
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
