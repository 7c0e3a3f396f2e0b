//! `awo get`, and how a run's end is told.

use std::fmt::Display;

use awo_domain::work_order::MAX_CHILDREN;
use awo_domain::{RunId, WorkOrderId};

use crate::answers::{self, Run, WorkOrder, WorkOrders};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::{clean_line, shortened};
use crate::progress::seconds;
use crate::quantity::Id;

/// Characters of a child's task that are shown.
const TASK_OF_CHILD: usize = 60;

/// Shows a work order or a run.
pub async fn get(client: &Client, id: &Id, output: &Output) -> Result<(), Failure> {
    let path = match id {
        Id::WorkOrder(id) => format!("/v1/work-orders/{id}"),
        Id::Run(id) => format!("/v1/runs/{id}"),
    };
    let text = client.get(&path, &[]).await?;
    if output.json {
        return output.line(&text);
    }
    match id {
        Id::WorkOrder(id) => {
            show_work_order(&answers::read(&text)?, output)?;
            show_children(client, id, output).await
        }
        Id::Run(_) => show_run(&answers::read(&text)?, output),
    }
}

/// Shows the parts of a work order, as far as they can be seen.
async fn show_children(
    client: &Client,
    parent: &WorkOrderId,
    output: &Output,
) -> Result<(), Failure> {
    let query = [
        ("parentId", parent.to_string()),
        ("limit", MAX_CHILDREN.to_string()),
    ];
    // A key that may not list them has seen the work order all the same.
    let Ok(text) = client.get("/v1/work-orders", &query).await else {
        return Ok(());
    };
    let children = answers::read::<WorkOrders>(&text).unwrap_or_default();
    if !children.work_orders.is_empty() {
        output.line("")?;
    }
    // The oldest first, as they were asked for.
    for child in children.work_orders.iter().rev() {
        let said = answers::verification(&child.status, child.verified);
        let said = said.map(|said| format!(", {said}")).unwrap_or_default();
        let task = shortened(&child.task_prompt, TASK_OF_CHILD);
        let status = output.paint.status(&child.status);
        let id = clean_line(&child.id);
        field(output, "child", format!("{id}  {status}{said}  {task}"))?;
    }
    Ok(())
}

/// The run that an id names: itself, or the newest of a work order.
pub async fn run_of(client: &Client, id: &Id) -> Result<RunId, Failure> {
    let order = match id {
        Id::Run(run) => return Ok(run.clone()),
        Id::WorkOrder(order) => order,
    };
    let path = format!("/v1/work-orders/{order}");
    let order: WorkOrder = answers::read(&client.get(&path, &[]).await?)?;
    run_id(&order.run_id)
}

/// A run's id as an answer holds it.
pub fn run_id(text: &str) -> Result<RunId, Failure> {
    RunId::parse(text).map_err(|e| Failure::Broken(format!("the answer's runId {e}")))
}

/// A named value on a line of its own.
pub fn field(output: &Output, name: &str, value: impl Display) -> Result<(), Failure> {
    let name = output.paint.faint(&format!("{name:<12}"));
    output.line(&format!("{name}  {value}"))
}

fn show_work_order(order: &WorkOrder, output: &Output) -> Result<(), Failure> {
    field(output, "work order", clean_line(&order.id))?;
    field(output, "status", output.paint.status(&order.status))?;
    if let Some(said) = answers::verification(&order.status, order.verified) {
        field(output, "verification", paint_verified(said, output))?;
    }
    field(output, "run", clean_line(&order.run_id))?;
    if let Some(parent) = &order.parent_id {
        field(output, "parent", clean_line(parent))?;
    }
    field(
        output,
        "repository",
        clean_line(&order.workspace_source.repository),
    )?;
    if let Some(branch) = &order.workspace_source.branch {
        field(output, "branch", clean_line(branch))?;
    }
    if let Some(agent) = &order.agent {
        let model = agent
            .model
            .as_deref()
            .map(|m| format!(" ({m})"))
            .unwrap_or_default();
        field(
            output,
            "agent",
            clean_line(&format!("{}{model}", agent.kind)),
        )?;
    }
    field(
        output,
        "harness",
        clean_line(order.harness.as_deref().unwrap_or("default")),
    )?;
    field(
        output,
        "iterations",
        format!("at most {}", order.max_iterations),
    )?;
    if let Some(tenant) = &order.tenant_context {
        let user = tenant
            .tenant_user_id
            .as_deref()
            .map(|u| format!(" / {u}"))
            .unwrap_or_default();
        field(
            output,
            "tenant",
            clean_line(&format!("{}{user}", tenant.tenant_id)),
        )?;
    }
    for (key, value) in &order.metadata {
        field(output, "metadata", clean_line(&format!("{key}={value}")))?;
    }
    field(output, "created", clean_line(&order.created_at))?;
    output.line("")?;
    order
        .task_prompt
        .lines()
        .try_for_each(|line| output.line(&clean_line(line)))
}

fn show_run(run: &Run, output: &Output) -> Result<(), Failure> {
    field(output, "run", clean_line(&run.run_id))?;
    field(output, "work order", clean_line(&run.work_order_id))?;
    let phase = run.phase.as_deref().filter(|_| !run.is_over());
    let phase = phase
        .map(|p| format!(" ({})", clean_line(p)))
        .unwrap_or_default();
    field(
        output,
        "status",
        format!("{}{phase}", output.paint.status(&run.status)),
    )?;
    field(
        output,
        "iteration",
        format!("{} of at most {}", run.iteration, run.max_iterations),
    )?;
    field(output, "created", clean_line(&run.created_at))?;
    let times = [
        ("started", &run.started_at),
        ("completed", &run.completed_at),
        ("stopped", &run.compute_stopped_at),
        ("settled", &run.settled_at),
    ];
    for (name, time) in times {
        if let Some(time) = time {
            field(output, name, clean_line(time))?;
        }
    }
    show_result(run, output)
}

/// A result of which nothing was verified is not shown as a success.
fn paint_verified(said: &str, output: &Output) -> String {
    match said {
        "verified" => output.paint.good(said),
        _ => output
            .paint
            .warn("unverified: no check of the plan ran anything that passed"),
    }
}

/// Tells how a run ended.
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

fn show_result(run: &Run, output: &Output) -> Result<(), Failure> {
    if let Some(error) = &run.error {
        let code = output.paint.bad(&clean_line(&error.code));
        field(
            output,
            "error",
            format!("{code}: {}", clean_line(&error.message)),
        )?;
    }
    if let Some(said) = run.verification() {
        field(output, "verification", paint_verified(said, output))?;
    }
    if !run.tests_changed.is_empty() {
        let changed = clean_line(&run.tests_changed.join(", "));
        field(output, "tests changed", output.paint.warn(&changed))?;
    }
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
