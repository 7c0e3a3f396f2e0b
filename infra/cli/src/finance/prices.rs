//! `awo finance prices`: what models and compute cost.

use serde::Deserialize;

use super::arguments::PricesWanted;
use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;

const PATH: &str = "/v1/prices";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    version: String,
    credits_per_usd: f64,
    credits_per_minute: f64,
    models: Vec<Model>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    model: String,
    provider: String,
    source: String,
    input_usd_per_million: f64,
    cached_input_usd_per_million: Option<f64>,
    output_usd_per_million: f64,
}

/// Shows the price list, or the models in whose names a text is.
pub async fn show(client: &Client, wanted: &PricesWanted, output: &Output) -> Result<(), Failure> {
    let text = client.get(PATH, &[]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let answer: Answer = answers::read(&text)?;
    let part = wanted.model.as_deref().unwrap_or_default();
    let mut grid = Grid::new(&[
        Column::cut("model", 0),
        Column::whole("provider", 1),
        Column::number("input", 0),
        Column::number("cached", 1),
        Column::number("output", 0),
        Column::whole("source", 2),
    ]);
    for model in answer.models.iter().filter(|of| of.model.contains(part)) {
        let cached = model.cached_input_usd_per_million;
        grid.row(vec![
            Entry::text(&model.model),
            Entry::text(&model.provider),
            Entry::text(model.input_usd_per_million),
            Entry::text(cached.unwrap_or(model.input_usd_per_million)),
            Entry::text(model.output_usd_per_million),
            Entry::text(&model.source),
        ]);
    }
    grid.show_rows("prices", output)?;
    if output.is_for_programs() {
        return Ok(());
    }
    output.line("")?;
    field(output, "unit", "US dollars for a million tokens")?;
    field(output, "price list", clean_line(&answer.version))?;
    field(
        output,
        "a dollar",
        format!("{} credits", answer.credits_per_usd),
    )?;
    let minute = answer.credits_per_minute;
    field(output, "compute", format!("{minute} credits a minute"))
}
