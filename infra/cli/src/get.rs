//! `awo get`: the state of a work order or a run, in one view.

use awo_domain::work_order::MAX_CHILDREN;
use awo_domain::{RunId, WorkOrderId};
use serde_json::Value;

use crate::answers::{self, Run, WorkOrder, WorkOrders};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::{clean_line, shortened};
use crate::read::{self, field};
use crate::reference::{self, Id, Kind, Reference};

/// Characters of a child's task that are shown.
const TASK_OF_CHILD: usize = 60;

/// Shows a work order or a run.
pub async fn run(client: &Client, wanted: &Reference, output: &Output) -> Result<(), Failure> {
    match reference::any(client, wanted, Kind::WorkOrder).await? {
        Id::WorkOrder(id) => work_order(client, &id, output).await,
        Id::Run(id) => one_run(client, &id, output).await,
    }
}

async fn work_order(client: &Client, id: &WorkOrderId, output: &Output) -> Result<(), Failure> {
    let text = client.get(&format!("/v1/work-orders/{id}"), &[]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let order: WorkOrder = answers::read(&text)?;
    show_order(&order, output)?;
    // A key that may not see runs has seen the work order all the same.
    let newest = client.get(&format!("/v1/runs/{}", order.run_id), &[]).await;
    if let Ok(text) = newest {
        let run: Run = answers::read(&text)?;
        output.line("")?;
        read::show_state(&run, output)?;
        show_reason(client, &run, output).await?;
        read::show_result(&run, output)?;
        show_children(client, id, output).await?;
        return read::show_next(&run, Some(&order), output);
    }
    show_children(client, id, output).await
}

async fn one_run(client: &Client, id: &RunId, output: &Output) -> Result<(), Failure> {
    let text = client.get(&format!("/v1/runs/{id}"), &[]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let run: Run = answers::read(&text)?;
    field(output, "work order", clean_line(&run.work_order_id))?;
    read::show_state(&run, output)?;
    show_reason(client, &run, output).await?;
    read::show_result(&run, output)?;
    let order = read::order_of(client, &run).await;
    read::show_next(&run, order.as_ref(), output)
}

/// Why somebody ended a run, which its audit has.
async fn show_reason(client: &Client, run: &Run, output: &Output) -> Result<(), Failure> {
    let was_killed = run
        .error
        .as_ref()
        .is_some_and(|error| error.code == "KILLED");
    if run.status != "canceled" && !was_killed {
        return Ok(());
    }
    let path = format!("/api/v1/audit/runs/{}", run.run_id);
    let Ok(text) = client.get(&path, &[]).await else {
        return Ok(());
    };
    let audit: Value = answers::data(&text)?;
    match audit["stop"]["reason"].as_str() {
        Some(reason) => field(output, "reason", clean_line(reason)),
        None => Ok(()),
    }
}

/// Shows the children of a work order, as far as they can be seen.
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
        let verified = answers::verification(&child.status, child.verified);
        let verified = verified
            .map(|verified| format!(", {verified}"))
            .unwrap_or_default();
        let task = shortened(&child.task_prompt, TASK_OF_CHILD);
        let status = output.paint.status(&child.status);
        let id = clean_line(&child.id);
        field(output, "child", format!("{id}  {status}{verified}  {task}"))?;
    }
    Ok(())
}

fn show_order(order: &WorkOrder, output: &Output) -> Result<(), Failure> {
    field(output, "work order", clean_line(&order.id))?;
    field(output, "status", output.paint.status(&order.status))?;
    let prompt = order.task_prompt.lines().map(clean_line);
    for (number, line) in prompt.enumerate() {
        field(output, if number == 0 { "task" } else { "" }, line)?;
    }
    if let Some(parent) = &order.parent_id {
        field(output, "parent", clean_line(parent))?;
    }
    let source = &order.workspace_source;
    let branch = source.branch.as_deref();
    let branch = branch.map(|b| format!(" at {b}")).unwrap_or_default();
    let repository = format!("{}{branch}", source.repository);
    field(output, "repository", clean_line(&repository))?;
    if let Some(agent) = &order.agent {
        let model = agent.model.as_deref();
        let model = model.map(|m| format!(" ({m})")).unwrap_or_default();
        let agent = format!("{}{model}", agent.kind);
        field(output, "agent", clean_line(&agent))?;
    }
    let harness = order.harness.as_deref().unwrap_or("default");
    field(output, "harness", clean_line(harness))?;
    if let Some(environment) = &order.environment {
        field(output, "environment", clean_line(environment))?;
    }
    if let Some(tenant) = &order.tenant_context {
        let user = tenant.tenant_user_id.as_deref();
        let user = user.map(|u| format!(" / {u}")).unwrap_or_default();
        let tenant = format!("{}{user}", tenant.tenant_id);
        field(output, "tenant", clean_line(&tenant))?;
    }
    for (key, value) in &order.metadata {
        field(output, "metadata", clean_line(&format!("{key}={value}")))?;
    }
    if let Some(pull) = &order.pull_request {
        field(output, "outcome", pull.outcome())?;
    }
    field(output, "created", output.time(&order.created_at))
}
