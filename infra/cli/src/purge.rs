//! `awo purge`: deletes work orders permanently, after a confirmation.

use std::io::{BufRead, IsTerminal, Write};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answers;
use crate::arguments::Purge;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::screen::Screen;

const PATH: &str = "/api/v1/work-orders/purge";
/// Longest answer to the question, in bytes.
const MAX_ANSWER: u64 = 64;

/// The service's answer to a purge or its dry run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PurgeAnswer {
    deleted_count: u64,
    deleted_ids: Vec<String>,
    #[serde(default)]
    would_delete: Option<u64>,
}

/// Purges, or shows the number of work orders that it would delete.
pub async fn run(client: &Client, wanted: &Purge, output: &Output) -> Result<(), Failure> {
    if wanted.dry_run {
        let text = send(client, wanted, true, output).await?;
        if output.is_json() {
            return output.line(&text);
        }
        let count = would_delete(&text)?;
        return output.line(&format!("would delete {}", orders(count)));
    }
    if !wanted.yes {
        confirm(client, wanted, output).await?;
    }
    let text = send(client, wanted, false, output).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let purged: PurgeAnswer = answers::data(&text)?;
    for id in &purged.deleted_ids {
        output.line(id)?;
    }
    output.remark(&format!("deleted {}", orders(purged.deleted_count)));
    Ok(())
}

async fn send(
    client: &Client,
    wanted: &Purge,
    dry_run: bool,
    output: &Output,
) -> Result<String, Failure> {
    let mut body = Map::new();
    if !wanted.status.is_empty() {
        body.insert("statuses".to_owned(), json!(wanted.status));
    }
    if let Some(days) = wanted.older_than_days {
        body.insert("olderThanDays".to_owned(), json!(days));
    }
    body.insert("dryRun".to_owned(), json!(dry_run));
    let body = Value::Object(body);
    let doing = if dry_run {
        "counting"
    } else {
        "deleting; active work is killed first"
    };
    let sent = client.post_for_long(PATH, &body);
    Screen::during(output, doing.to_owned(), sent)
        .await
        .map_err(|failure| match failure {
            Failure::Unreachable { what, why, .. } if !dry_run => Failure::Unreachable {
                what,
                why,
                advice: "the purge may continue nevertheless; repeating it is safe".to_owned(),
            },
            other => other,
        })
}

fn would_delete(text: &str) -> Result<u64, Failure> {
    let purged: PurgeAnswer = answers::data(text)?;
    Ok(purged.would_delete.unwrap_or_default())
}

/// Asks for confirmation at a terminal; elsewhere only `--yes` confirms.
async fn confirm(client: &Client, wanted: &Purge, output: &Output) -> Result<(), Failure> {
    let input = std::io::stdin();
    if !input.is_terminal() || output.is_json() {
        return Err(Failure::Usage(
            "a purge deletes permanently: confirm with --yes, or use --dry-run to see how many work orders it would delete"
                .to_owned(),
        ));
    }
    let count = would_delete(&send(client, wanted, true, output).await?)?;
    let mut error = std::io::stderr();
    let _ = write!(error, "permanently delete {}? [y/N] ", orders(count));
    let _ = error.flush();
    let mut answer = String::new();
    let mut limited = std::io::Read::take(input.lock(), MAX_ANSWER);
    let read = limited.read_line(&mut answer);
    match (read, answer.trim()) {
        (Ok(_), "y" | "Y" | "yes") => Ok(()),
        _ => {
            output.remark("nothing was deleted");
            Err(Failure::NotDone)
        }
    }
}

fn orders(count: u64) -> String {
    match count {
        1 => "1 work order".to_owned(),
        _ => format!("{count} work orders"),
    }
}
