//! `awo verify`: the plan of a working copy, and its results, by the runner's own engine.

use std::ffi::OsString;
use std::process::ExitCode;

use awo_runner::{PlanOutline, WorkingCopy, verify_working_copy};
use serde_json::json;

use crate::answers::Tests;
use crate::arguments::Verify;
use crate::checks;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::clean_line;

/// What this program does for its own verifications: it supervises commands, and reads what may be
/// hostile. Nothing if it was called by a person.
pub fn as_helper() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|arg| arg.to_str()) {
        Some("supervise") => Some(awo_supervisor::main(args)),
        Some("inspect") => Some(inspect(args)),
        _ => None,
    }
}

fn inspect(args: impl Iterator<Item = OsString>) -> ExitCode {
    awo_runner::inspect(args)
}

/// Verifies, or shows the plan.
pub fn run(wanted: &Verify, output: &Output) -> Result<(), Failure> {
    let found = verify_working_copy(&wanted.dir, wanted.plan).map_err(Failure::Refused)?;
    if output.is_json() {
        output.line(&json!(found).to_string())?;
    } else {
        show(&found, output)?;
    }
    let passes = |found: &WorkingCopy| {
        let result = found.result.as_ref();
        result.is_none_or(|result| result.overall_status.passes())
    };
    if passes(&found) {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}

fn show(found: &WorkingCopy, output: &Output) -> Result<(), Failure> {
    show_plan(&found.plan, output)?;
    let Some(result) = &found.result else {
        return Ok(());
    };
    output.line("")?;
    for line in checks::lines_of(&json!(result), output.paint) {
        output.line(&line)?;
    }
    let tests = found.verification.and_then(|outcome| {
        let counts = outcome.tests;
        let tests = Tests {
            passed: counts.passed,
            failed: counts.failed,
            skipped: counts.skipped,
        };
        tests.words()
    });
    let tests = tests.map_or_else(String::new, |tests| format!("; {tests}"));
    let summary = format!("{}{tests}", clean_line(&result.summary));
    let last = match (result.overall_status.passes(), found.verified) {
        (true, Some(true)) => output.paint.good(&format!("verified: {summary}")),
        (true, _) => output.paint.warn(&format!("unverified: {summary}")),
        (false, _) => output.paint.bad(&format!("failed: {summary}")),
    };
    output.line(&format!("\n{last}"))
}

fn show_plan(plan: &PlanOutline, output: &Output) -> Result<(), Failure> {
    output.line(&output.paint.strong(&format!("plan: {}", plan.source)))?;
    if plan.steps.is_empty() {
        return output.line("  nothing to verify: add a verify.yaml, or tests that awo detects");
    }
    for step in &plan.steps {
        let level = match step.level {
            Some(level) => format!("{level:?}"),
            None => "setup".to_owned(),
        };
        output.line(&format!("  {level:<6} {}", clean_line(&step.name)))?;
        let run = step.run.as_deref().unwrap_or_default();
        for line in run.lines().filter(|line| *line != step.name) {
            output.line(
                &output
                    .paint
                    .faint(&format!("         {}", clean_line(line))),
            )?;
        }
    }
    Ok(())
}
