//! A run as users see it, and the presentation of its end.

use std::fmt::Display;

use crate::answers::{self, Run, RunFault, Verification, WorkOrder};
use crate::client::Client;
use crate::failure::Failure;
use crate::next_step;
use crate::options;
use crate::output::{Format, Output};
use crate::paint::clean_line;
use crate::progress::seconds;

/// A named value on a line of its own.
pub fn field(output: &Output, name: &str, value: impl Display) -> Result<(), Failure> {
    match output.format {
        Format::Tsv => output.line(&format!("{name}\t{value}")),
        _ => {
            let name = output.paint.faint(&format!("{name:<12}"));
            output.line(&format!("{name}  {value}"))
        }
    }
}

/// Where a run stands, and since when.
pub fn show_state(run: &Run, output: &Output) -> Result<(), Failure> {
    field(output, "run", clean_line(&run.run_id))?;
    let phase = run.phase.as_deref().filter(|_| !run.is_over());
    let phase = phase
        .map(|p| format!(" ({})", clean_line(p)))
        .unwrap_or_default();
    let took = run.duration_ms();
    let took = took
        .map(|ms| format!(" in {}", seconds(ms)))
        .unwrap_or_default();
    let status = output.paint.status(&run.status);
    field(output, "status", format!("{status}{phase}{took}"))?;
    let (iteration, most) = (run.iteration, run.max_iterations);
    field(
        output,
        "iteration",
        format!("{iteration} of at most {most}"),
    )?;
    let times = [
        ("created", Some(&run.created_at)),
        ("started", run.started_at.as_ref()),
        ("completed", run.completed_at.as_ref()),
        ("stopped", run.compute_stopped_at.as_ref()),
        ("settled", run.settled_at.as_ref()),
    ];
    for (name, time) in times {
        if let Some(time) = time {
            field(output, name, output.time(time))?;
        }
    }
    Ok(())
}

/// The work order of a run, if it can be seen.
pub async fn order_of(client: &Client, run: &Run) -> Option<WorkOrder> {
    let path = format!("/v1/work-orders/{}", run.work_order_id);
    let text = client.get(&path, &[]).await.ok()?;
    answers::read(&text).ok()
}

/// The next step, for people.
pub fn show_next(run: &Run, order: Option<&WorkOrder>, output: &Output) -> Result<(), Failure> {
    let steps = next_step::of(run, order);
    if output.is_for_programs() || steps.is_empty() {
        return Ok(());
    }
    output.line("")?;
    for (what, command) in steps {
        let what = output.paint.faint(&format!("to {what}:"));
        output.line(&format!("{what} {command}"))?;
    }
    Ok(())
}

/// A result of which nothing was verified is not shown as a success.
fn paint_verified(verdict: &str, output: &Output) -> String {
    match verdict {
        "verified" => output.paint.good(verdict),
        _ => output
            .paint
            .warn("unverified: no test is known to have run and passed"),
    }
}

/// Shows how a run ended.
pub fn show_end(run: &Run, output: &Output) -> Result<(), Failure> {
    let took = run
        .duration_ms()
        .map(|ms| format!(" in {}", seconds(ms)))
        .unwrap_or_default();
    let plural = if run.iteration == 1 {
        "iteration"
    } else {
        "iterations"
    };
    let status = output.paint.status(&run.status);
    output.line(&format!("\n{status}{took}, {} {plural}", run.iteration))?;
    show_result(run, output)
}

/// Why a run failed, where the fault lies, and what to do about it.
fn show_error(error: &RunFault, output: &Output) -> Result<(), Failure> {
    let code = output.paint.bad(&clean_line(&error.code));
    let message = options::instead_of_fields(&clean_line(&error.message));
    field(output, "error", format!("{code}: {message}"))?;
    if let Some(category) = &error.category {
        let again = if error.retryable {
            ", worth another run as it is"
        } else {
            ""
        };
        field(
            output,
            "category",
            format!("{}{again}", clean_line(category)),
        )?;
    }
    match &error.remedy {
        Some(remedy) => field(
            output,
            "remedy",
            options::instead_of_fields(&clean_line(remedy)),
        ),
        None => Ok(()),
    }
}

/// The verdict of a run's last verification, and what to know of it.
fn show_verdict(run: &Run, output: &Output) -> Result<(), Failure> {
    let evidence = run.verification.as_ref().and_then(Verification::evidence);
    match (run.verdict(), evidence) {
        (Some(verdict), Some(evidence)) => {
            let verdict = paint_verified(verdict, output);
            field(output, "verification", format!("{verdict} ({evidence})"))?;
        }
        (Some(verdict), None) => field(output, "verification", paint_verified(verdict, output))?,
        (None, Some(evidence)) => field(output, "verification", evidence)?,
        (None, None) => {}
    }
    if !run.tests_changed.is_empty() {
        let changed = clean_line(&run.tests_changed.join(", "));
        field(output, "tests changed", output.paint.warn(&changed))?;
    }
    if !run.gate_changed.is_empty() {
        let changed = clean_line(&run.gate_changed.join(", "));
        field(output, "gate changed", output.paint.warn(&changed))?;
    }
    if let Some(baseline) = &run.baseline {
        let lists = [
            ("pre-existing", &baseline.pre_existing),
            ("introduced", &baseline.introduced),
            ("fixed", &baseline.fixed),
        ];
        for (name, checks) in lists.into_iter().filter(|(_, checks)| !checks.is_empty()) {
            field(output, name, clean_line(&checks.join(", ")))?;
        }
    }
    if let Some(behind) = run.behind.filter(|behind| *behind > 0) {
        let behind = format!("{behind} commits of the base");
        field(output, "behind", output.paint.warn(&behind))?;
    }
    Ok(())
}

/// The outcome of a run, and its cost.
pub fn show_result(run: &Run, output: &Output) -> Result<(), Failure> {
    if let Some(error) = &run.error {
        show_error(error, output)?;
    }
    show_verdict(run, output)?;
    let texts = [
        ("commit", &run.commit),
        ("branch", &run.branch),
        ("pull request", &run.pr_url),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            field(output, name, clean_line(text))?;
        }
    }
    for report in &run.reports {
        let detail = report.url.as_ref().or(report.reason.as_ref());
        let detail = detail.map_or(String::new(), |detail| format!(": {}", clean_line(detail)));
        let shown = format!("{}{detail}", clean_line(&report.state));
        field(output, &clean_line(&report.kind), shown)?;
    }
    if let Some(cost) = &run.cost {
        field(output, "credits", cost.credits)?;
    }
    if let Some(usage) = &run.usage {
        let cached = match usage.total_cached_input_tokens {
            0 => String::new(),
            cached => format!(" ({cached} of them cached)"),
        };
        let (input, out) = (usage.total_input_tokens, usage.total_output_tokens);
        field(output, "tokens", format!("{input} in{cached}, {out} out"))?;
        let models: Vec<String> = usage.by_model.keys().map(|m| clean_line(m)).collect();
        if let (Some(cost), false) = (&run.cost, models.is_empty()) {
            field(
                output,
                "model cost",
                format!("{} USD ({})", cost.usd, models.join(", ")),
            )?;
        }
        if !usage.unpriced_models.is_empty() {
            let models = clean_line(&usage.unpriced_models.join(", "));
            field(output, "no price for", models)?;
        }
    }
    if let (true, Some(dir)) = (run.is_over() && !run.succeeded(), &run.work_dir) {
        field(output, "workspace", clean_line(dir))?;
    }
    Ok(())
}
