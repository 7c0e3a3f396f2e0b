//! Arguments of `awo webhooks`.

use awo_domain::webhook::{DeliveryStatus, EventType};
use awo_domain::{DeliveryId, WebhookId};
use clap::{Args, Subcommand};

use crate::arguments::{Part, names};
use crate::quantity;

const AFTER_HELP: &str = "\
Examples:
  awo webhooks create https://hooks.example.com/awo --event run.completed --event run.failed
  awo webhooks deliveries wh_01k0000000000000000000000a --status abandoned
  awo webhooks update wh_01k0000000000000000000000a --disable";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Webhooks {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make a webhook; its secret is shown this once
    Create(Create),
    /// List webhooks, newest first
    List(List),
    /// Show a webhook
    Show(One),
    /// Change a webhook; what is not named stays as it is
    Update(Update),
    /// Delete a webhook; what is pending for it is not sent any more
    Delete(One),
    /// Send a test event to a webhook, and show what came of it; fails unless it answered 2xx
    Test(One),
    /// Make a new secret, shown this once; the one before signs for 24 hours more
    Rotate(Rotate),
    /// Show what was sent to a webhook, newest first: every attempt, and when the next one is due
    Deliveries(Deliveries),
    /// Send a delivery once more, from the first attempt on
    Redeliver(Redeliver),
}

#[derive(Debug, Args)]
pub struct Create {
    /// Where deliveries go: an https URL that can be reached from everywhere
    #[arg(value_name = "ENDPOINT")]
    pub endpoint: String,
    /// What it is told of; may be repeated
    #[arg(long = "event", value_name = "TYPE", required = true, value_parser = names(EventType::ALL.map(EventType::as_str)))]
    pub events: Vec<String>,
    /// For people
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Names this webhook's making, so that it is made once however often it is sent [default: a
    /// fresh random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct One {
    /// The webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
pub struct Update {
    /// The webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
    /// Where deliveries go from now on
    #[arg(long, value_name = "URL", group = "change")]
    pub endpoint: Option<String>,
    /// What it is told of from now on, and nothing else; may be repeated
    #[arg(long = "event", value_name = "TYPE", group = "change", value_parser = names(EventType::ALL.map(EventType::as_str)))]
    pub events: Vec<String>,
    /// For people; an empty one takes it away
    #[arg(long, value_name = "TEXT", group = "change")]
    pub description: Option<String>,
    /// Tell it of events again
    #[arg(long, group = "change", conflicts_with = "disable")]
    pub enable: bool,
    /// Tell it of nothing
    #[arg(long, group = "change")]
    pub disable: bool,
}

#[derive(Debug, Args)]
pub struct Rotate {
    /// The webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
    /// Names this rotation, so that it is made once however often it is sent [default: a fresh
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub struct Deliveries {
    /// The webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
    /// Only those in this status
    #[arg(long, value_parser = names(DeliveryStatus::ALL.map(DeliveryStatus::as_str)))]
    pub status: Option<String>,
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct Redeliver {
    /// The webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
    /// The delivery: dlv_…
    #[arg(value_parser = quantity::delivery_id)]
    pub delivery: DeliveryId,
    /// Names this redelivery, so that it is made once however often it is sent [default: a fresh
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}
