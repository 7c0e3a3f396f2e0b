//! `awo triggers`: work orders that the service creates for events of forges and other senders.

pub mod arguments;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answers;
use crate::client::{Client, segment};
use crate::document;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::submit::idempotency_key;
use arguments::{Action, Evaluate, TriggerArgument};

const PATH: &str = "/v1/triggers";
/// The limit of triggers of an organization.
const MOST: u32 = 100;

#[derive(Deserialize)]
struct TriggerPage {
    triggers: Vec<Trigger>,
    total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trigger {
    id: String,
    name: String,
    inbox_id: String,
    events: Vec<String>,
    action: String,
    enabled: bool,
    consecutive_refusals: u32,
    #[serde(default)]
    paused_reason: Option<String>,
}

impl Trigger {
    fn state(&self) -> String {
        match &self.paused_reason {
            Some(reason) => format!("paused: {reason}"),
            None if !self.enabled => "disabled".to_owned(),
            None => "active".to_owned(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Evaluation {
    result: String,
    #[serde(default)]
    reason: Option<String>,
    events: Vec<String>,
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    actor: Option<String>,
    #[serde(default)]
    work_order: Option<Value>,
}

/// Executes the subcommand.
pub async fn run(client: &Client, action: &Action, output: &Output) -> Result<(), Failure> {
    match action {
        Action::List => list(client, output).await,
        Action::Get(trigger) => shown(&client.get(&path_of(trigger), &[]).await?, output),
        Action::Create { file } => {
            let body = Value::Object(document::read(file)?);
            let made = client.post(PATH, Some(&body), &idempotency_key(None)).await;
            written(&made.map_err(|f| f.of_file(file))?, "created", output)
        }
        Action::Update { trigger, file } => {
            let body = Value::Object(document::read(file)?);
            let put = client.put(&path_of(trigger), &body).await;
            written(&put.map_err(|f| f.of_file(file))?, "replaced", output)
        }
        Action::Evaluate(arguments) => evaluate(client, arguments, output).await,
        Action::Delete(trigger) => {
            client.delete(&path_of(trigger)).await?;
            output.remark(&format!("deleted {}", clean_line(&trigger.id)));
            Ok(())
        }
    }
}

fn path_of(trigger: &TriggerArgument) -> String {
    format!("{PATH}/{}", segment(&trigger.id))
}

async fn list(client: &Client, output: &Output) -> Result<(), Failure> {
    let text = client.get(PATH, &[("limit", MOST.to_string())]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let page: TriggerPage = answers::read(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("trigger", 0),
        Column::whole("inbox", 2),
        Column::whole("action", 1),
        Column::whole("state", 0),
        Column::number("refusals", 3),
        Column::cut("events", 1),
        Column::cut("name", 0),
    ]);
    for trigger in &page.triggers {
        grid.row(vec![
            Entry::text(&trigger.id),
            Entry::text(&trigger.inbox_id),
            Entry::text(&trigger.action),
            Entry::text(trigger.state()),
            Entry::text(trigger.consecutive_refusals),
            Entry::text(trigger.events.join(" ")),
            Entry::text(&trigger.name),
        ]);
    }
    grid.show(page.total, "triggers", output)
}

fn shown(text: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let trigger: Value = answers::read(text)?;
    document::pretty(&trigger)
        .iter()
        .try_for_each(|line| output.line(line))
}

fn written(text: &str, what: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let trigger: Trigger = answers::read(text)?;
    let id = clean_line(&trigger.id);
    output.line(&format!("{what} {id}"))?;
    output.hint(&format!(
        "To try it on a saved payload: awo triggers evaluate {id} FILE"
    ))
}

async fn evaluate(client: &Client, arguments: &Evaluate, output: &Output) -> Result<(), Failure> {
    let payload = Value::Object(document::read(&arguments.file)?);
    let mut body = json!({ "payload": payload });
    if let Some(event) = &arguments.event {
        body["event"] = json!(event);
    }
    let path = format!("{}/evaluate", path_of(&arguments.trigger));
    let text = client
        .post(&path, Some(&body), &idempotency_key(None))
        .await?;
    if output.is_json() {
        return output.line(&text);
    }
    let judged: Evaluation = answers::read(&text)?;
    field(output, "result", clean_line(&judged.result))?;
    let rest = [
        ("reason", judged.reason.as_deref().map(clean_line)),
        ("events", Some(clean_line(&judged.events.join(" ")))),
        ("subject", judged.subject.as_deref().map(clean_line)),
        ("actor", judged.actor.as_deref().map(clean_line)),
    ];
    for (name, text) in rest {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            field(output, name, text)?;
        }
    }
    let Some(order) = &judged.work_order else {
        return Ok(());
    };
    output.line("")?;
    let lines = document::pretty(order);
    lines.iter().try_for_each(|line| output.line(line))
}
