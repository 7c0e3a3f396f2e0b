//! The rules of events and webhooks that hold at every step, checked on the content of the tables.

use std::collections::BTreeSet;

use awo_domain::webhook::EventType;
use serde_json::Value;

use crate::rules::Dump;

/// An event of a run: the run's id and the event's sequence.
pub type Event = (String, u64);

fn sequence(event: &Value) -> u64 {
    event["sequence"].as_u64().expect("a sequence")
}

impl Dump {
    /// The events of all timelines that webhooks get.
    #[must_use]
    pub fn events_for_webhooks(&self) -> BTreeSet<Event> {
        let mut found = BTreeSet::new();
        for run in self.runs() {
            let id = run["sk"].as_str().expect("a run id");
            let events = self.partition(&format!("#{id}#event")).into_iter();
            let reported = events.filter(|event| {
                let kind = event["type"].as_str().unwrap_or_default();
                EventType::parse(kind).is_some()
            });
            found.extend(reported.map(|event| (id.to_owned(), sequence(event))));
        }
        found
    }

    /// The events of runs in the outbox; those of budgets and of the balance have none.
    #[must_use]
    pub fn events_in_outbox(&self) -> BTreeSet<Event> {
        let of = |event: &Value| {
            let run = event["runId"].as_str()?;
            Some((run.to_owned(), sequence(event)))
        };
        self.partition("#outbox")
            .into_iter()
            .filter_map(of)
            .collect()
    }

    pub(crate) fn check_subscribers(&self, broken: &mut Vec<String>) {
        let webhooks = self.partition("#webhook").len() as u64;
        let count = self.one("#webhooks", "count");
        let counted = count.map_or(0, |item| item["count"].as_u64().unwrap_or(0));
        if counted != webhooks {
            broken.push(format!("{counted} webhooks are counted of {webhooks}"));
        }
        let marked = |item: &&Value| item.get("noWebhooks").is_some();
        if webhooks > 0 {
            let own = self.one("", "tally").into_iter().chain(self.leases());
            let wrong = own.filter(marked);
            broken.extend(wrong.map(|item| format!("there are webhooks, and not by this: {item}")));
        }
        let is_there = |run: &str| self.runs().iter().any(|one| one["sk"] == run);
        let reported = self.events_for_webhooks();
        for (run, sequence) in self.events_in_outbox().difference(&reported) {
            // A purged run has no timeline, and its events are still delivered.
            if is_there(run) {
                broken.push(format!("event {sequence} of {run} is only in the outbox"));
            }
        }
    }
}
