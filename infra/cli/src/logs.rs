//! `awo logs`: the agent's output, by iteration.

use awo_domain::RunId;
use serde_json::{Value, json};

use crate::answers::{self, Log, Logs};
use crate::arguments;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::plain;
use crate::reference;
use crate::screen::Screen;

/// Pages that are read; a page holds at least one iteration.
const MAX_PAGES: u32 = 1_000;

/// Shows what was printed.
pub async fn run(
    client: &Client,
    wanted: &arguments::Logs,
    output: &Output,
) -> Result<(), Failure> {
    let run = reference::run(client, &wanted.id).await?;
    let reading = format!("reading the logs of {run}");
    let logs = Screen::during(output, reading, logs(client, &run, wanted.iteration)).await?;
    if output.is_json() {
        return output.line(&json!({"logs": logs, "hasMore": false}).to_string());
    }
    if logs.is_empty() {
        let which = wanted.iteration.map(|n| format!(" in iteration {n}"));
        let which = which.unwrap_or_default();
        return output.line(&format!("the agent of {run} has no output{which} yet"));
    }
    for (number, log) in logs.into_iter().enumerate() {
        let log: Log = answers::read(&log.to_string())?;
        let gap = if number == 0 { "" } else { "\n" };
        let header = output.paint.strong(&header(&log));
        output.line(&format!("{gap}{header}"))?;
        if !log.output.is_empty() {
            output.line(plain(&log.output).trim_end_matches('\n'))?;
        }
    }
    Ok(())
}

/// The logs of all iterations, or of one.
async fn logs(client: &Client, run: &RunId, iteration: Option<u32>) -> Result<Vec<Value>, Failure> {
    let path = format!("/v1/runs/{run}/logs");
    let mut after = iteration.map_or(0, |wanted| wanted.saturating_sub(1));
    let mut all = Vec::new();
    for _ in 0..MAX_PAGES {
        let mut query = vec![("after", after.to_string())];
        query.extend(iteration.map(|_| ("limit", "1".to_owned())));
        let page: Logs = answers::read(&client.get(&path, &query).await?)?;
        let number = |log: &Value| {
            log["iteration"]
                .as_u64()
                .and_then(|n| u32::try_from(n).ok())
        };
        let last = page.logs.last().and_then(number);
        all.extend(page.logs);
        if let Some(wanted) = iteration {
            all.retain(|log| number(log) == Some(wanted));
            break;
        }
        match last.filter(|last| page.has_more && *last > after) {
            Some(last) => after = last,
            None => break,
        }
    }
    Ok(all)
}

/// Which iteration, and what of its output is not here.
fn header(log: &Log) -> String {
    let shown = log.output.len() as u64;
    let cut = match (log.truncated, log.bytes > shown) {
        (false, _) => String::new(),
        (true, false) => "; the beginning is truncated".to_owned(),
        (true, true) => format!(
            "; the last {} of {}, the beginning is truncated",
            size(shown),
            size(log.bytes)
        ),
    };
    let empty = if shown == 0 { "; no output" } else { "" };
    format!("── iteration {}{empty}{cut} ──", log.iteration)
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1_024;
    match bytes {
        0..KIB => format!("{bytes} bytes"),
        KIB..1_048_576 => format!("{} KiB", bytes / KIB),
        _ => {
            let tenths = bytes * 10 / (KIB * KIB);
            format!("{}.{} MiB", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_reported() {
        let header = |output: &str, bytes, truncated| {
            header(&Log {
                iteration: 2,
                output: output.to_owned(),
                bytes,
                truncated,
            })
        };
        assert_eq!(header("abc", 3, false), "── iteration 2 ──");
        assert_eq!(header("", 0, false), "── iteration 2; no output ──");
        assert_eq!(
            header(&"x".repeat(2_048), 3_250_000, true),
            "── iteration 2; the last 2 KiB of 3.0 MiB, the beginning is truncated ──"
        );
        assert_eq!(
            header("abc", 3, true),
            "── iteration 2; the beginning is truncated ──"
        );
    }
}
