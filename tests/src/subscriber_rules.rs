//! The rules of events and webhooks that hold at every step, checked on what the tables really hold.

use std::collections::BTreeSet;

use awo_cloud::Cloud;
use awo_domain::OrgId;
use awo_domain::webhook::EventType;
use aws_sdk_dynamodb::Client;
use serde_json::Value;

use crate::deployment_rules::query;

/// An event of a run: the run's id and the event's sequence.
pub type Event = (String, u64);

/// Events of an organization.
#[derive(Debug, PartialEq, Eq)]
pub struct Events {
    /// Those of all timelines of which webhooks are told.
    pub in_timelines: BTreeSet<Event>,
    /// Those in the outbox.
    pub in_outbox: BTreeSet<Event>,
}

async fn items(client: &Client, cloud: &Cloud, table: &str, key: String) -> Vec<Value> {
    let table = cloud.environment.required(table).expect("a table");
    query(client, &table, None, "pk", &key).await
}

impl Events {
    /// Of this organization.
    pub async fn of(client: &Client, cloud: &Cloud, org: &OrgId) -> Events {
        let mut in_timelines = BTreeSet::new();
        for run in items(client, cloud, "AWO_WORK_TABLE", format!("{org}#run")).await {
            let id = run["sk"].as_str().expect("a run id");
            let key = format!("{org}#{id}#event");
            let events = items(client, cloud, "AWO_WORK_TABLE", key).await;
            let told = events.iter().filter(|event| {
                let kind = event["type"].as_str().unwrap_or_default();
                EventType::parse(kind).is_some()
            });
            let sequence = |event: &Value| event["sequence"].as_u64().expect("a sequence");
            in_timelines.extend(told.map(|event| (id.to_owned(), sequence(event))));
        }
        let outbox = items(
            client,
            cloud,
            "AWO_DELIVERIES_TABLE",
            format!("{org}#outbox"),
        )
        .await;
        let in_outbox = outbox.iter().map(|event| {
            let run = event["runId"].as_str().expect("a run id");
            let sequence = event["sequence"].as_u64().expect("a sequence");
            (run.to_owned(), sequence)
        });
        Events {
            in_timelines,
            in_outbox: in_outbox.collect(),
        }
    }
}

/// What is wrong with an organization's webhooks and events, if anything.
pub(crate) async fn broken(client: &Client, cloud: &Cloud, org: &OrgId) -> Vec<String> {
    let mut broken = Vec::new();
    let webhooks = items(
        client,
        cloud,
        "AWO_SETTINGS_TABLE",
        format!("{org}#webhook"),
    )
    .await;
    let counts = items(
        client,
        cloud,
        "AWO_SETTINGS_TABLE",
        format!("{org}#webhooks"),
    )
    .await;
    let counted = counts
        .first()
        .map_or(0, |item| item["count"].as_u64().unwrap_or(0));
    if counted != webhooks.len() as u64 {
        broken.push(format!(
            "{counted} webhooks are counted of {}",
            webhooks.len()
        ));
    }
    let own = items(client, cloud, "AWO_WORK_TABLE", org.to_string()).await;
    let leases = items(client, cloud, "AWO_WORK_TABLE", format!("{org}#lease")).await;
    let marked = |item: &&Value| item.get("noWebhooks").is_some();
    if !webhooks.is_empty() {
        let wrong = own.iter().chain(&leases).filter(marked);
        broken.extend(wrong.map(|item| format!("there are webhooks, and not by this: {item}")));
    }
    let runs = items(client, cloud, "AWO_WORK_TABLE", format!("{org}#run")).await;
    let events = Events::of(client, cloud, org).await;
    let is_there = |run: &str| runs.iter().any(|one| one["sk"] == run);
    for (run, sequence) in events.in_outbox.difference(&events.in_timelines) {
        // What is purged has no timeline, and what was told of it is told on.
        if is_there(run) {
            broken.push(format!("event {sequence} of {run} is only in the outbox"));
        }
    }
    broken
}
