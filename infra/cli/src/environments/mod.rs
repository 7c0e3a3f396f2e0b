//! `awo environments`: where the commands of runs happen.

pub mod arguments;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answers;
use crate::client::{Client, segment};
use crate::document;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::hidden_input;
use crate::output::Output;
use crate::paint::clean_line;
use crate::submit::idempotency_key;
use arguments::{Action, One, OneSecret, Write};

const PATH: &str = "/v1/environments";
/// More than an organization has.
const MOST: u32 = 100;

#[derive(Deserialize)]
struct Page {
    environments: Vec<Item>,
    total: u64,
}

#[derive(Deserialize)]
struct Item {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    size: Option<String>,
    #[serde(default)]
    variables: BTreeMap<String, Value>,
    #[serde(default)]
    secrets: Vec<Value>,
}

/// Does what is asked.
pub async fn run(client: &Client, action: &Action, output: &Output) -> Result<(), Failure> {
    match action {
        Action::List => list(client, output).await,
        Action::Show(wanted) => show(client, wanted, output).await,
        Action::Create(wanted) => {
            let mut body = body(wanted)?;
            body["name"] = Value::String(wanted.name.clone());
            let made = client.post(PATH, Some(&body), &idempotency_key(None)).await;
            written(
                &made.map_err(|f| f.of_file(&wanted.file))?,
                "created",
                wanted,
                output,
            )
        }
        Action::Update(wanted) => {
            let put = client.put(&path_of(&wanted.name), &body(wanted)?).await;
            written(
                &put.map_err(|f| f.of_file(&wanted.file))?,
                "replaced",
                wanted,
                output,
            )
        }
        Action::Delete(wanted) => {
            client.delete(&path_of(&wanted.name)).await?;
            output.remark(&format!("deleted {}", clean_line(&wanted.name)));
            Ok(())
        }
        Action::SetSecret(named) => {
            let value = hidden_input::read(&format!("Value of {}", named.secret)).await?;
            let body = json!({ "value": value });
            client.put(&path_of_secret(named), &body).await?;
            output.remark(&format!("set {}", clean_line(&named.secret)));
            Ok(())
        }
        Action::DeleteSecret(named) => {
            client.delete(&path_of_secret(named)).await?;
            let name = clean_line(&named.secret);
            output.remark(&format!("deleted the value of {name}"));
            Ok(())
        }
    }
}

fn path_of(name: &str) -> String {
    format!("{PATH}/{}", segment(name))
}

fn path_of_secret(named: &OneSecret) -> String {
    format!(
        "{}/secrets/{}",
        path_of(&named.name),
        segment(&named.secret)
    )
}

fn body(wanted: &Write) -> Result<Value, Failure> {
    let fields = [("description", &wanted.description)];
    Ok(document::with(document::read(&wanted.file)?, &fields))
}

async fn list(client: &Client, output: &Output) -> Result<(), Failure> {
    let text = client.get(PATH, &[("limit", MOST.to_string())]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let page: Page = answers::read(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("environment", 0),
        Column::whole("size", 1),
        Column::number("variables", 2),
        Column::number("secrets", 2),
        Column::cut("description", 0),
    ]);
    for item in &page.environments {
        grid.row(vec![
            Entry::text(&item.name),
            Entry::text(item.size.as_deref().unwrap_or_default()),
            Entry::text(item.variables.len().to_string()),
            Entry::text(item.secrets.len().to_string()),
            Entry::text(&item.description),
        ]);
    }
    grid.show(page.total, "environments", output)
}

async fn show(client: &Client, wanted: &One, output: &Output) -> Result<(), Failure> {
    let text = client.get(&path_of(&wanted.name), &[]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let environment: Value = answers::read(&text)?;
    document::pretty(&environment)
        .iter()
        .try_for_each(|line| output.line(line))
}

fn written(text: &str, what: &str, wanted: &Write, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let name = clean_line(&wanted.name);
    output.line(&format!("{what} {name}"))?;
    let environment: Value = answers::read(text)?;
    let named = |list: &str, member: &'static str| {
        let items = environment[list].as_array().cloned().unwrap_or_default();
        items
            .into_iter()
            .map(move |item| clean_line(item[member].as_str().unwrap_or_default()))
    };
    let secrets: BTreeSet<String> = named("secrets", "name")
        .chain(named("registries", "secret"))
        .collect();
    for secret in secrets {
        output.hint(&format!(
            "To set the value of {secret}: awo environments set-secret {name} {secret}"
        ))?;
    }
    output.hint(&format!("To use it: awo submit --environment {name} …"))
}
