//! `awo inboxes`: URLs to which forges and other senders post signed deliveries. A secret goes to standard output,
//! once, when it is created.

pub mod arguments;
mod deliveries;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answers;
use crate::client::{Client, segment};
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::hidden_input;
use crate::list::{items, pages};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::submit::idempotency_key;
use crate::times::without_ms as short_time;
use arguments::{Action, Create, InboxArgument, Rotate, Update};

const PATH: &str = "/v1/inboxes";

/// The part of an inbox that is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Inbox {
    id: String,
    name: String,
    kind: String,
    #[serde(default)]
    host: Option<String>,
    #[serde(default)]
    signature: Option<Value>,
    #[serde(default)]
    duplicates: Option<String>,
    enabled: bool,
    created_at: String,
    #[serde(default)]
    updated_at: Option<String>,
    #[serde(default)]
    previous_secret_expires_at: Option<String>,
}

impl Inbox {
    fn status(&self) -> &'static str {
        if self.enabled { "enabled" } else { "disabled" }
    }

    /// The signature beyond the kind's own, in a line.
    fn signature(&self) -> Option<String> {
        let signature = self.signature.as_ref()?;
        let member = |name: &str| signature.get(name).and_then(Value::as_str);
        let Some(header) = member("header") else {
            return signature.as_str().map(clean_line);
        };
        let prefix = member("prefix").map(|prefix| format!(" after {prefix}"));
        let encoding = member("encoding").unwrap_or_default();
        let line = format!("{header}: {encoding}{}", prefix.unwrap_or_default());
        Some(clean_line(&line))
    }
}

#[derive(Deserialize)]
struct CreateAnswer {
    inbox: Inbox,
    url: String,
    secret: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RotateAnswer {
    secret: String,
    previous_secret_expires_at: String,
}

/// Executes the subcommand.
pub async fn run(client: &Client, action: &Action, output: &Output) -> Result<(), Failure> {
    match action {
        Action::List(arguments) => list(client, arguments, output).await,
        Action::Show(inbox) => show(&client.get(&path_of(inbox), &[]).await?, output),
        Action::Create(arguments) => create(client, arguments, output).await,
        Action::Update(arguments) => update(client, arguments, output).await,
        Action::Rotate(arguments) => rotate(client, arguments, output).await,
        Action::Deliveries(arguments) => deliveries::list(client, arguments, output).await,
        Action::Replay(arguments) => deliveries::replay(client, arguments, output).await,
        Action::Delete(inbox) => {
            client.delete(&path_of(inbox)).await?;
            output.remark(&format!("deleted {}", clean_line(&inbox.id)));
            Ok(())
        }
    }
}

fn path_of(inbox: &InboxArgument) -> String {
    format!("{PATH}/{}", segment(&inbox.id))
}

async fn list(
    client: &Client,
    arguments: &arguments::List,
    output: &Output,
) -> Result<(), Failure> {
    let text = pages(client, PATH, "inboxes", Vec::new(), &arguments.part).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let (inboxes, total): (Vec<Inbox>, u64) = items(&text, "inboxes")?;
    let mut grid = Grid::new(&[
        Column::whole("inbox", 0),
        Column::whole("kind", 0),
        Column::whole("status", 0),
        Column::whole("created", 1),
        Column::cut("host", 1),
        Column::cut("name", 0),
    ]);
    for inbox in &inboxes {
        grid.row(vec![
            Entry::text(&inbox.id),
            Entry::text(&inbox.kind),
            Entry::status(inbox.status()),
            Entry::time(&inbox.created_at, output),
            Entry::text(inbox.host.as_deref().unwrap_or_default()),
            Entry::text(&inbox.name),
        ]);
    }
    grid.show(total, "inboxes", output)
}

async fn create(client: &Client, arguments: &Create, output: &Output) -> Result<(), Failure> {
    let mut body = json!({ "name": arguments.name, "kind": arguments.kind });
    for (name, text) in [
        ("host", &arguments.host),
        ("duplicates", &arguments.duplicates),
    ] {
        if let Some(text) = text {
            body[name] = json!(text);
        }
    }
    if arguments.token {
        body["signature"] = json!("token");
    }
    if let Some(header) = &arguments.header {
        let encoding = arguments.encoding.as_deref().unwrap_or("hex");
        body["signature"] = json!({ "header": header, "encoding": encoding });
        if let Some(prefix) = &arguments.prefix {
            body["signature"]["prefix"] = json!(prefix);
        }
    }
    if arguments.secret_stdin {
        body["secret"] = json!(hidden_input::read("Secret of the sender").await?);
    }
    let key = idempotency_key(arguments.idempotency_key.as_deref());
    let text = client.post(PATH, Some(&body), &key).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let created: CreateAnswer = answers::read(&text)?;
    describe(&created.inbox, output)?;
    field(output, "url", clean_line(&created.url))?;
    field(output, "secret", clean_line(&created.secret))?;
    output.remark("Enter the URL and the secret at the sender now: the secret is not shown again.");
    Ok(())
}

async fn update(client: &Client, arguments: &Update, output: &Output) -> Result<(), Failure> {
    let mut body = Map::new();
    for (name, text) in [("name", &arguments.name), ("host", &arguments.host)] {
        body.extend(text.as_ref().map(|text| (name.to_owned(), json!(text))));
    }
    if arguments.enable || arguments.disable {
        body.insert("enabled".to_owned(), json!(arguments.enable));
    }
    let path = path_of(&arguments.inbox);
    show(&client.patch(&path, &Value::Object(body)).await?, output)
}

async fn rotate(client: &Client, arguments: &Rotate, output: &Output) -> Result<(), Failure> {
    let mut body = json!({});
    if arguments.secret_stdin {
        body["secret"] = json!(hidden_input::read("Secret of the sender").await?);
    }
    let key = idempotency_key(arguments.idempotency_key.as_deref());
    let path = format!("{}/rotate-secret", path_of(&arguments.inbox));
    let text = client.post(&path, Some(&body), &key).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let rotated: RotateAnswer = answers::read(&text)?;
    field(output, "secret", clean_line(&rotated.secret))?;
    let until = short_time(&rotated.previous_secret_expires_at);
    field(output, "the old one", format!("is accepted until {until}"))?;
    output.remark("Enter the secret at the sender now: it is not shown again.");
    Ok(())
}

fn show(text: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    describe(&answers::read(text)?, output)
}

fn describe(inbox: &Inbox, output: &Output) -> Result<(), Failure> {
    field(output, "inbox", clean_line(&inbox.id))?;
    field(output, "name", clean_line(&inbox.name))?;
    field(output, "kind", clean_line(&inbox.kind))?;
    field(output, "status", output.paint.status(inbox.status()))?;
    let rest = [
        ("host", inbox.host.as_deref().map(clean_line)),
        ("signature", inbox.signature()),
        ("duplicates", inbox.duplicates.as_deref().map(clean_line)),
        ("created", Some(short_time(&inbox.created_at))),
        ("updated", inbox.updated_at.as_deref().map(short_time)),
        (
            "old secret",
            (inbox.previous_secret_expires_at.as_deref())
                .map(|until| format!("is accepted until {}", short_time(until))),
        ),
    ];
    for (name, text) in rest {
        if let Some(text) = text {
            field(output, name, text)?;
        }
    }
    Ok(())
}
