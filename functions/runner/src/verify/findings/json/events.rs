//! Reports with an event a line: `go test -json`, and libtest's, which nextest writes, too.

use std::collections::{BTreeMap, BTreeSet};

use awo_domain::verification::Status;
use serde::de::DeserializeOwned;

use super::shapes::{GoEvent, LibtestEvent};
use super::{Findings, Unreliable, append, finding};

/// Most tests and packages whose output is stored until they end.
const MAX_OPEN: usize = 10_000;

/// The tool whose events they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Go,
    Libtest,
}

impl Form {
    /// The form of a text by its first event; `None` if it is no list of events.
    pub(super) fn of(text: &str) -> Option<Form> {
        let first = text.lines().find(|line| line.starts_with('{'))?;
        let event: serde_json::Value = serde_json::from_str(first).ok()?;
        if event.get("Action").is_some() {
            Some(Form::Go)
        } else {
            let is_event = event.get("type").is_some() && event.get("event").is_some();
            is_event.then_some(Form::Libtest)
        }
    }
}

pub(super) fn read(form: Form, text: &str) -> Result<Findings, Unreliable> {
    match form {
        Form::Go => go(text),
        Form::Libtest => libtest(text),
    }
}

/// The events of a text; other lines are output of the tool's own.
fn events<T: DeserializeOwned>(text: &str) -> impl Iterator<Item = Result<T, Unreliable>> {
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).map_err(Unreliable::Event))
}

/// A package that fails without a failing test could not be built, or ended early.
fn go(text: &str) -> Result<Findings, Unreliable> {
    let mut findings = Findings::default();
    let mut open: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut with_failures: BTreeSet<String> = BTreeSet::new();
    for event in events::<GoEvent>(text) {
        let event = event?;
        let package = match event.package.as_str() {
            "" => event.import_path.clone(),
            package => package.to_owned(),
        };
        let key = (package.clone(), event.test.clone());
        let status = match event.action.as_str() {
            "pass" => Status::Passed,
            "fail" => Status::Failed,
            "skip" => Status::Skipped,
            "output" | "start" | "run" | "build-output" => {
                if open.len() < MAX_OPEN || open.contains_key(&key) {
                    append(open.entry(key).or_default(), &event.output);
                }
                continue;
            }
            _ => continue,
        };
        let output = open.remove(&key).unwrap_or_default();
        if event.test.is_empty() {
            if status == Status::Failed && !with_failures.contains(&package) {
                findings.add(finding(package, status, &[&output]))?;
            }
            continue;
        }
        if status == Status::Failed {
            with_failures.insert(package.clone());
        }
        let message = if status == Status::Passed {
            ""
        } else {
            &output
        };
        let name = format!("{package}.{}", event.test);
        findings.add(finding(name, status, &[message]))?;
    }
    for ((package, test), output) in open {
        let is_package = test.is_empty();
        // Output of a build belongs to no package that is tested.
        if is_package && output.is_empty() {
            continue;
        }
        if !is_package {
            let name = format!("{package}.{test}");
            findings.add(finding(name, Status::Failed, &["did not end", &output]))?;
        }
    }
    Ok(findings)
}

fn libtest(text: &str) -> Result<Findings, Unreliable> {
    let mut findings = Findings::default();
    let (mut begun, mut ended) = (0_u64, 0_u64);
    for event in events::<LibtestEvent>(text) {
        let event = event?;
        let status = match (event.kind.as_str(), event.event.as_str()) {
            ("suite", "started") => {
                begun += 1;
                continue;
            }
            ("suite", "ok" | "failed") => {
                ended += 1;
                continue;
            }
            ("test", "ok") => Status::Passed,
            ("test", "failed" | "timeout") => Status::Failed,
            ("test", "ignored") => Status::Skipped,
            ("bench", _) => Status::Passed,
            _ => continue,
        };
        let parts = [event.message.as_str(), event.stdout.as_str()];
        findings.add(finding(event.name, status, &parts))?;
    }
    if begun != ended {
        let why = format!("ends in the middle: of {begun} suites {ended} ended");
        return Err(Unreliable::Content(why));
    }
    Ok(findings)
}
