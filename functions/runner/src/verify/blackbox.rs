//! L2, blackbox: what a command says from outside.

use awo_domain::verification::Check;
use serde_json::Value;

use super::contracts::{MAX_JSON_BYTES, fits};
use super::{Verification, failed, passed, took, with_output};
use crate::confined;
use crate::plan::{Blackbox, Expect, Schema};
use crate::stop::Stopped;
use crate::supervised::{End, Finished};

/// Longest part of an expectation that a message repeats.
const MAX_SHOWN_CHARS: usize = 200;

impl Verification<'_> {
    pub(super) async fn blackbox(&mut self) -> Result<Vec<Check>, Stopped> {
        let mut checks = Vec::new();
        let boxes = &self.plan.blackbox;
        if boxes.is_empty() || !self.set_up(&mut checks).await? {
            return Ok(checks);
        }
        for one in boxes {
            checks.push(self.one_box(one).await?);
        }
        Ok(checks)
    }

    async fn one_box(&self, one: &Blackbox) -> Result<Check, Stopped> {
        let command = one.command();
        let finished = match self.shell(&command).await? {
            Ok(finished) => finished,
            Err(check) => return Ok(check),
        };
        let End::Exited(code) = finished.end else {
            return Ok(self.broken(command.name(), command.limit(), &finished));
        };
        let mut faults = Vec::new();
        if code != one.expect.exit_code {
            let wanted = one.expect.exit_code;
            faults.push(format!("exit code {code} instead of {wanted}"));
        }
        self.judge(&one.expect, &finished, &mut faults);
        Ok(if faults.is_empty() {
            passed(command.name(), &took(&finished))
        } else {
            let message = with_output(&faults.join("; "), &finished.output);
            failed(command.name(), &message)
        })
    }

    fn judge(&self, expect: &Expect, finished: &Finished, faults: &mut Vec<String>) {
        let output = String::from_utf8_lossy(finished.output.bytes());
        for text in &expect.contains {
            if !output.contains(text.as_str()) {
                faults.push(format!("the output lacks {:?}", shown(text.as_str())));
            }
        }
        for pattern in &expect.matches {
            if !pattern.0.is_match(&output) {
                let pattern = shown(pattern.0.as_str());
                faults.push(format!("the output does not match {pattern:?}"));
            }
        }
        if let Some(path) = &expect.equals_file {
            let path = path.as_str();
            match confined::read_within(&self.subject.dir, path, MAX_JSON_BYTES) {
                Ok(_) if finished.stdout.was_cut() => {
                    faults.push("standard output is too long to compare".to_owned());
                }
                Ok(bytes) if bytes == finished.stdout.bytes() => {}
                Ok(_) => faults.push(format!("standard output differs from {path}")),
                Err(why) => faults.push(format!("{path} {why}")),
            }
        }
        if let Some(schema) = &expect.json_schema {
            self.judge_json(schema, finished, faults);
        }
    }

    fn judge_json(&self, schema: &Schema, finished: &Finished, faults: &mut Vec<String>) {
        let schema = match schema {
            Schema::Inline(schema) => Value::Object(schema.clone()),
            Schema::File(path) => match self.json(path.as_str()) {
                Ok(schema) => schema,
                Err(why) => {
                    faults.push(format!("{} {why}", path.as_str()));
                    return;
                }
            },
        };
        match serde_json::from_slice(finished.stdout.bytes()) {
            Err(why) => faults.push(format!("standard output is not JSON: {why}")),
            Ok(value) => {
                let check = fits("", "standard output", &value, &schema);
                if !check.status.passes() {
                    faults.push(check.message);
                }
            }
        }
    }
}

fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}
