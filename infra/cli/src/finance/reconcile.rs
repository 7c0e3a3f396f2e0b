//! `awo finance reconcile`: a provider's report against ours, by day and model. Tokens and dollars are
//! compared apart: tokens that agree and dollars that do not mean another price list, tokens that do not
//! agree mean calls that the other side did not see.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;

use super::arguments::{Provider, Reconcile};
use super::provider_report::{self, ProviderUsage};

const PATH: &str = "/v1/usage/report";
/// Most pages of our report.
const MAX_PAGES: usize = 1_000;
/// All of it, in per cent.
const WHOLE: f64 = 100.0;

/// The key of a row: a day, or the whole month, and a model.
type Rows = BTreeMap<(String, String), ProviderUsage>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    rows: Vec<Row>,
    next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    bucket: String,
    group: BTreeMap<String, String>,
    input_tokens: i64,
    output_tokens: i64,
    model_usd: f64,
}

/// The finding of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    Agrees,
    /// Tokens agree, dollars do not.
    Prices,
    /// The provider has tokens that we do not.
    CallsElsewhere,
    /// We have tokens that the provider does not.
    CallsUnknown,
}

/// Both sides, and by how many per cent of theirs ours differ.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Comparison {
    ours: ProviderUsage,
    theirs: ProviderUsage,
    tokens_error: f64,
    /// None where the provider's report has no dollars.
    dollars_error: Option<f64>,
}

/// Compares; a failure if a model's month differs by more than is tolerated.
pub async fn run(client: &Client, wanted: &Reconcile, output: &Output) -> Result<(), Failure> {
    let theirs = provider_report::read(wanted.provider, &wanted.file, &wanted.month)?;
    let mut ours = ours(client, wanted).await?;
    ours.retain(|(_, model), _| {
        is_of(wanted.provider, model) || theirs.keys().any(|(_, of)| of == model)
    });
    let days = compared(&ours, &theirs);
    let months = compared(
        &of_month(&ours, &wanted.month),
        &of_month(&theirs, &wanted.month),
    );
    let findings: Vec<Finding> = months
        .values()
        .map(|of| of.finding(wanted.tolerance))
        .collect();
    if output.is_json() {
        let row = |((period, model), of): (&(String, String), &Comparison)| {
            of.json(period, model, wanted.tolerance)
        };
        let shown = json!({
            "month": wanted.month,
            "tolerance": wanted.tolerance,
            "models": months.iter().map(row).collect::<Vec<_>>(),
            "days": days.iter().map(row).collect::<Vec<_>>(),
        });
        output.line(&shown.to_string())?;
    } else {
        show(&months, &days, wanted, output)?;
    }
    if findings.iter().all(|finding| *finding == Finding::Agrees) {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}

/// What our report has of the month, by day and model.
async fn ours(client: &Client, wanted: &Reconcile) -> Result<Rows, Failure> {
    let (from, to) = provider_report::bounds(&wanted.month)?;
    let query = vec![
        ("from", from),
        ("to", to),
        ("groupBy", "model".to_owned()),
        ("bucket", "day".to_owned()),
        ("limit", "100".to_owned()),
    ];
    let (mut rows, mut cursor) = (Rows::new(), None::<String>);
    for _ in 0..MAX_PAGES {
        let mut query = query.clone();
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let page: Page = answers::read(&client.get(PATH, &query).await?)?;
        for row in page.rows {
            let model = row.group.get("model").cloned().unwrap_or_default();
            // Compute, and what no model is known of.
            if model.starts_with('(') {
                continue;
            }
            let sums = rows
                .entry((row.bucket, provider_report::plain(&model)))
                .or_default();
            sums.add(&ProviderUsage {
                input_tokens: row.input_tokens,
                output_tokens: row.output_tokens,
                usd_nano: Some(provider_report::nano(&row.model_usd.to_string(), 9)?),
            });
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(rows);
        }
    }
    Err(Failure::Broken("the report has too many rows".to_owned()))
}

/// Whether a model is one that the provider sells.
fn is_of(provider: Provider, model: &str) -> bool {
    let names: &[&str] = match provider {
        Provider::Anthropic => &["claude"],
        Provider::Openai => &[
            "gpt-",
            "chatgpt-",
            "o1",
            "o3",
            "o4",
            "codex-",
            "computer-use-",
            "text-embedding-",
        ],
    };
    names.iter().any(|name| model.starts_with(name))
}

fn of_month(rows: &Rows, month: &str) -> Rows {
    let mut sums = Rows::new();
    for ((_, model), used) in rows {
        let key = (month.to_owned(), model.clone());
        sums.entry(key).or_default().add(used);
    }
    sums
}

fn compared(ours: &Rows, theirs: &Rows) -> BTreeMap<(String, String), Comparison> {
    let keys = ours.keys().chain(theirs.keys()).cloned();
    let has_dollars = theirs.values().any(|used| used.usd_nano.is_some());
    let compare = |key: (String, String)| {
        let of = |rows: &Rows| rows.get(&key).copied().unwrap_or_default();
        let compared = Comparison::of(of(ours), of(theirs), has_dollars);
        (key, compared)
    };
    keys.map(compare).collect()
}

impl Comparison {
    fn of(ours: ProviderUsage, theirs: ProviderUsage, has_dollars: bool) -> Comparison {
        let input = error(ours.input_tokens, theirs.input_tokens);
        let output = error(ours.output_tokens, theirs.output_tokens);
        let larger = if input.abs() > output.abs() {
            input
        } else {
            output
        };
        let dollars = error(ours.usd_nano.unwrap_or(0), theirs.usd_nano.unwrap_or(0));
        Comparison {
            ours,
            theirs,
            tokens_error: larger,
            dollars_error: has_dollars.then_some(dollars),
        }
    }

    fn finding(&self, tolerance: f64) -> Finding {
        let dollars = self.dollars_error.unwrap_or(0.0);
        match (
            self.tokens_error.abs() > tolerance,
            dollars.abs() > tolerance,
        ) {
            (true, _) if self.tokens_error < 0.0 => Finding::CallsElsewhere,
            (true, _) => Finding::CallsUnknown,
            (false, true) => Finding::Prices,
            (false, false) => Finding::Agrees,
        }
    }

    fn json(&self, period: &str, model: &str, tolerance: f64) -> serde_json::Value {
        let side = |of: &ProviderUsage| json!({ "inputTokens": of.input_tokens, "outputTokens": of.output_tokens, "usd": of.usd_nano.map(dollars) });
        json!({
            "period": period,
            "model": model,
            "ours": side(&self.ours),
            "theirs": side(&self.theirs),
            "tokensErrorPercent": self.tokens_error,
            "usdErrorPercent": self.dollars_error,
            "finding": self.finding(tolerance).name(),
        })
    }
}

impl Finding {
    fn name(self) -> &'static str {
        match self {
            Finding::Agrees => "agrees",
            Finding::Prices => "prices-differ",
            Finding::CallsElsewhere => "calls-elsewhere",
            Finding::CallsUnknown => "calls-unknown",
        }
    }

    fn advice(self) -> Option<&'static str> {
        match self {
            Finding::Agrees => None,
            Finding::Prices => Some(
                "tokens agree and dollars do not: the price lists differ; a discount, or a price of the operator's own",
            ),
            Finding::CallsElsewhere => Some(
                "the provider counts more tokens: calls with this provider's account did not come through this service",
            ),
            Finding::CallsUnknown => Some(
                "this service counts more tokens: the provider's report is of another account or period, or an agent reported usage of itself",
            ),
        }
    }
}

/// By how many per cent of theirs ours differ; all of it, where they have none.
#[expect(clippy::cast_precision_loss, reason = "a share is shown, not added up")]
fn error(ours: i64, theirs: i64) -> f64 {
    match (ours, theirs) {
        (0, 0) => 0.0,
        (_, 0) => WHOLE,
        (ours, theirs) => (ours - theirs) as f64 * WHOLE / theirs as f64,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "dollars are shown, not added up"
)]
fn dollars(nano: i64) -> f64 {
    nano as f64 / 1e9
}

fn show(
    months: &BTreeMap<(String, String), Comparison>,
    days: &BTreeMap<(String, String), Comparison>,
    wanted: &Reconcile,
    output: &Output,
) -> Result<(), Failure> {
    let mut grid = Grid::new(&[
        Column::whole("period", 0),
        Column::cut("model", 0),
        Column::number("tokens", 1),
        Column::number("theirs", 1),
        Column::number("error %", 0),
        Column::number("USD", 1),
        Column::number("theirs USD", 1),
        Column::number("USD error %", 0),
        Column::whole("finding", 0),
    ]);
    // First the month, then the days on which something differs.
    let differs = |of: &&Comparison| of.finding(wanted.tolerance) != Finding::Agrees;
    let days = days.iter().filter(|(_, of)| differs(of));
    for ((period, model), of) in months.iter().chain(days) {
        let usd = |used: &ProviderUsage| {
            used.usd_nano
                .map_or("–".to_owned(), |nano| format!("{:.4}", dollars(nano)))
        };
        grid.row(vec![
            Entry::text(period),
            Entry::text(model),
            Entry::text(of.ours.tokens()),
            Entry::text(of.theirs.tokens()),
            Entry::text(format!("{:+.2}", of.tokens_error)),
            Entry::text(usd(&of.ours)),
            Entry::text(usd(&of.theirs)),
            Entry::text(
                of.dollars_error
                    .map_or("–".to_owned(), |error| format!("{error:+.2}")),
            ),
            Entry::text(of.finding(wanted.tolerance).name()),
        ]);
    }
    grid.show_rows("models", output)?;
    for ((_, model), of) in months {
        if let Some(advice) = of.finding(wanted.tolerance).advice() {
            output.remark(&format!("{}: {advice}", crate::paint::clean_line(model)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_agree_and_dollars_that_do_not_are_another_case_than_tokens_that_do_not() {
        let used = |tokens: i64, usd: i64| ProviderUsage {
            input_tokens: tokens,
            output_tokens: 10,
            usd_nano: Some(usd),
        };
        for (ours, theirs, finding) in [
            (used(100, 500), used(100, 500), Finding::Agrees),
            (used(100, 500), used(100, 600), Finding::Prices),
            (used(100, 500), used(150, 750), Finding::CallsElsewhere),
            (used(100, 500), used(150, 500), Finding::CallsElsewhere),
            (used(150, 750), used(100, 500), Finding::CallsUnknown),
            (
                used(100, 500),
                ProviderUsage::default(),
                Finding::CallsUnknown,
            ),
        ] {
            let compared = Comparison::of(ours, theirs, true);
            assert_eq!(compared.finding(1.0), finding, "{compared:?}");
        }
        let without = Comparison::of(used(100, 500), used(100, 0), false);
        assert_eq!(without.finding(0.0), Finding::Agrees);
        assert_eq!(
            Comparison::of(used(99, 1), used(100, 1), true).finding(1.0),
            Finding::Agrees
        );
    }
}
