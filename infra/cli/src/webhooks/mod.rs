//! `awo webhooks`: receivers of events. A secret goes to standard output, once, when it is created.

pub mod arguments;
mod deliveries;

use std::path::Path;

use awo_domain::WebhookId;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::list::{items, pages};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::screen::Screen;
use crate::submit::idempotency_key;
use crate::times::without_ms as short_time;
use arguments::{Action, Create, Rotate, Update};

const PATH: &str = "/v1/webhooks";

/// The part of a webhook that is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Webhook {
    id: String,
    url: String,
    events: Vec<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    header_names: Vec<String>,
    enabled: bool,
    #[serde(default)]
    description: Option<String>,
    created_at: String,
    #[serde(default)]
    updated_at: Option<String>,
    #[serde(default)]
    disabled_at: Option<String>,
    #[serde(default)]
    disabled_reason: Option<String>,
    #[serde(default)]
    previous_secret_expires_at: Option<String>,
}

impl Webhook {
    fn status(&self) -> &'static str {
        if self.enabled { "enabled" } else { "disabled" }
    }
}

#[derive(Deserialize)]
struct CreateAnswer {
    webhook: Webhook,
    secret: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RotateAnswer {
    secret: String,
    previous_secret_expires_at: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TestAnswer {
    event_id: String,
    delivered: bool,
    #[serde(default)]
    status_code: Option<u16>,
    duration_ms: u64,
    #[serde(default)]
    error: Option<String>,
}

/// Does what is asked.
pub async fn run(client: &Client, action: &Action, output: &Output) -> Result<(), Failure> {
    match action {
        Action::Create(wanted) => create(client, wanted, output).await,
        Action::List(wanted) => list(client, wanted, output).await,
        Action::Show(wanted) => show(client, &wanted.webhook, output).await,
        Action::Update(wanted) => update(client, wanted, output).await,
        Action::Delete(wanted) => delete(client, &wanted.webhook, output).await,
        Action::Test(wanted) => test(client, &wanted.webhook, output).await,
        Action::Rotate(wanted) => rotate(client, wanted, output).await,
        Action::Deliveries(wanted) => deliveries::list(client, wanted, output).await,
        Action::Redeliver(wanted) => deliveries::redeliver(client, wanted, output).await,
    }
}

fn path_of(webhook: &WebhookId) -> String {
    format!("{PATH}/{webhook}")
}

async fn create(client: &Client, wanted: &Create, output: &Output) -> Result<(), Failure> {
    let mut body = json!({ "url": wanted.endpoint });
    if !wanted.events.is_empty() {
        body["events"] = json!(wanted.events);
    }
    if let Some(kind) = &wanted.kind {
        body["kind"] = json!(kind);
    }
    if let Some(file) = &wanted.headers {
        body["headers"] = headers(file)?;
    }
    if let Some(description) = &wanted.description {
        body["description"] = json!(description);
    }
    let key = idempotency_key(wanted.idempotency_key.as_deref());
    let post = client.post(PATH, Some(&body), &key);
    let text = Screen::during(output, "creating a webhook".to_owned(), post).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let created: CreateAnswer = answers::read(&text)?;
    describe(&created.webhook, output)?;
    field(output, "secret", clean_line(&created.secret))?;
    keep_it(output);
    Ok(())
}

/// The object in a file of headers.
fn headers(file: &Path) -> Result<Value, Failure> {
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    // Not the parser's own words, which may quote a secret.
    let read = serde_json::from_str(&text).ok().filter(Value::is_object);
    read.ok_or_else(|| wrong("is not a JSON object of names and values".to_owned()))
}

fn keep_it(output: &Output) {
    output.remark("Save the secret for the receiver now: it is not shown again.");
}

async fn list(client: &Client, wanted: &arguments::List, output: &Output) -> Result<(), Failure> {
    let text = pages(client, PATH, "webhooks", Vec::new(), &wanted.part).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let (webhooks, total): (Vec<Webhook>, u64) = items(&text, "webhooks")?;
    let mut grid = Grid::new(&[
        Column::whole("webhook", 0),
        Column::whole("status", 0),
        Column::whole("created", 1),
        Column::cut("endpoint", 0),
        Column::cut("events", 2),
    ]);
    for webhook in &webhooks {
        grid.row(vec![
            Entry::text(&webhook.id),
            Entry::status(webhook.status()),
            Entry::time(&webhook.created_at, output),
            Entry::text(&webhook.url),
            Entry::text(webhook.events.join(" ")),
        ]);
    }
    grid.show(total, "webhooks", output)
}

async fn show(client: &Client, webhook: &WebhookId, output: &Output) -> Result<(), Failure> {
    let text = client.get(&path_of(webhook), &[]).await?;
    show_webhook(&text, output)
}

async fn update(client: &Client, wanted: &Update, output: &Output) -> Result<(), Failure> {
    let mut body = Map::new();
    let texts = [
        ("url", &wanted.endpoint),
        ("description", &wanted.description),
    ];
    for (name, text) in texts {
        body.extend(text.as_ref().map(|text| (name.to_owned(), json!(text))));
    }
    if !wanted.events.is_empty() {
        body.insert("events".to_owned(), json!(wanted.events));
    }
    if let Some(file) = &wanted.headers {
        body.insert("headers".to_owned(), headers(file)?);
    }
    if wanted.enable || wanted.disable {
        body.insert("enabled".to_owned(), json!(wanted.enable));
    }
    let (path, body) = (path_of(&wanted.webhook), Value::Object(body));
    show_webhook(&client.patch(&path, &body).await?, output)
}

async fn delete(client: &Client, webhook: &WebhookId, output: &Output) -> Result<(), Failure> {
    client.delete(&path_of(webhook)).await?;
    output.remark(&format!("deleted {webhook}"));
    Ok(())
}

async fn test(client: &Client, webhook: &WebhookId, output: &Output) -> Result<(), Failure> {
    let (path, nothing) = (format!("{}/test", path_of(webhook)), json!({}));
    let post = client.post_patiently(&path, &nothing);
    let text = Screen::during(output, "waiting for the receiver".to_owned(), post).await?;
    let tested: TestAnswer = answers::read(&text)?;
    if output.is_json() {
        output.line(&text)?;
    } else {
        show_test(&tested, output)?;
    }
    if tested.delivered {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}

fn show_test(tested: &TestAnswer, output: &Output) -> Result<(), Failure> {
    field(output, "event", clean_line(&tested.event_id))?;
    let status = if tested.delivered {
        "delivered"
    } else {
        "failed"
    };
    field(output, "status", output.paint.status(status))?;
    if let Some(code) = tested.status_code {
        field(output, "answer", code)?;
    }
    field(output, "took", format!("{} ms", tested.duration_ms))?;
    match &tested.error {
        Some(error) => field(output, "error", clean_line(error)),
        None => Ok(()),
    }
}

async fn rotate(client: &Client, wanted: &Rotate, output: &Output) -> Result<(), Failure> {
    let key = idempotency_key(wanted.idempotency_key.as_deref());
    let path = format!("{}/rotate-secret", path_of(&wanted.webhook));
    let text = client.post(&path, None, &key).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let rotated: RotateAnswer = answers::read(&text)?;
    field(output, "secret", clean_line(&rotated.secret))?;
    let until = short_time(&rotated.previous_secret_expires_at);
    field(output, "the old one", format!("also signs until {until}"))?;
    keep_it(output);
    Ok(())
}

fn show_webhook(text: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    describe(&answers::read(text)?, output)
}

fn describe(webhook: &Webhook, output: &Output) -> Result<(), Failure> {
    field(output, "webhook", clean_line(&webhook.id))?;
    let since = webhook.disabled_at.as_deref().map(short_time);
    let since = since.map(|at| format!(" since {at}")).unwrap_or_default();
    let why = webhook.disabled_reason.as_deref().map(clean_line);
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let status = output.paint.status(webhook.status());
    field(output, "status", format!("{status}{since}{why}"))?;
    field(output, "endpoint", clean_line(&webhook.url))?;
    field(output, "events", clean_line(&webhook.events.join(" ")))?;
    let kind = webhook.kind.as_deref().filter(|kind| *kind != "events");
    let names = webhook.header_names.join(" ");
    let rest = [
        ("kind", kind.map(clean_line)),
        (
            "headers",
            Some(clean_line(&names)).filter(|names| !names.is_empty()),
        ),
        (
            "description",
            webhook.description.as_deref().map(clean_line),
        ),
        ("created", Some(short_time(&webhook.created_at))),
        ("updated", webhook.updated_at.as_deref().map(short_time)),
        (
            "old secret",
            (webhook.previous_secret_expires_at.as_deref())
                .map(|until| format!("also signs until {}", short_time(until))),
        ),
    ];
    for (name, text) in rest {
        if let Some(text) = text {
            field(output, name, text)?;
        }
    }
    Ok(())
}
