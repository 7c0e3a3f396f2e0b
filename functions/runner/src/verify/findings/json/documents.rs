//! Reports that are one document.

use awo_domain::verification::Status;

use super::shapes::{
    Ctrf, JestFile, MochaError, MochaTest, PlaywrightSuite, PytestTest, RspecExample, RspecSummary,
};
use super::{Findings, Members, Unreliable, finding, member};

/// `jest --json` and `vitest --reporter=json`.
pub(super) fn jest(members: &Members<'_>) -> Result<Findings, Unreliable> {
    let mut findings = Findings::default();
    let files: Vec<JestFile> = member(members, "testResults")?;
    for file in files {
        let is_failed = |status: &str| status == "failed";
        let mut tests = file.assertion_results.iter();
        let has_failed = tests.any(|test| is_failed(&test.status));
        if is_failed(&file.status) && !has_failed {
            // It could not be loaded, or failed outside of any test.
            findings.add(finding(file.name.clone(), Status::Failed, &[&file.message]))?;
        }
        for test in file.assertion_results {
            let status = match test.status.as_str() {
                "passed" => Status::Passed,
                "failed" => Status::Failed,
                _ => Status::Skipped,
            };
            let name = match (test.full_name.trim(), test.title.as_str()) {
                ("", title) => title.to_owned(),
                (full_name, _) => full_name.to_owned(),
            };
            findings.add(finding(name, status, &[&test.failure_messages]))?;
        }
    }
    Ok(findings)
}

/// `mocha --reporter json`.
pub(super) fn mocha(members: &Members<'_>) -> Result<Findings, Unreliable> {
    let mut findings = Findings::default();
    for (list, status) in [
        ("passes", Status::Passed),
        ("pending", Status::Skipped),
        ("failures", Status::Failed),
    ] {
        let tests: Vec<MochaTest> = member(members, list)?;
        for test in tests {
            let message = message_of(&test.err).to_owned();
            findings.add(finding(test.full_title, status, &[&message]))?;
        }
    }
    Ok(findings)
}

fn message_of(error: &MochaError) -> &str {
    if error.stack.is_empty() {
        &error.message
    } else {
        &error.stack
    }
}

/// `pytest --json-report`.
pub(super) fn pytest(members: &Members<'_>) -> Result<Findings, Unreliable> {
    let mut findings = Findings::default();
    let collectors: Vec<PytestTest> = member(members, "collectors")?;
    for collector in collectors {
        if ["failed", "error"].contains(&collector.outcome.as_str()) {
            findings.add(finding(
                collector.nodeid,
                Status::Failed,
                &[&collector.longrepr],
            ))?;
        }
    }
    let tests: Vec<PytestTest> = member(members, "tests")?;
    for test in tests {
        let status = match test.outcome.as_str() {
            "passed" | "xpassed" => Status::Passed,
            "skipped" | "xfailed" => Status::Skipped,
            _ => Status::Failed,
        };
        let phases = [test.setup, test.call, test.teardown];
        let bad = phases
            .iter()
            .flatten()
            .filter(|phase| phase.outcome != "passed");
        let messages: Vec<&str> = bad.map(|phase| phase.longrepr.as_str()).collect();
        findings.add(finding(test.nodeid, status, &messages))?;
    }
    Ok(findings)
}

/// `rspec --format json`.
pub(super) fn rspec(members: &Members<'_>) -> Result<Findings, Unreliable> {
    let mut findings = Findings::default();
    let examples: Vec<RspecExample> = member(members, "examples")?;
    for example in examples {
        let status = match example.status.as_str() {
            "passed" => Status::Passed,
            "pending" => Status::Skipped,
            _ => Status::Failed,
        };
        let exception = example.exception.as_ref();
        let (class, message) =
            exception.map_or(("", ""), |raised| (&raised.class, &raised.message));
        let parts = [class, message, &example.pending_message];
        findings.add(finding(example.full_description, status, &parts))?;
    }
    let summary: RspecSummary = member(members, "summary")?;
    if summary.errors_outside_of_examples_count > 0 {
        let name = "outside of any example".to_owned();
        let messages: Vec<String> = member(members, "messages")?;
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        findings.add(finding(name, Status::Failed, &messages))?;
    }
    Ok(findings)
}

/// `playwright test --reporter=json`.
pub(super) fn playwright(members: &Members<'_>) -> Result<Findings, Unreliable> {
    let mut findings = Findings::default();
    let errors: Vec<MochaError> = member(members, "errors")?;
    for error in errors {
        let name = "outside of any test".to_owned();
        findings.add(finding(name, Status::Failed, &[message_of(&error)]))?;
    }
    let suites: Vec<PlaywrightSuite> = member(members, "suites")?;
    let mut open: Vec<(String, PlaywrightSuite)> = Vec::new();
    open.extend(suites.into_iter().rev().map(|suite| (String::new(), suite)));
    while let Some((above, suite)) = open.pop() {
        let path = joined(&above, &suite.title);
        for spec in suite.specs {
            for test in spec.tests {
                let status = match test.status.as_str() {
                    "expected" => Status::Passed,
                    "flaky" => Status::Warning,
                    "skipped" => Status::Skipped,
                    _ => Status::Failed,
                };
                let name = joined(&joined(&test.project_name, &path), &spec.title);
                let errors = test.results.iter().flat_map(|result| &result.errors);
                let messages: Vec<&str> = errors.map(message_of).collect();
                findings.add(finding(name, status, &messages))?;
            }
        }
        let inner = suite.suites.into_iter().rev();
        open.extend(inner.map(|suite| (path.clone(), suite)));
    }
    Ok(findings)
}

/// The Common Test Report Format.
pub(super) fn ctrf(members: &Members<'_>) -> Result<Findings, Unreliable> {
    let mut findings = Findings::default();
    let results: Ctrf = member(members, "results")?;
    let tests = results
        .tests
        .ok_or_else(|| "has no list results.tests".to_owned())?;
    for test in tests {
        let status = match test.status.as_str() {
            "passed" => Status::Passed,
            "failed" => Status::Failed,
            _ => Status::Skipped,
        };
        let name = joined(&test.suite, &test.name);
        findings.add(finding(name, status, &[&test.message, &test.trace]))?;
    }
    Ok(findings)
}

fn joined(above: &str, name: &str) -> String {
    match (above, name) {
        ("", name) => name.to_owned(),
        (above, "") => above.to_owned(),
        (above, name) => format!("{above} > {name}"),
    }
}
