//! `awo audit verify`: checks that the API's record of a run's configuration is one complete chain.
//! It trusts no response and computes each hash itself.

use awo_domain::RunId;
use awo_domain::audit::chain::{self, BrokenLink, ChainCheck, ServedAudit};
use comfy_table::Color;
use serde_json::{Value, json};

use crate::answers;
use crate::arguments::VerifyAudit;
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::reference;

/// How often both answers are read until they show the same moment: an active run may
/// take a snapshot between them.
const READS: usize = 3;
/// Letters of a value that are shown.
const SHOWN: usize = 200;

/// Checks the chain of a run, and names its first broken link.
pub async fn run(client: &Client, wanted: &VerifyAudit, output: &Output) -> Result<(), Failure> {
    let run = reference::run(client, &wanted.id).await?;
    let (audit, snapshots) = read(client, &run).await?;
    let served = ServedAudit {
        run: &run,
        audit: &audit,
        snapshots: &snapshots,
        noted_head: wanted.head.as_deref(),
    };
    let checked = chain::check(&served)
        .map_err(|why| Failure::Broken(format!("the audit cannot be hashed: {why}")))?;
    if output.is_json() {
        output.line(&verdict(&run, &checked).to_string())?;
    } else {
        show(&run, &snapshots, &checked, output)?;
    }
    match checked.broken {
        None => Ok(()),
        Some(_) => Err(Failure::NotDone),
    }
}

/// The run's audit and its snapshots, of one moment if they agree on how many there are.
async fn read(client: &Client, run: &RunId) -> Result<(Value, Value), Failure> {
    let path = format!("/api/v1/audit/runs/{run}");
    let data = async |path: &str| answers::data::<Value>(&client.get(path, &[]).await?);
    let mut both = (Value::Null, Value::Null);
    for _ in 0..READS {
        both = (
            data(&path).await?,
            data(&format!("{path}/snapshots")).await?,
        );
        if both.0["snapshotsCount"] == both.1["total"] {
            break;
        }
    }
    Ok(both)
}

fn verdict(run: &RunId, checked: &ChainCheck) -> Value {
    let mut verdict = json!({
        "runId": run, "intact": checked.broken.is_none(), "snapshots": checked.hashes.len(),
    });
    if let Some(broken) = &checked.broken {
        verdict["broken"] = json!(broken);
    } else if let Some(head) = checked.hashes.last() {
        verdict["chainHead"] = json!(head);
    }
    verdict
}

fn show(
    run: &RunId,
    snapshots: &Value,
    checked: &ChainCheck,
    output: &Output,
) -> Result<(), Failure> {
    let broken = checked.broken.as_ref();
    let mut grid = Grid::new(&[
        Column::number("snapshot", 0),
        Column::number("iteration", 1),
        Column::whole("taken", 1),
        Column::cut("hash", 0),
        Column::whole("link", 0),
    ]);
    for (number, hash) in (1..).zip(&checked.hashes) {
        let item = &snapshots["items"][number - 1];
        let is_broken = broken.is_some_and(|link| link.snapshot == Some(number));
        let link = if is_broken {
            Entry::text("broken").in_colour(Color::Red)
        } else {
            Entry::text("holds").in_colour(Color::Green)
        };
        grid.row(vec![
            Entry::text(number),
            Entry::text(&item["iteration"]),
            Entry::time(item["createdAt"].as_str().unwrap_or_default(), output),
            Entry::text(hash),
            link,
        ]);
    }
    if !checked.hashes.is_empty() {
        grid.show_rows("snapshots", output)?;
        output.line("")?;
    }
    field(output, "run", run)?;
    match (broken, checked.hashes.last()) {
        (Some(link), _) => show_broken(link, output),
        (None, None) => field(output, "chain", "empty: no runner has claimed the run"),
        (None, Some(head)) => {
            field(output, "chain", output.paint.good("intact"))?;
            field(output, "chain head", head)
        }
    }
}

fn show_broken(link: &BrokenLink, output: &Output) -> Result<(), Failure> {
    let place = match link.snapshot {
        Some(number) => format!("snapshot {number}"),
        None => "the run's audit".to_owned(),
    };
    let message = format!("broken at {} of {place}", link.field);
    field(output, "chain", output.paint.bad(&message))?;
    field(output, "expected", shown(&link.expected))?;
    field(output, "found", shown(&link.found))?;
    output.remark(match link.field {
        "previousHash" => "this field or the previous snapshot was altered",
        "configHash" if link.snapshot.is_some() => {
            "this field or the configuration in the same snapshot was altered"
        }
        "chainHead" => {
            "this field or the last snapshot was altered, or a snapshot was added or removed"
        }
        _ => "this field contradicts the snapshots",
    });
    Ok(())
}

/// A value in one line, as much of it as people read.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut: String = text.chars().take(SHOWN).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    clean_line(&format!("{cut}{more}"))
}
