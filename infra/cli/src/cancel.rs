//! `awo cancel`

use std::time::{Duration, Instant};

use awo_domain::RunId;
use serde_json::json;

use crate::answers::{self, CancelAnswer, Run};
use crate::arguments::Cancel;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::read;
use crate::reference::{self, Id, Kind, Reference};
use crate::screen::Screen;
use crate::submit::idempotency_key;

/// Pause between two reads of a run that is not settled yet.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest wait: the time that ECS may take to stop a task, and two sweeps.
const PATIENCE: Duration = Duration::from_secs(300);

/// Cancels, and waits for the bill if that is wanted.
pub async fn run(client: &Client, wanted: &Cancel, output: &Output) -> Result<(), Failure> {
    let id = reference::any(client, &wanted.id, Kind::WorkOrder).await?;
    let cancel = cancel(client, &id, wanted.reason.as_deref());
    let (text, had_processes) = Screen::during(output, format!("canceling {id}"), cancel).await?;
    if !output.is_json() {
        let processes = if had_processes {
            "its processes are being stopped"
        } else {
            "no process was running"
        };
        let status = output.paint.status("canceled");
        output.line(&format!("{status}  {id}; {processes}"))?;
    }
    if !wanted.wait {
        if output.is_json() {
            return output.line(&text);
        }
        return output.hint(&format!("To see it: awo get {id}"));
    }
    let run = reference::run(client, &Reference::Id(id)).await?;
    let waiting = "waiting until its processes have ended and it is settled".to_owned();
    let text = Screen::during(output, waiting, settled(client, &run)).await?;
    if output.is_json() {
        return output.line(&text);
    }
    read::show_end(&answers::read(&text)?, output)
}

/// The answer, and whether anything ran.
async fn cancel(client: &Client, id: &Id, reason: Option<&str>) -> Result<(String, bool), Failure> {
    // The cancel of a work order takes no reason; that of its run, which cancels both, does.
    let run = match (id, reason) {
        (Id::WorkOrder(id), None) => {
            let text = client.delete(&format!("/api/v1/work-orders/{id}")).await?;
            let canceled: CancelAnswer = answers::data(&text)?;
            return Ok((text, canceled.was_running));
        }
        (id, _) => reference::run(client, &Reference::Id(id.clone())).await?,
    };
    let body = reason.map(|why| json!({"reason": why}));
    let path = format!("/v1/runs/{run}/cancel");
    let key = idempotency_key(None);
    let text = client.post(&path, body.as_ref(), &key).await?;
    let run: Run = answers::read(&text)?;
    let has_processes = run.started_at.is_some() && run.compute_stopped_at.is_none();
    Ok((text, has_processes))
}

/// The run, once it is paid.
async fn settled(client: &Client, run: &RunId) -> Result<String, Failure> {
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        let text = client.get(&format!("/v1/runs/{run}"), &[]).await?;
        let now: Run = answers::read(&text)?;
        if now.settled_at.is_some() {
            return Ok(text);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(Failure::Refused(format!(
        "{run} is canceled, but not settled after {} s\n  what to do: check again later with `awo \
         get {run}`; if it is still not settled, contact the operator",
        PATIENCE.as_secs()
    )))
}
