//! L2, blackbox: a command's output and exit code.

use std::path::Path;

use awo_domain::verification::{Check, CheckTests, Evidence};
use serde_json::Value;

use super::contracts::{MAX_JSON_BYTES, fits, json};
use super::{Verification, error, failed, no_answer, passed, took, with_output};
use crate::contained_process::End;
use crate::inspection::{Answer, Bytes, Task};
use crate::plan::{Blackbox, Expect, Schema};
use crate::safe_files;
use crate::stop::StopOutcome;
use crate::toolchains::counting::Counter;

/// Longest part of an expectation that a message repeats.
const MAX_SHOWN_CHARS: usize = 200;

impl Verification<'_> {
    pub(super) async fn blackbox(&mut self) -> Result<Vec<Check>, StopOutcome> {
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

    async fn one_box(&mut self, one: &Blackbox) -> Result<Check, StopOutcome> {
        let command = one.command();
        let counter = Counter::default();
        let finished = match self.shell(&command, Some(&counter)).await? {
            Ok(finished) => finished,
            Err(check) => return Ok(check),
        };
        let End::Exited(code) = finished.end else {
            return Ok(self.broken(command.name(), command.limit(), &finished));
        };
        if code != one.expect.exit_code
            && let Some(missing) = self.missing_of(&command, &finished)
        {
            let message = with_output(&format!("exit code {code}: {missing}"), &finished.output);
            self.missing.get_or_insert(missing);
            return Ok(error(command.name(), &message));
        }
        let mut faults = Vec::new();
        if code != one.expect.exit_code {
            let wanted = one.expect.exit_code;
            faults.push(format!("exit code {code} instead of {wanted}"));
        }
        if !one.expect.is_of_exit_code_alone() {
            let task = Task::Blackbox {
                expect: one.expect.clone(),
                output: Bytes(finished.output.bytes().to_vec()),
                stdout: Bytes(finished.stdout.bytes().to_vec()),
                stdout_was_cut: finished.stdout.was_cut(),
            };
            match self.inspect(task).await? {
                Ok(Answer::Faults(found)) => faults.extend(found),
                Ok(_) => return Ok(no_answer().check(command.name())),
                Err(fault) => return Ok(fault.check(command.name())),
            }
        }
        let mut check = if faults.is_empty() {
            passed(command.name(), &took(&finished))
        } else {
            let message = with_output(&faults.join("; "), &finished.output);
            failed(command.name(), &message)
        };
        check.tests = Some(CheckTests::UNCOUNTED);
        // An entry may run a test runner, which may report that it ran nothing.
        let counts = counter.counted().counts;
        let none_ran = counts.is_some_and(|counts| counts.none_ran());
        if faults.is_empty() && !none_ran {
            self.evidence = self.evidence.max(Evidence::ExitCode);
        }
        Ok(check)
    }
}

/// What a command wrote and does not fit with what is expected; `stdout` is absent where it was too
/// long to be stored.
pub(crate) fn blackbox_faults(
    dir: &Path,
    expect: &Expect,
    output: &[u8],
    stdout: Option<&[u8]>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let output = String::from_utf8_lossy(output);
    for text in &expect.contains {
        if !output.contains(text.as_str()) {
            faults.push(format!("the output lacks {:?}", shown(text.as_str())));
        }
    }
    for pattern in &expect.matches {
        let matches = pattern.compile().is_ok_and(|regex| regex.is_match(&output));
        if !matches {
            let pattern = shown(pattern.as_str());
            faults.push(format!("the output does not match {pattern:?}"));
        }
    }
    if let Some(path) = &expect.equals_file {
        let path = path.as_str();
        match (safe_files::read_within(dir, path, MAX_JSON_BYTES), stdout) {
            (Ok(_), None) => faults.push("standard output is too long to compare".to_owned()),
            (Ok(bytes), Some(stdout)) if bytes == stdout => {}
            (Ok(_), Some(_)) => faults.push(format!("standard output differs from {path}")),
            (Err(why), _) => faults.push(format!("{path} {why}")),
        }
    }
    if let Some(schema) = &expect.json_schema {
        faults.extend(json_fault(dir, schema, stdout.unwrap_or_default()));
    }
    faults
}

fn json_fault(dir: &Path, schema: &Schema, stdout: &[u8]) -> Option<String> {
    let schema = match schema {
        Schema::Inline(schema) => Value::Object(schema.clone()),
        Schema::File(path) => match json(dir, path.as_str()) {
            Ok(schema) => schema,
            Err(why) => return Some(format!("{} {why}", path.as_str())),
        },
    };
    match serde_json::from_slice(stdout) {
        Err(why) => Some(format!("standard output is not JSON: {why}")),
        Ok(value) => {
            let check = fits("", "standard output", &value, &schema);
            (!check.status.passes()).then_some(check.message)
        }
    }
}

fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}
