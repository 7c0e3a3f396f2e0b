//! Deliveries to an inbox, and their replay.

use serde::Deserialize;
use serde_json::json;

use crate::answers;
use crate::client::{Client, segment};
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::list::{items, pages};
use crate::output::Output;
use crate::paint::clean_line;
use crate::submit::idempotency_key;

use super::arguments::{Deliveries, Replay};
use super::path_of;

/// The part of a delivery that is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delivery {
    id: String,
    received_at: String,
    event: String,
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    actor: Option<String>,
    outcome: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    triggers: Vec<TriggerResult>,
}

/// The result of a trigger for a delivery.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TriggerResult {
    trigger_id: String,
    result: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    work_order_id: Option<String>,
}

impl Delivery {
    /// The subject, the actor, and the reason of an outcome that no trigger has.
    fn summary(&self) -> String {
        let by = self.actor.as_deref().map(|actor| format!("by {actor}"));
        let parts = [self.subject.clone(), by, self.reason.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl TriggerResult {
    fn summary(&self) -> String {
        let parts = [self.reason.as_deref(), self.work_order_id.as_deref()];
        let rest: Vec<&str> = parts.into_iter().flatten().collect();
        [self.trigger_id.as_str(), rest.join(", ").as_str()]
            .join(" ")
            .trim()
            .to_owned()
    }
}

/// Lists deliveries, each with a row for every trigger that judged it.
pub async fn list(client: &Client, arguments: &Deliveries, output: &Output) -> Result<(), Failure> {
    let path = format!("{}/deliveries", path_of(&arguments.inbox));
    let query = arguments
        .outcome
        .clone()
        .map(|outcome| ("outcome", outcome));
    let query = query.into_iter().collect();
    let text = pages(client, &path, "deliveries", query, &arguments.part).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let (deliveries, total): (Vec<Delivery>, u64) = items(&text, "deliveries")?;
    let mut grid = Grid::new(&[
        Column::whole("delivery", 0),
        Column::whole("event", 1),
        Column::whole("outcome", 0),
        Column::whole("time", 1),
        Column::cut("what it is about", 0),
    ]);
    for delivery in &deliveries {
        grid.row(vec![
            Entry::text(&delivery.id),
            Entry::text(&delivery.event),
            Entry::text(&delivery.outcome),
            Entry::time(&delivery.received_at, output),
            Entry::text(delivery.summary()),
        ]);
        for result in &delivery.triggers {
            grid.detail(vec![
                Entry::default(),
                Entry::default(),
                Entry::text(&result.result),
                Entry::default(),
                Entry::text(result.summary()),
            ]);
        }
    }
    grid.show(total, "deliveries", output)
}

/// Has a delivery processed once more.
pub async fn replay(client: &Client, arguments: &Replay, output: &Output) -> Result<(), Failure> {
    let inbox = path_of(&arguments.inbox);
    let path = format!("{inbox}/deliveries/{}/replay", segment(&arguments.delivery));
    let (body, key) = (json!({}), idempotency_key(None));
    let text = client.post(&path, Some(&body), &key).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let delivery: Delivery = answers::read(&text)?;
    output.line(&format!("{} is processed again", clean_line(&delivery.id)))?;
    output.hint(&format!(
        "To see the result: awo inboxes deliveries {}",
        clean_line(&arguments.inbox.id)
    ))
}
