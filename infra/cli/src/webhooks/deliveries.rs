//! What was sent to a webhook, and sending it once more.

use comfy_table::{Cell, Color};
use serde::Deserialize;

use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::list::{items, pages, show_table, status_cell, table};
use crate::output::Output;
use crate::paint::{Paint, clean_line, shortened};
use crate::progress::seconds;
use crate::read::field;
use crate::submit::idempotency_key;
use crate::times::without_ms as short_time;

use super::arguments::{Deliveries, Redeliver};
use super::path_of;

/// Characters of an error that a table shows.
const ERROR_IN_TABLE: usize = 80;

/// What is read of a delivery.
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
    /// What came of it.
    fn outcome(&self) -> String {
        // An error of an answer names its status.
        let error = self.error.as_deref();
        let error = error.map(|error| shortened(error, ERROR_IN_TABLE));
        let answered = self.status_code.map(|code| code.to_string());
        let told = error.or(answered);
        let told = told.unwrap_or_else(|| "no end is known".to_owned());
        let took = self.duration_ms.map(seconds);
        took.map_or(told.clone(), |took| format!("{told} after {took}"))
    }

    fn cell(&self, paint: Paint) -> Cell {
        let cell = Cell::new(format!("attempt {}: {}", self.number, self.outcome()));
        match self.status_code {
            _ if !paint.is_on() => cell,
            Some(200..=299) => cell.fg(Color::Green),
            _ => cell.fg(Color::Red),
        }
    }
}

impl Delivery {
    /// What is to be said of it beside its attempts.
    fn remark(&self) -> String {
        let next = self.next_attempt_at.as_deref();
        let next = next.map(|at| format!("next try at {}", short_time(at)));
        let again = self.redelivery_of.as_deref();
        let again = again.map(|of| format!("again: {}", clean_line(of)));
        let told: Vec<String> = again.into_iter().chain(next).collect();
        told.join(", ")
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
    let mut table = table(&["delivery", "event", "status", "time", "what happened"]);
    for delivery in &deliveries {
        table.add_row(vec![
            Cell::new(clean_line(&delivery.id)),
            Cell::new(clean_line(&delivery.event_type)),
            status_cell(&delivery.status, output.paint),
            Cell::new(short_time(&delivery.created_at)),
            Cell::new(delivery.remark()),
        ]);
        for attempt in &delivery.attempts {
            table.add_row(vec![
                Cell::new(""),
                Cell::new(""),
                Cell::new(""),
                Cell::new(short_time(&attempt.started_at)),
                attempt.cell(output.paint),
            ]);
        }
    }
    show_table(&table, deliveries.len(), total, "deliveries", output)
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
