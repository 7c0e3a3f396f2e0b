//! `awo verification run`: verifies a workspace that the service still has.

pub mod arguments;

use serde_json::{Value, json};

use crate::answers;
use crate::checks;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::reference;
use crate::screen::Screen;
use arguments::{Action, Run};

/// Does what is asked.
pub async fn run(client: &Client, action: &Action, output: &Output) -> Result<(), Failure> {
    let Action::Run(wanted) = action;
    let body = body(client, wanted).await?;
    let post = client.post_for_long("/api/v1/verification/run", &body);
    let text = Screen::during(output, "verifying".to_owned(), post).await?;
    let result: Value = answers::data(&text)?;
    if output.is_json() {
        output.line(&text)?;
    } else {
        for line in checks::lines_of(&result, output.paint) {
            output.line(&line)?;
        }
        let overall = result["overallStatus"].as_str().unwrap_or_default();
        let summary = result["summary"].as_str().unwrap_or_default();
        let summary = crate::paint::clean_line(summary);
        output.line(&format!("{}  {summary}", output.paint.status(overall)))?;
    }
    match result["overallStatus"].as_str() {
        Some("passed" | "warning") => Ok(()),
        _ => Err(Failure::NotDone),
    }
}

async fn body(client: &Client, wanted: &Run) -> Result<Value, Failure> {
    let mut body = json!({ "workDir": work_dir(client, wanted).await? });
    let lists = [
        ("levels", &wanted.levels),
        ("pluginIds", &wanted.plugins),
        ("modifiedFiles", &wanted.modified_files),
    ];
    for (name, list) in lists {
        if !list.is_empty() {
            body[name] = json!(list);
        }
    }
    if let Some(harness) = &wanted.harness {
        body["harness"] = json!(harness);
    }
    if let Some(timeout) = wanted.timeout {
        body["timeoutMs"] = json!(timeout);
    }
    Ok(body)
}

async fn work_dir(client: &Client, wanted: &Run) -> Result<String, Failure> {
    if let Some(path) = &wanted.work_dir {
        return Ok(path.clone());
    }
    let Some(id) = &wanted.id else {
        return Err(Failure::Usage("specify a run, or --work-dir".to_owned()));
    };
    let run = reference::run(client, id).await?;
    let text = client.get(&format!("/v1/runs/{run}"), &[]).await?;
    answers::read::<answers::Run>(&text)?
        .work_dir
        .ok_or_else(|| {
            Failure::Refused(format!(
                "the workspace of {run} no longer exists\n  what to do: `awo checks {run}` shows what was \
             verified while it ran"
            ))
        })
}
