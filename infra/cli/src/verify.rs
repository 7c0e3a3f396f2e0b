//! `awo verify`: the plan of a working copy, and its results, by the runner's own engine.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use awo_runner::{PlanOutline, Subjects, WorkingCopy, verify_working_copy};
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
    let only_plan = wanted.plan || wanted.explain || wanted.write;
    let subjects = if wanted.in_place {
        Subjects::Folder
    } else {
        Subjects::Checkout
    };
    let working_copy = verify_working_copy(&wanted.dir, subjects, only_plan);
    let working_copy = working_copy.map_err(|why| Failure::Refused(why.to_string()))?;
    if wanted.write {
        write(wanted, &working_copy.plan)?;
    }
    if output.is_json() {
        output.line(&json!(working_copy).to_string())?;
    } else {
        show(&working_copy, output)?;
        if wanted.explain {
            explain(&working_copy.plan, output)?;
        }
        if wanted.write {
            output.line(&format!("\nwritten: {}", plan_file(wanted).display()))?;
        }
    }
    let passes = |working_copy: &WorkingCopy| {
        let result = working_copy.result.as_ref();
        result.is_none_or(|result| result.overall_status.passes())
    };
    if passes(&working_copy) {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}

/// File to which a plan is written.
fn plan_file(wanted: &Verify) -> PathBuf {
    wanted.dir.join("verify.yaml")
}

/// Writes a detected plan; a file that is there stays as it is.
fn write(wanted: &Verify, plan: &PlanOutline) -> Result<(), Failure> {
    let path = plan_file(wanted);
    let refused = |why: String| Failure::Refused(format!("{}: {why}", path.display()));
    let Some(yaml) = plan.yaml.as_ref().filter(|_| plan.advice.is_none()) else {
        return Err(refused(match &plan.advice {
            Some(advice) => format!("there is nothing to write: awo {advice}"),
            None => "exists: the plan is this file already".to_owned(),
        }));
    };
    let mut options = OpenOptions::new();
    let created = options.write(true).create_new(true).open(&path);
    let written = created.and_then(|mut file| file.write_all(yaml.as_bytes()));
    written.map_err(|why| refused(format!("cannot be written: {why}")))
}

/// Shows the origin of a plan.
fn explain(plan: &PlanOutline, output: &Output) -> Result<(), Failure> {
    let list = |title: &str, lines: &[String]| {
        if lines.is_empty() {
            return Ok(());
        }
        output.line(&format!("\n{}", output.paint.strong(title)))?;
        for line in lines {
            output.line(&format!("  {}", clean_line(line)))?;
        }
        Ok(())
    };
    list("origin", &plan.units)?;
    list("left out", &plan.left_out)?;
    match plan.yaml.as_ref().filter(|_| plan.advice.is_none()) {
        Some(yaml) => {
            let lines: Vec<String> = yaml.lines().map(str::to_owned).collect();
            list("as verify.yaml (awo verify --write)", &lines)
        }
        None => Ok(()),
    }
}

fn show(working_copy: &WorkingCopy, output: &Output) -> Result<(), Failure> {
    show_plan(&working_copy.plan, output)?;
    let Some(result) = &working_copy.result else {
        return Ok(());
    };
    output.line("")?;
    for line in checks::lines_of(&json!(result), output.paint) {
        output.line(&line)?;
    }
    let tests = working_copy.verification.and_then(|outcome| {
        let counts = outcome.tests;
        let tests = Tests {
            passed: counts.passed,
            failed: counts.failed,
            skipped: counts.skipped,
        };
        tests.words()
    });
    let tests = tests.map_or_else(String::new, |tests| format!("; {tests}"));
    // The advice stands above, line by line.
    let summary = match &working_copy.plan.advice {
        Some(_) => "nothing was verified, since the plan is empty".to_owned(),
        None => clean_line(&result.summary),
    };
    let summary = format!("{summary}{tests}");
    let last = match (result.overall_status.passes(), working_copy.verified) {
        (true, Some(true)) => output.paint.good(&format!("verified: {summary}")),
        (true, _) => output.paint.warn(&format!("unverified: {summary}")),
        (false, _) => output.paint.bad(&format!("failed: {summary}")),
    };
    output.line(&format!("\n{last}"))
}

fn show_plan(plan: &PlanOutline, output: &Output) -> Result<(), Failure> {
    output.line(&output.paint.strong(&format!("plan: {}", plan.source)))?;
    if plan.steps.is_empty() {
        let advice = plan
            .advice
            .as_deref()
            .unwrap_or("the plan is empty: add tests to it");
        let mut lines = advice.lines().map(clean_line);
        let first = lines.next().unwrap_or_default();
        output.line(&format!("  nothing to verify: awo {first}"))?;
        for line in lines {
            output.line(&format!("    {line}"))?;
        }
        return Ok(());
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
