//! The rules of audits: a run that was claimed has snapshots, chained and without a gap.

use serde_json::Value;

use crate::rules::{Dump, number, text};

impl Dump {
    /// A run that was claimed has snapshots, without a gap, and knows the last of them.
    pub(crate) fn check_audit(&self, run: &Value, broken: &mut Vec<String>) {
        let id = text(run, "runId");
        let snapshots = self.partition(&format!("#{id}#audit"));
        let head = &run["audit"];
        let numbers: Vec<String> = snapshots.iter().map(|s| text(s, "sk")).collect();
        let wanted: Vec<String> = (1..=number(head, "snapshots"))
            .map(|n| format!("{n:010}"))
            .collect();
        let last = snapshots.last().map(|s| text(s, "configHash"));
        let chained = snapshots
            .iter()
            .skip(1)
            .all(|s| s["previousHash"].is_string());
        let lease = self.one("#lease", &id);
        let claimed = lease.is_some_and(|lease| lease.get("tokenHash").is_some());
        if numbers != wanted
            || !chained
            || last.unwrap_or_default() != text(head, "configHash")
            || (claimed && snapshots.is_empty())
        {
            broken.push(format!(
                "{id}: the audit {head} and the snapshots {snapshots:?}"
            ));
        }
    }
}
