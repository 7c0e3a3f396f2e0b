//! The rules of outcomes: each thread has one, which counts all that is booked for its runs; each pull request is of
//! a thread that has one.

use std::collections::BTreeMap;

use awo_domain::cost::record::CostRecord;
use serde_json::Value;

use crate::rules::{Dump, number, text};

impl Dump {
    pub(crate) fn check_outcomes(&self, broken: &mut Vec<String>) {
        let mut booked: BTreeMap<String, i64> = BTreeMap::new();
        for item in [self.partition("#cost"), self.partition("#costnew")].concat() {
            let record: CostRecord = serde_json::from_value(item.clone()).expect("a record");
            let attribution = record.attribution.as_ref();
            let thread = attribution.and_then(|attribution| attribution.thread_id.as_ref());
            if let Some(thread) = thread {
                *booked.entry(thread.to_string()).or_default() += record.booked().micro();
            }
        }
        for outcome in self.partition("#outcome") {
            let counted = optional(outcome, "creditsMicro") + optional(outcome, "laterMicro");
            let records = booked.remove(&text(outcome, "sk")).unwrap_or(0);
            if counted != records {
                broken.push(format!(
                    "{outcome} counts {counted}, and {records} are booked"
                ));
            }
        }
        for (thread, micro) in booked.into_iter().filter(|(_, micro)| *micro != 0) {
            broken.push(format!("outcomes: {micro} of {thread} are counted nowhere"));
        }
        for order in self.work_orders() {
            let is_first = order.get("place").is_none() && order.get("parentId").is_none();
            if is_first && self.one("#outcome", &text(order, "id")).is_none() {
                broken.push(format!("outcomes: {order} has none"));
            }
        }
        for pull in self.partition("#pull") {
            if self.one("#outcome", &text(pull, "threadId")).is_none() {
                broken.push(format!("{pull} is of no thread"));
            }
            let is_asked_for = pull.get("dueAt").is_some();
            if is_asked_for != pull.get("dueShard").is_some() {
                broken.push(format!("{pull} is due in no partition"));
            }
        }
    }
}

fn optional(item: &Value, name: &str) -> i64 {
    item.get(name).map_or(0, |_| number(item, name))
}
