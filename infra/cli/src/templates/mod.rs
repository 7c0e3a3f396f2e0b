//! `awo templates`: workspace sources with variables.

pub mod arguments;

use serde::Deserialize;
use serde_json::Value;

use crate::answers;
use crate::client::{Client, segment};
use crate::document;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::list::{items, pages};
use crate::output::Output;
use crate::paint::clean_line;
use crate::submit::idempotency_key;
use arguments::{Action, List, One, Write};

const PATH: &str = "/v1/templates";

#[derive(Deserialize)]
struct Template {
    id: String,
    name: String,
    #[serde(default)]
    source: Source,
    #[serde(default)]
    variables: Vec<Variable>,
}

#[derive(Default, Deserialize)]
struct Source {
    #[serde(default)]
    repository: String,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
}

/// Does what is asked.
pub async fn run(client: &Client, action: &Action, output: &Output) -> Result<(), Failure> {
    match action {
        Action::List(wanted) => list(client, wanted, output).await,
        Action::Show(wanted) => show(client, wanted, output).await,
        Action::Create(wanted) => {
            let mut body = body(wanted)?;
            body["id"] = Value::String(wanted.id.clone());
            let made = client.post(PATH, Some(&body), &idempotency_key(None)).await;
            written(
                &made.map_err(|f| f.of_file(&wanted.file))?,
                "created",
                wanted,
                output,
            )
        }
        Action::Update(wanted) => {
            let put = client.put(&path_of(&wanted.id), &body(wanted)?).await;
            written(
                &put.map_err(|f| f.of_file(&wanted.file))?,
                "changed",
                wanted,
                output,
            )
        }
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

fn body(wanted: &Write) -> Result<Value, Failure> {
    let fields = [("name", &wanted.name), ("description", &wanted.description)];
    Ok(document::with(document::read(&wanted.file)?, &fields))
}

async fn list(client: &Client, wanted: &List, output: &Output) -> Result<(), Failure> {
    let text = pages(client, PATH, "templates", Vec::new(), &wanted.part).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let (templates, total): (Vec<Template>, u64) = items(&text, "templates")?;
    let mut grid = Grid::new(&[
        Column::whole("template", 0),
        Column::cut("name", 1),
        Column::cut("repository", 0),
        Column::cut("variables", 0),
    ]);
    for template in &templates {
        let variables: Vec<&str> = template.variables.iter().map(|v| v.name.as_str()).collect();
        grid.row(vec![
            Entry::text(&template.id),
            Entry::text(&template.name),
            Entry::text(&template.source.repository),
            Entry::text(variables.join(" ")),
        ]);
    }
    grid.show(total, "templates", output)
}

async fn show(client: &Client, wanted: &One, output: &Output) -> Result<(), Failure> {
    let text = client.get(&path_of(&wanted.id), &[]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let template: Value = answers::read(&text)?;
    document::pretty(&template)
        .iter()
        .try_for_each(|line| output.line(line))
}

fn written(text: &str, what: &str, wanted: &Write, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let id = clean_line(&wanted.id);
    output.line(&format!("{what} {id}"))?;
    output.hint(&format!("To use it: awo submit --template {id} …"))
}
