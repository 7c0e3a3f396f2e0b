//! The rules of what statements need beside costs: each purchase and each correction is listed in its
//! month, nothing else is, and the purchases of a month are summed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::rules::{Dump, number, text};

impl Dump {
    pub(crate) fn check_statements(&self, broken: &mut Vec<String>) {
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        let mut purchased: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for entry in self.partition("#entry") {
            let month = text(entry, "createdAt").get(..7).unwrap_or("").to_owned();
            let id = text(entry, "id");
            if text(entry, "type") == "purchase" {
                let (amount, entries) = purchased.entry(month.clone()).or_default();
                *amount += number(entry, "amountMicro");
                *entries += 1;
                wanted.insert(format!("{month}#purchase#{id}"));
            } else if entry["about"].is_string() {
                wanted.insert(format!("{month}#correction#{id}"));
            }
        }
        let listed = self.partition("#listed").into_iter();
        for item in listed {
            let (name, id) = (text(item, "sk"), text(item, "id"));
            let entry = self.one("#entry", &id);
            let same = entry.is_some_and(|entry| without_key(entry) == without_key(item));
            if !wanted.remove(&name) || !same {
                broken.push(format!(
                    "statements: {name} lists {item}, the entry is {entry:?}"
                ));
            }
        }
        for name in wanted {
            broken.push(format!("statements: {name} is not listed"));
        }
        for item in self.partition("#purchased") {
            let month = text(item, "sk");
            let found = (number(item, "amountMicro"), number(item, "entries"));
            let of_entries = purchased.remove(&month);
            if of_entries != Some(found) {
                broken.push(format!(
                    "statements: {month} has {found:?}, not {of_entries:?}"
                ));
            }
        }
        for (month, of) in purchased {
            broken.push(format!(
                "statements: the purchases {of:?} of {month} are not summed"
            ));
        }
    }
}

fn without_key(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.remove("pk");
        fields.remove("sk");
    }
    item
}
