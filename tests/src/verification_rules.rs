//! The rules of manual verifications: each has one hold, which is open exactly as long as it is under way,
//! and is settled once, as its deduction and the rest.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::rules::{Dump, number, text};

const PREFIX: &str = "ver_";

impl Dump {
    pub(crate) fn check_verifications(&self, broken: &mut Vec<String>) {
        let under_way: BTreeSet<String> = self
            .partition("#verification")
            .iter()
            .map(|item| text(item, "verificationId"))
            .collect();
        for item in self.partition("#verification") {
            let id = text(item, "verificationId");
            let hold = self.one("#hold", &id);
            let held = hold.map_or(0, |hold| number(hold, "amountMicro"));
            if held != number(item, "holdMicro") {
                broken.push(format!("{id} holds {held}, and its item differs: {item}"));
            }
        }
        let holds = self.partition("#hold").into_iter();
        for hold in holds.filter(|hold| text(hold, "sk").starts_with(PREFIX)) {
            let id = text(hold, "sk");
            let settlement = self.one("#settled", &id);
            if settlement.is_some() == under_way.contains(&id) {
                broken.push(format!(
                    "{id} is under way and settled, or neither: {settlement:?}"
                ));
            }
            let charged: Vec<i64> = self
                .partition("#entry")
                .iter()
                .filter(|entry| text(entry, "type") == "deduction")
                .filter(|entry| text(entry, "verificationId") == id)
                .map(|entry| number(entry, "amountMicro"))
                .collect();
            let deduction = settlement.map_or(0, |item| number(item, "deductionMicro"));
            if charged.len() > 1 || charged.iter().sum::<i64>() != deduction {
                broken.push(format!(
                    "{id} was charged {charged:?}, and settled with {deduction}"
                ));
            }
            let resolved = settlement.map(|item| deduction + number(item, "releaseMicro"));
            if resolved.is_some_and(|resolved| resolved != number(hold, "amountMicro")) {
                broken.push(format!(
                    "{id}: {hold} is not deduction plus release: {settlement:?}"
                ));
            }
        }
    }
}

/// True for the deduction of a run itself, not of a verification of its workspace.
pub(crate) fn is_deduction_of(entry: &Value, run: &str) -> bool {
    let is_of_run = text(entry, "runId") == run && entry.get("verificationId").is_none();
    text(entry, "type") == "deduction" && is_of_run
}
