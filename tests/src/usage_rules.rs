//! The rules of usage: every settled run that had a slot is in the records, and in the sums of its
//! day, once; and repeated runs of a work order are recorded as such.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::rules::{Dump, number, text};

impl Dump {
    pub(crate) fn check_usage(&self, broken: &mut Vec<String>) {
        let counted =
            |run: &&Value| run.get("settledAt").is_some() && run.get("startedAt").is_some();
        let over: Vec<&Value> = self.runs().into_iter().filter(counted).collect();
        let records = self.partition("#usage");
        // What a purge has deleted was used all the same: of it only the record is left.
        let there: BTreeSet<String> = self.runs().iter().map(|run| text(run, "runId")).collect();
        let is_purged = |record: &&&Value| !there.contains(&text(record, "runId"));
        let purged: Vec<&Value> = records.iter().filter(is_purged).copied().collect();
        let days = self.partition("#day");
        let of_days = |name: &str, models: bool| -> i64 {
            let wanted = |day: &&&Value| text(day, "sk").contains('#') == models;
            days.iter()
                .filter(wanted)
                .map(|day| number(day, name))
                .sum()
        };
        let used = |name: &str| -> i64 {
            let models = over
                .iter()
                .chain(&purged)
                .flat_map(|run| run["usage"].as_array().cloned().unwrap_or_default());
            models.map(|model| number(&model["usage"], name)).sum()
        };
        let took = records.iter().map(|r| number(r, "durationMs")).sum();
        let comers = self.partition("#again");
        let later = comers.iter().filter(|again| again.get("at").is_some());
        let runs = i64::try_from(over.len() + purged.len()).unwrap_or(0);
        let came_again = purged
            .iter()
            .filter(|record| record.get("earlier").is_some());
        let came_again = i64::try_from(came_again.count()).unwrap_or(0);
        let there = i64::try_from(records.len()).unwrap_or(0);
        let again = of_days("again", false) + i64::try_from(later.count()).unwrap_or(0);
        for (what, stored, wanted) in [
            ("records", there, runs),
            ("runs of the days", of_days("runs", false), runs),
            ("time of the days", of_days("durationMs", false), took),
            ("again", again, self.came_again(&over) + came_again),
            (
                "input tokens of the days",
                of_days("inputTokens", true),
                used("inputTokens"),
            ),
            (
                "output tokens of the days",
                of_days("outputTokens", true),
                used("outputTokens"),
            ),
        ] {
            if stored != wanted {
                broken.push(format!(
                    "usage: {what}: {stored}, and it should be {wanted}"
                ));
            }
        }
    }

    /// How many of these runs are not the first of their work order that had a slot.
    fn came_again(&self, over: &[&Value]) -> i64 {
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        let had_slot = |run: &&Value| run.get("startedAt").is_some();
        for run in self.runs().into_iter().filter(had_slot) {
            let (order, id) = (text(run, "workOrderId"), text(run, "runId"));
            let known = first.entry(order).or_insert_with(|| id.clone());
            *known = id.min(known.clone());
        }
        let again = over
            .iter()
            .filter(|run| first.get(&text(run, "workOrderId")) != Some(&text(run, "runId")));
        i64::try_from(again.count()).unwrap_or(0)
    }
}
