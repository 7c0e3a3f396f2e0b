//! `awo profiles`: named configurations of runs.

pub mod arguments;

use serde::Deserialize;
use serde_json::Value;

use crate::answers;
use crate::client::{Client, segment};
use crate::document;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::submit::idempotency_key;
use arguments::{Action, Show, Write};

const PATH: &str = "/api/v1/profiles";

#[derive(Deserialize)]
struct Page {
    items: Vec<Item>,
    total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    extends: Option<String>,
    is_built_in: bool,
}

/// Does what is asked.
pub async fn run(client: &Client, action: &Action, output: &Output) -> Result<(), Failure> {
    match action {
        Action::List => list(client, output).await,
        Action::Show(wanted) => show(client, wanted, output).await,
        Action::Create(wanted) => {
            let (mut body, path) = (body(wanted)?, PATH.to_owned());
            body["name"] = Value::String(wanted.name.clone());
            let made = client
                .post(&path, Some(&body), &idempotency_key(None))
                .await;
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
        Action::Validate(wanted) => validate(client, wanted, output).await,
        Action::Delete(wanted) => {
            client.delete(&path_of(&wanted.name)).await?;
            output.remark(&format!("deleted {}", clean_line(&wanted.name)));
            Ok(())
        }
    }
}

fn path_of(name: &str) -> String {
    format!("{PATH}/{}", segment(name))
}

fn body(wanted: &Write) -> Result<Value, Failure> {
    let fields = [
        ("description", &wanted.description),
        ("extends", &wanted.extends),
    ];
    Ok(document::with(document::read(&wanted.file)?, &fields))
}

async fn list(client: &Client, output: &Output) -> Result<(), Failure> {
    let text = client.get(PATH, &[]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let page: Page = answers::data(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("profile", 0),
        Column::whole("extends", 1),
        Column::whole("built-in", 2),
        Column::cut("description", 0),
    ]);
    for item in &page.items {
        grid.row(vec![
            Entry::text(&item.name),
            Entry::text(item.extends.as_deref().unwrap_or_default()),
            Entry::text(if item.is_built_in { "yes" } else { "no" }),
            Entry::text(&item.description),
        ]);
    }
    grid.show(page.total, "profiles", output)
}

async fn show(client: &Client, wanted: &Show, output: &Output) -> Result<(), Failure> {
    let resolve = wanted.resolve.then(|| ("resolve", "true".to_owned()));
    let query: Vec<_> = resolve.into_iter().collect();
    let text = client.get(&path_of(&wanted.name), &query).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let profile: Value = answers::data(&text)?;
    document::pretty(&profile)
        .iter()
        .try_for_each(|line| output.line(line))
}

fn written(text: &str, what: &str, wanted: &Write, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let name = clean_line(&wanted.name);
    output.line(&format!("{what} {name}"))?;
    output.hint(&format!("To use it: awo submit --harness {name} …"))
}

async fn validate(client: &Client, wanted: &Write, output: &Output) -> Result<(), Failure> {
    let path = format!("{}/validate", path_of(&wanted.name));
    let checked = client
        .post(&path, Some(&body(wanted)?), &idempotency_key(None))
        .await;
    let text = checked.map_err(|f| f.of_file(&wanted.file))?;
    let verdict: Value = answers::data(&text)?;
    let is_valid = verdict["valid"].as_bool() == Some(true);
    if output.is_json() {
        output.line(&text)?;
    } else {
        for (name, paint) in [("errors", true), ("warnings", false)] {
            for finding in verdict[name].as_array().into_iter().flatten() {
                let finding = finding
                    .as_str()
                    .map_or_else(|| finding.to_string(), str::to_owned);
                let finding = clean_line(&finding);
                output.line(&if paint {
                    output.paint.bad(&finding)
                } else {
                    output.paint.warn(&finding)
                })?;
            }
        }
        if is_valid {
            output.line(&output.paint.good("valid"))?;
        }
    }
    if is_valid {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}
