//! `awo submit`

use std::io::Read;

use awo_cloud::Mint;
use awo_domain::work_order::MAX_TASK_PROMPT;
use serde_json::{Value, json};

use crate::answers::{self, WorkOrder};
use crate::arguments::{Submit, pairs};
use crate::client::Client;
use crate::failure::Failure;
use crate::follow;
use crate::local_repository;
use crate::output::{Format, Output};
use crate::paint::clean_line;
use crate::read::field;
use crate::reference;
use crate::repository;

/// Longest prompt that is read, in bytes: four for each character that the service takes.
const MAX_PROMPT_BYTES: u64 = 4 * MAX_TASK_PROMPT as u64;

/// Submits a work order, and follows its run if that is wanted.
pub async fn run(client: &Client, wanted: &Submit, output: &Output) -> Result<(), Failure> {
    let source = source(client, wanted)?;
    let prompt = match &wanted.prompt {
        Some(given) => Some(prompt(given)?),
        None if wanted.is_verification() => None,
        None => {
            let why = "--prompt is missing: name the task of the agent";
            return Err(Failure::Usage(why.to_owned()));
        }
    };
    let mut body = wanted.body(prompt, source)?;
    if let Some(parent) = &wanted.parent {
        let parent = reference::work_order(client, parent).await?;
        body["parentId"] = json!(parent.as_str());
    }
    if let Some(note) = swallowed(wanted) {
        output.remark(&format!("note: {note}"));
    }
    let key = idempotency_key(wanted.idempotency_key.as_deref());
    let text = client.post("/v1/work-orders", Some(&body), &key).await?;
    let order: WorkOrder = answers::read(&text)?;
    if wanted.follow || wanted.require_verified {
        let run = reference::run_id(&order.run_id)?;
        follow::announce(output, "submitted", [&order.id, &order.run_id])?;
        return follow::run(client, &run, wanted.require_verified, output).await;
    }
    if output.is_json() {
        return output.line(&text);
    }
    if output.format == Format::Ids {
        return output.line(&clean_line(&order.id));
    }
    field(output, "work order", clean_line(&order.id))?;
    field(output, "run", clean_line(&order.run_id))?;
    field(output, "status", output.paint.status(&order.status))?;
    output.hint(&format!(
        "To watch it: awo follow {}",
        clean_line(&order.run_id)
    ))
}

/// Where the workspace comes from.
fn source(client: &Client, wanted: &Submit) -> Result<Value, Failure> {
    if let Some(template) = &wanted.template {
        let mut source = json!({ "type": "template", "templateId": template });
        let variables = pairs("--var", &wanted.variables)?;
        if !variables.is_empty() {
            source["variables"] = Value::Object(variables);
        }
        return Ok(source);
    }
    let named = repository::named(wanted.repo.as_deref(), client.is_local())?;
    let has_own_agent = wanted.agent.is_some() || wanted.argv().is_some();
    let hints = named.folder.as_deref();
    let hints = hints.map(|folder| local_repository::hints(folder, has_own_agent));
    for note in named.notes.iter().chain(hints.iter().flatten()) {
        eprintln!("note: {}", clean_line(note));
    }
    let mut source = json!({ "type": "git", "repository": named.url });
    if let Some(branch) = wanted.branch.as_ref().or(named.branch.as_ref()) {
        source["branch"] = json!(branch);
    }
    if let Some(commit) = &wanted.commit {
        source["commit"] = json!(commit);
    }
    Ok(source)
}

/// Options of `awo submit` that `--command` took for the agent's.
fn swallowed(wanted: &Submit) -> Option<String> {
    let ours = [
        "--follow",
        "--json",
        "--require-verified",
        "--prompt",
        "--repo",
    ];
    let argv = wanted.command.as_ref()?;
    let taken = argv.iter().find(|word| ours.contains(&word.as_str()))?;
    Some(format!(
        "{taken} follows --command, so it goes to the agent; to pass it to awo, write it before \
         --command, or write the agent's command after --"
    ))
}

/// The key that was named, or a fresh random one.
pub fn idempotency_key(named: Option<&str>) -> String {
    let fresh = || format!("awo-{}", &Mint::default().secret()[..32]);
    named.map_or_else(fresh, str::to_owned)
}

/// The prompt: the text itself, a file's, or standard input's.
pub fn prompt(given: &str) -> Result<String, Failure> {
    let refused = |why: String| Failure::Usage(format!("--prompt {}: {why}", clean_line(given)));
    let read = |source: &mut dyn Read| -> std::io::Result<String> {
        let mut text = String::new();
        source
            .take(MAX_PROMPT_BYTES + 1)
            .read_to_string(&mut text)?;
        Ok(text)
    };
    let text = if given == "-" {
        read(&mut std::io::stdin().lock())
    } else if let Some(path) = given.strip_prefix('@') {
        std::fs::File::open(path).and_then(|mut file| read(&mut file))
    } else {
        return Ok(given.to_owned());
    };
    let text = text.map_err(|error| refused(error.to_string()))?;
    if text.len() as u64 > MAX_PROMPT_BYTES {
        return Err(refused(format!(
            "is longer than {MAX_TASK_PROMPT} characters"
        )));
    }
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};
    use clap::Parser;

    fn body_of(more: &[&str]) -> Result<Value, Failure> {
        let typed = [
            "awo",
            "submit",
            "--repo",
            "https://example.com/a",
            "--prompt",
            "p",
        ];
        let typed = typed.iter().chain(more);
        let Command::Submit(order) = Arguments::try_parse_from(typed).unwrap().command else {
            panic!("not a submit");
        };
        let address = crate::address::Address {
            url: "http://127.0.0.1:1".parse().unwrap(),
            api_key: "k".to_owned(),
            context: None,
            why: String::new(),
        };
        let source = source(&Client::new(address)?, &order)?;
        let given = order.prompt.as_deref().unwrap();
        order.body(Some(prompt(given).unwrap()), source)
    }

    #[test]
    fn options_that_are_not_given_are_left_to_the_service() {
        let source = json!({"type": "git", "repository": "https://example.com/a"});
        assert_eq!(
            body_of(&[]).unwrap(),
            json!({"taskPrompt": "p", "workspaceSource": source})
        );
    }

    #[test]
    fn every_option_has_its_place() {
        let body = body_of(&[
            "--branch",
            "b",
            "--agent",
            "command",
            "--model",
            "m",
            "--max-iterations",
            "3",
            "--max-credits",
            "0.5",
            "--max-duration",
            "10m",
            "--tenant",
            "t",
            "--tenant-user",
            "u",
            "--metadata",
            "a=1",
            "b=2",
            "--environment",
            "e",
            "--harness",
            "h",
            "--command",
            "sh",
            "-c",
            "x",
        ]);
        let source = json!({"type": "git", "repository": "https://example.com/a", "branch": "b"});
        assert_eq!(
            body.unwrap(),
            json!({
                "taskPrompt": "p",
                "workspaceSource": source,
                "agent": {"type": "command", "model": "m", "command": ["sh", "-c", "x"]},
                "limits": {"maxCredits": 0.5, "maxDurationMs": 600_000},
                "tenantContext": {"tenantId": "t", "tenantUserId": "u"},
                "maxIterations": 3,
                "environment": "e",
                "harness": "h",
                "metadata": {"a": "1", "b": "2"},
            })
        );
        assert!(body_of(&["--metadata", "a=1", "a=2"]).is_err());
    }

    #[test]
    fn a_prompt_can_come_from_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task.md");
        std::fs::write(&path, "Do it.\n\n").unwrap();
        assert_eq!(prompt(&format!("@{}", path.display())).unwrap(), "Do it.");
        assert!(prompt("@/nowhere/at/all").is_err());
        assert_eq!(prompt("user@example.com").unwrap(), "user@example.com");
    }
}
