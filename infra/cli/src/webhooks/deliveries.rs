//! Deliveries of a webhook, and redelivery.

use comfy_table::Color;
use serde::Deserialize;

use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::list::{items, pages};
use crate::output::Output;
use crate::paint::{clean_line, shortened};
use crate::progress::seconds;
use crate::read::field;
use crate::submit::idempotency_key;
use crate::times::without_ms as short_time;

use super::arguments::{Deliveries, Redeliver};
use super::path_of;

/// Characters of an error that a table shows.
const ERROR_IN_TABLE: usize = 80;

/// The part of a delivery that is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delivery {
    id: String,
    event_id: String,
    event_type: String,
    status: String,
    attempts: Vec<Attempt>,
    #[serde(default)]
    next_attempt_at: Option<String>,
    created_at: String,
    #[serde(default)]
    redelivery_of: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attempt {
    number: u32,
    started_at: String,
    #[serde(default)]
    duration_ms: Option<i64>,
    #[serde(default)]
    status_code: Option<u16>,
    #[serde(default)]
    error: Option<String>,
}

impl Attempt {
    /// Its outcome.
    fn outcome(&self) -> String {
        // An error of an answer names its status.
        let error = self.error.as_deref();
        let error = error.map(|error| shortened(error, ERROR_IN_TABLE));
        let answered = self.status_code.map(|code| code.to_string());
        let result = error.or(answered);
        let result = result.unwrap_or_else(|| "no result is known".to_owned());
        let took = self.duration_ms.map(seconds);
        took.map_or(result.clone(), |took| format!("{result} after {took}"))
    }

    fn entry(&self) -> Entry {
        let text = format!("attempt {}: {}", self.number, self.outcome());
        let colour = match self.status_code {
            Some(200..=299) => Color::Green,
            _ => Color::Red,
        };
        Entry::text(text).in_colour(colour)
    }
}

impl Delivery {
    /// A remark beside its attempts.
    fn remark(&self) -> String {
        let next = self.next_attempt_at.as_deref();
        let next = next.map(|at| format!("next attempt at {}", short_time(at)));
        let again = self.redelivery_of.as_deref();
        let again = again.map(|of| format!("again: {}", clean_line(of)));
        let times: Vec<String> = again.into_iter().chain(next).collect();
        times.join(", ")
    }
}

/// Lists deliveries, each with a row for every attempt.
pub async fn list(client: &Client, wanted: &Deliveries, output: &Output) -> Result<(), Failure> {
    let path = format!("{}/deliveries", path_of(&wanted.webhook));
    let query = wanted.status.clone().map(|status| ("status", status));
    let query = query.into_iter().collect();
    let text = pages(client, &path, "deliveries", query, &wanted.part).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let (deliveries, total): (Vec<Delivery>, u64) = items(&text, "deliveries")?;
    let mut grid = Grid::new(&[
        Column::whole("delivery", 0),
        Column::whole("event", 2),
        Column::whole("status", 0),
        Column::whole("time", 1),
        Column::cut("what happened", 0),
    ]);
    for delivery in &deliveries {
        grid.row(vec![
            Entry::text(&delivery.id),
            Entry::text(&delivery.event_type),
            Entry::status(&delivery.status),
            Entry::time(&delivery.created_at, output),
            Entry::text(delivery.remark()),
        ]);
        for attempt in &delivery.attempts {
            grid.detail(vec![
                Entry::default(),
                Entry::default(),
                Entry::default(),
                Entry::time(&attempt.started_at, output),
                attempt.entry(),
            ]);
        }
    }
    grid.show(total, "deliveries", output)
}

/// Has a delivery made once more.
pub async fn redeliver(
    client: &Client,
    wanted: &Redeliver,
    output: &Output,
) -> Result<(), Failure> {
    let key = idempotency_key(wanted.idempotency_key.as_deref());
    let webhook = path_of(&wanted.webhook);
    let path = format!("{webhook}/deliveries/{}/redeliver", wanted.delivery);
    let text = client.post(&path, None, &key).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let new: Delivery = answers::read(&text)?;
    field(output, "delivery", clean_line(&new.id))?;
    field(output, "event", clean_line(&new.event_id))?;
    field(output, "status", output.paint.status(&new.status))?;
    output.line(&format!(
        "\nTo see it: awo webhooks deliveries {}",
        wanted.webhook
    ))
}
