//! `awo start`

use crate::answers::{self, StartAnswer};
use crate::arguments::Start;
use crate::client::Client;
use crate::failure::Failure;
use crate::follow;
use crate::output::{Format, Output};
use crate::paint::clean_line;
use crate::read;
use crate::reference;
use crate::screen::Screen;
use crate::submit::idempotency_key;

/// Starts a new run of a work order, and follows it if that is wanted.
pub async fn run(client: &Client, wanted: &Start, output: &Output) -> Result<(), Failure> {
    let id = reference::work_order(client, &wanted.id).await?;
    let key = idempotency_key(wanted.idempotency_key.as_deref());
    let path = format!("/api/v1/work-orders/{id}/runs");
    let start = client.post(&path, None, &key);
    let text = Screen::during(output, format!("starting {id}"), start).await?;
    let started: StartAnswer = answers::data(&text)?;
    if wanted.follow || wanted.require_verified {
        let run = reference::run_id(&started.run_id)?;
        follow::announce(output, "started", [id.as_str(), &started.run_id])?;
        return follow::run(client, &run, wanted.require_verified, output).await;
    }
    if output.is_json() {
        return output.line(&text);
    }
    let run = clean_line(&started.run_id);
    if output.format == Format::Ids {
        return output.line(&run);
    }
    read::field(output, "run", &run)?;
    read::field(output, "status", output.paint.status(&started.status))?;
    output.hint(&format!("To watch it: awo follow {run}"))
}
