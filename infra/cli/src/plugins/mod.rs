//! `awo plugins`: the plugins that verify a workspace.

pub mod arguments;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answers;
use crate::client::{Client, segment};
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::submit::idempotency_key;
use arguments::{Action, Register};

const PATH: &str = "/api/v1/verification/plugins";

#[derive(Deserialize)]
struct Page {
    items: Vec<Plugin>,
    total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plugin {
    id: String,
    name: String,
    #[serde(default)]
    description: String,
    level: String,
    enabled: bool,
    #[serde(default)]
    command: Vec<String>,
    timeout_ms: u64,
}

impl Plugin {
    fn status(&self) -> &'static str {
        if self.enabled { "enabled" } else { "disabled" }
    }
}

/// Does what is asked.
pub async fn run(client: &Client, action: &Action, output: &Output) -> Result<(), Failure> {
    match action {
        Action::List => list(client, output).await,
        Action::Show(wanted) => show(&client.get(&path_of(&wanted.id), &[]).await?, output),
        Action::Register(wanted) => register(client, wanted, output).await,
        Action::Enable(wanted) => switch(client, &wanted.id, "enable", output).await,
        Action::Disable(wanted) => switch(client, &wanted.id, "disable", output).await,
        Action::Delete(wanted) => {
            client.delete(&path_of(&wanted.id)).await?;
            output.remark(&format!("deleted {}", clean_line(&wanted.id)));
            Ok(())
        }
    }
}

fn path_of(id: &str) -> String {
    format!("{PATH}/{}", segment(id))
}

async fn list(client: &Client, output: &Output) -> Result<(), Failure> {
    let text = client.get(PATH, &[]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let page: Page = answers::data(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("plugin", 0),
        Column::whole("level", 0),
        Column::whole("status", 0),
        Column::cut("description", 0),
    ]);
    for plugin in &page.items {
        grid.row(vec![
            Entry::text(&plugin.id),
            Entry::text(&plugin.level),
            Entry::status(plugin.status()),
            Entry::text(&plugin.description),
        ]);
    }
    grid.show(page.total, "plugins", output)
}

fn show(text: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let plugin: Plugin = answers::data(text)?;
    field(output, "plugin", clean_line(&plugin.id))?;
    field(output, "name", clean_line(&plugin.name))?;
    field(output, "status", output.paint.status(plugin.status()))?;
    field(output, "level", clean_line(&plugin.level))?;
    field(output, "description", clean_line(&plugin.description))?;
    if !plugin.command.is_empty() {
        field(
            output,
            "command",
            clean_line(&json!(plugin.command).to_string()),
        )?;
    }
    field(
        output,
        "timeout",
        format!("{} s", plugin.timeout_ms / 1_000),
    )
}

async fn register(client: &Client, wanted: &Register, output: &Output) -> Result<(), Failure> {
    let name = wanted.name.as_ref().unwrap_or(&wanted.id);
    let mut body = json!({
        "id": wanted.id, "name": name, "level": wanted.level, "command": wanted.argv,
    });
    if let Some(description) = &wanted.description {
        body["description"] = json!(description);
    }
    if let Some(timeout) = wanted.timeout {
        body["timeoutMs"] = json!(timeout);
    }
    show(
        &client
            .post(PATH, Some(&body), &idempotency_key(None))
            .await?,
        output,
    )
}

async fn switch(client: &Client, id: &str, verb: &str, output: &Output) -> Result<(), Failure> {
    let path = format!("{}/{verb}", path_of(id));
    let text = client.post(&path, None, &idempotency_key(None)).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let switched: Value = answers::data(&text)?;
    let status = match switched["enabled"].as_bool() {
        Some(false) => "disabled",
        _ => "enabled",
    };
    output.line(&format!(
        "{}  {}",
        output.paint.status(status),
        clean_line(id)
    ))
}
