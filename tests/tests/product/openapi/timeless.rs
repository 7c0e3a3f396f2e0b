//! Responses without the values that differ each time.

use std::collections::BTreeMap;

use awo_tests::client::Answer;
use regex::Regex;
use serde_json::{Value, json};

use super::{example_file, stored};

/// Makes one answer like another that was given at another time.
pub struct Timeless {
    id: Regex,
    time: Regex,
    wait: Regex,
    address: Regex,
    known: BTreeMap<String, String>,
}

impl Timeless {
    pub fn new() -> Timeless {
        Timeless {
            id: Regex::new("([a-z]+_)[0-9a-z]{26}").unwrap(),
            time: Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").unwrap(),
            wait: Regex::new(r"in \d+ s\b").unwrap(),
            address: Regex::new(r"http://127\.0\.0\.1:\d+").unwrap(),
            known: BTreeMap::new(),
        }
    }

    pub fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    let value = match name.as_str() {
                        "requestId" => json!("2f6d1f0e-6b7c-4a55-9c58-1d2f3a4b5c6d"),
                        "secret" => json!("whsec_ThisIsNoSecretButShowsHowLongOneIs+00000000="),
                        "nextCursor" => json!("Zm9sbG93LW1lLXRvLXRoZS1uZXh0LXBhZ2U"),
                        "createdBy" => json!("v3KOU8nHoWF6"),
                        "month" => json!("2026-11"),
                        "hash" | "previousHash" | "chainHead" => json!("5e".repeat(32)),
                        "durationMs" | "totalDurationMs" => json!(1234),
                        _ => self.value(value),
                    };
                    (name.clone(), value)
                };
                members.iter().map(member).collect()
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut reported = self
            .time
            .replace_all(text, "2026-11-20T08:00:00.000Z")
            .into_owned();
        reported = self.wait.replace_all(&reported, "in 42 s").into_owned();
        let address = "https://api.example.com";
        reported = self.address.replace_all(&reported, address).into_owned();
        let ids: Vec<(String, String)> = self
            .id
            .captures_iter(text)
            .map(|found| (found[0].to_owned(), found[1].to_owned()))
            .collect();
        for (id, prefix) in ids {
            let of_kind = self
                .known
                .keys()
                .filter(|known| known.starts_with(&prefix))
                .count();
            let name = self
                .known
                .entry(id.clone())
                .or_insert_with(|| format!("{prefix}01kb4x0000000000000000{of_kind:04}"));
            reported = reported.replace(&id, name);
        }
        reported
    }
}

/// The answer, to be stored as an example.
pub fn example(function: &str, status: u16, answer: &Answer) {
    assert_eq!(answer.status, status, "{function}: {}", answer.text);
    let body = Timeless::new().value(&answer.body);
    stored(&example_file(function, status), &body);
}
