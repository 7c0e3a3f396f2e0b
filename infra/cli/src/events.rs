//! `awo events`: a run's timeline as data, one line per event. (`awo follow` shows it as text.)

use std::fmt::Write as _;

use awo_domain::RunId;
use awo_domain::event::TimelineEventType as T;
use serde_json::{Value, json};

use crate::answers::{self, Event};
use crate::arguments;
use crate::client::Client;
use crate::failure::Failure;
use crate::live::{Live, StreamItem};
use crate::output::Output;
use crate::paint::{clean_line, shortened};
use crate::reference;

/// Pages of a timeline that are read; each has up to 100 events.
const MAX_PAGES: u32 = 10_000;
/// Most characters of one fact.
const MAX_FACT: usize = 80;
/// What is the same in every event of a run.
const KNOWN: [&str; 4] = ["runId", "workOrderId", "sequence", "tenantContext"];

/// Shows events, and goes on until the run ends if that is wanted.
pub async fn run(
    client: &Client,
    wanted: &arguments::Events,
    output: &Output,
) -> Result<(), Failure> {
    let run = reference::run(client, &wanted.id).await?;
    let after = u64::from(wanted.after);
    if wanted.follow {
        follow(client, &run, after, output).await
    } else {
        list(client, &run, after, output).await
    }
}

async fn list(client: &Client, run: &RunId, after: u64, output: &Output) -> Result<(), Failure> {
    let (path, mut last) = (format!("/v1/runs/{run}/events"), after);
    for _ in 0..MAX_PAGES {
        let query = [("after", last.to_string())];
        let page: answers::Events = answers::read(&client.get(&path, &query).await?)?;
        for event in &page.events {
            show(event, output)?;
        }
        if !page.has_more || page.last_sequence <= last {
            break;
        }
        last = page.last_sequence;
    }
    Ok(())
}

async fn follow(client: &Client, run: &RunId, after: u64, output: &Output) -> Result<(), Failure> {
    let mut live = Live::new(client, run, after);
    loop {
        match live.next().await? {
            StreamItem::Event(event) => show(&event, output)?,
            StreamItem::Away => output.remark("the service does not respond; trying again"),
            StreamItem::Back => output.remark("the service responds again"),
            StreamItem::End => return Ok(()),
        }
    }
}

fn show(event: &Event, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(&json!(event).to_string());
    }
    let mut facts = String::new();
    for (name, value) in event.data.as_object().into_iter().flatten() {
        let value = match value {
            _ if KNOWN.contains(&name.as_str()) => continue,
            Value::Null => continue,
            Value::String(text) => shortened(text, MAX_FACT),
            Value::Array(list) => format!("[{}]", list.len()),
            other => shortened(&other.to_string(), MAX_FACT),
        };
        let _ = write!(facts, "  {}={value}", shortened(name, MAX_FACT));
    }
    let paint = output.paint;
    let kind = format!("{:<21}", clean_line(&event.kind));
    let kind = match event.known_type() {
        Some(T::RunCompleted | T::VerificationPassed) => paint.good(&kind),
        Some(T::RunFailed | T::VerificationFailed) => paint.bad(&kind),
        Some(T::RunCancelled) => paint.faint(&kind),
        _ => paint.strong(&kind),
    };
    let at = paint.faint(&event.timestamp.to_string());
    output.line(format!("{:>4}  {at}  {kind}{facts}", event.sequence).trim_end())
}
