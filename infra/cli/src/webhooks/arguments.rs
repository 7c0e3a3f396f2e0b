//! Arguments of `awo webhooks`.

use std::path::PathBuf;

use awo_domain::webhook::{DeliveryStatus, EventType, WebhookKind};
use awo_domain::{DeliveryId, WebhookId};
use clap::{Args, Subcommand};

use crate::arguments::{Part, names};
use crate::quantity;

const AFTER_HELP: &str = "\
Examples:
  awo webhooks create https://hooks.example.com/awo --event run.completed --event run.failed
  awo webhooks create https://collector.example.com/v1/traces --kind otlp --headers headers.json
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
    /// Create a webhook; the secret is shown only once
    Create(Create),
    /// List webhooks, newest first
    List(List),
    /// Show a webhook
    Show(One),
    /// Update a webhook; fields that are not given are not changed
    Update(Update),
    /// Delete a webhook; its pending deliveries are not sent
    Delete(One),
    /// Send a test event to a webhook and show the result; fails unless the response is 2xx
    Test(One),
    /// Create a new secret, shown only once; the old secret also signs for 24 hours
    Rotate(Rotate),
    /// Show a webhook's deliveries, newest first, with every attempt and the next one due
    Deliveries(Deliveries),
    /// Redeliver a delivery, starting again with its first attempt
    Redeliver(Redeliver),
}

#[derive(Debug, Args)]
pub struct Create {
    /// URL to deliver to: https, reachable from the internet
    #[arg(value_name = "ENDPOINT")]
    pub endpoint: String,
    /// Form of its requests: an event each, or the spans of a run (OTLP/HTTP)
    #[arg(long, value_name = "KIND", value_parser = names(WebhookKind::ALL.map(WebhookKind::as_str)))]
    pub kind: Option<String>,
    /// File with further headers of its requests, as a JSON object of names and values, which are secrets
    #[arg(long, value_name = "FILE")]
    pub headers: Option<PathBuf>,
    /// Event type to deliver; may be repeated
    #[arg(long = "event", value_name = "TYPE", required_unless_present = "kind", value_parser = names(EventType::ALL.map(EventType::as_str)))]
    pub events: Vec<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Idempotency key: repeating the request with it creates no second webhook [default: a
    /// random key]
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
    /// Webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
pub struct Update {
    /// Webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
    /// New URL to deliver to
    #[arg(long, value_name = "URL", group = "change")]
    pub endpoint: Option<String>,
    /// Event type to deliver, replacing all previous ones; may be repeated
    #[arg(long = "event", value_name = "TYPE", group = "change", value_parser = names(EventType::ALL.map(EventType::as_str)))]
    pub events: Vec<String>,
    /// File with the headers that replace all previous ones, as a JSON object of names and values; {} removes them
    #[arg(long, value_name = "FILE", group = "change")]
    pub headers: Option<PathBuf>,
    /// Description; an empty text removes it
    #[arg(long, value_name = "TEXT", group = "change")]
    pub description: Option<String>,
    /// Enable the webhook
    #[arg(long, group = "change", conflicts_with = "disable")]
    pub enable: bool,
    /// Disable the webhook: no event is delivered
    #[arg(long, group = "change")]
    pub disable: bool,
}

#[derive(Debug, Args)]
pub struct Rotate {
    /// Webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
    /// Idempotency key: repeating the request with it creates no second secret [default: a
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub struct Deliveries {
    /// Webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
    /// Only deliveries in this status
    #[arg(long, value_parser = names(DeliveryStatus::ALL.map(DeliveryStatus::as_str)))]
    pub status: Option<String>,
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct Redeliver {
    /// Webhook: wh_…
    #[arg(value_parser = quantity::webhook_id)]
    pub webhook: WebhookId,
    /// Delivery: dlv_…
    #[arg(value_parser = quantity::delivery_id)]
    pub delivery: DeliveryId,
    /// Idempotency key: repeating the request with it sends no second redelivery [default: a
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}
