//! Reports of Anthropic (`/v1/organizations/usage_report/messages` and `/v1/organizations/cost_report`) and
//! OpenAI (`/v1/organization/usage/completions` and `/v1/organization/costs`), as their APIs answer them: a
//! file has one answer or several, usage and cost in any order, each a page or an array of pages.

use std::collections::BTreeMap;
use std::path::PathBuf;

use awo_domain::Timestamp;
use awo_domain::cost::report::month as month_of;
use serde_json::{Deserializer, Value};

use crate::failure::Failure;

use super::arguments::Provider;

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 64 * 1_024 * 1_024;
/// Places of a dollar in our report; a cent has two fewer.
const NANO_PLACES: usize = 9;
const CENT_PLACES: usize = 7;

/// The usage of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProviderUsage {
    /// All input tokens.
    pub input_tokens: i64,
    /// Output tokens.
    pub output_tokens: i64,
    /// Billionths of a dollar; none where the report has no dollars.
    pub usd_nano: Option<i64>,
}

impl ProviderUsage {
    /// Adds more.
    pub fn add(&mut self, more: &ProviderUsage) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.usd_nano = match (self.usd_nano, more.usd_nano) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
    }

    /// Input and output.
    pub fn tokens(&self) -> i64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// The files' usage of a month, by day and model.
pub fn read(
    provider: Provider,
    files: &[PathBuf],
    month: &str,
) -> Result<BTreeMap<(String, String), ProviderUsage>, Failure> {
    let (from, to) = bounds(month)?;
    let mut rows = BTreeMap::new();
    for file in files {
        let wrong = |why: String| Failure::Usage(format!("{}: {why}", file.display()));
        let size = std::fs::metadata(file).map_err(|error| wrong(error.to_string()))?;
        if size.len() > MAX_FILE {
            return Err(wrong(format!("is larger than {MAX_FILE} bytes")));
        }
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        for document in Deserializer::from_str(&text).into_iter::<Value>() {
            let document = document.map_err(|error| wrong(format!("is no JSON: {error}")))?;
            let pages = match document {
                Value::Array(pages) => pages,
                page => vec![page],
            };
            for page in pages {
                add_page(provider, &page, (&from, &to), &mut rows).map_err(&wrong)?;
            }
        }
    }
    Ok(rows)
}

/// The first days of a month and of the next.
pub fn bounds(month: &str) -> Result<(String, String), Failure> {
    let first = Timestamp::parse_bound(&format!("{month}-01"));
    let first = first.ok().filter(|_| month.len() == "2026-11".len());
    let first = first.ok_or_else(|| {
        Failure::Usage(format!("--month {month}: must be a month such as 2026-11"))
    })?;
    Ok((first.day(), month_of(first, 1).day()))
}

fn add_page(
    provider: Provider,
    page: &Value,
    (from, to): (&str, &str),
    rows: &mut BTreeMap<(String, String), ProviderUsage>,
) -> Result<(), String> {
    let buckets = page["data"].as_array();
    let buckets = buckets.ok_or("is no answer of a usage or cost report: it has no data")?;
    for bucket in buckets {
        let day = day(provider, bucket)?;
        if day.as_str() < from || day.as_str() >= to {
            continue;
        }
        let results = bucket["results"].as_array();
        for result in results.ok_or("has a bucket without results")? {
            let (model, used) = match provider {
                Provider::Anthropic => anthropic(result)?,
                Provider::Openai => openai(result)?,
            };
            rows.entry((day.clone(), plain(&model)))
                .or_default()
                .add(&used);
        }
    }
    Ok(())
}

fn day(provider: Provider, bucket: &Value) -> Result<String, String> {
    let at = match provider {
        Provider::Anthropic => bucket["starting_at"]
            .as_str()
            .and_then(|at| Timestamp::parse(at).ok()),
        Provider::Openai => bucket["start_time"]
            .as_i64()
            .map(|s| Timestamp::from_epoch_ms(s.saturating_mul(1_000))),
    };
    at.map(|at| at.day())
        .ok_or_else(|| format!("has a bucket without a start, as {provider:?} writes it"))
}

/// Tokens of a usage report, or cents of a cost report.
fn anthropic(result: &Value) -> Result<(String, ProviderUsage), String> {
    let model = |why: &str| {
        result["model"]
            .as_str()
            .map(str::to_owned)
            .ok_or(why.to_owned())
    };
    if let Some(amount) = result.get("amount") {
        let amount = amount.as_str().ok_or("has an amount that is no text")?;
        let used = ProviderUsage {
            usd_nano: Some(
                nano(amount, CENT_PLACES).map_err(|_| format!("has the amount {amount}"))?,
            ),
            ..ProviderUsage::default()
        };
        let of = result["cost_type"].as_str().unwrap_or("tokens");
        return match of {
            "tokens" => Ok((
                model("has costs without a model: ask for group_by[]=description")?,
                used,
            )),
            other => Ok((result["model"].as_str().unwrap_or(other).to_owned(), used)),
        };
    }
    let count = |value: &Value| value.as_i64().unwrap_or(0);
    let written = result["cache_creation"].as_object();
    let written: i64 = written
        .into_iter()
        .flat_map(|of| of.values())
        .map(count)
        .sum();
    let read = count(&result["uncached_input_tokens"]) + count(&result["cache_read_input_tokens"]);
    let used = ProviderUsage {
        input_tokens: read + written,
        output_tokens: count(&result["output_tokens"]),
        usd_nano: None,
    };
    Ok((
        model("has usage without a model: ask for group_by[]=model")?,
        used,
    ))
}

/// Tokens of a usage report, or dollars of a cost report.
fn openai(result: &Value) -> Result<(String, ProviderUsage), String> {
    if let Some(amount) = result.get("amount") {
        let value = match &amount["value"] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Err("has an amount without a value".to_owned()),
        };
        if amount["currency"].as_str() != Some("usd") {
            return Err("has an amount that is not in usd".to_owned());
        }
        let item = result["line_item"].as_str();
        let item = item.ok_or("has costs without a line item: ask for group_by=line_item")?;
        let model = item.split(',').next().unwrap_or(item).trim();
        let usd_nano = nano(&value, NANO_PLACES).map_err(|_| format!("has the amount {value}"))?;
        let used = ProviderUsage {
            usd_nano: Some(usd_nano),
            ..ProviderUsage::default()
        };
        return Ok((model.to_owned(), used));
    }
    let count = |name: &str| result[name].as_i64().unwrap_or(0);
    let model = result["model"].as_str();
    let model = model.ok_or("has usage without a model: ask for group_by=model")?;
    let used = ProviderUsage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        usd_nano: None,
    };
    Ok((model.to_owned(), used))
}

/// A model's name without its version's date, which one side may name and the other not.
pub fn plain(model: &str) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = model.split('-').collect();
    let parts_left = match parts.as_slice() {
        [.., year, month, day]
            if year.len() == 4
                && month.len() == 2
                && day.len() == 2
                && [year, month, day].into_iter().all(|part| digits(part)) =>
        {
            parts.len() - 3
        }
        [.., date] if date.len() == 8 && digits(date) => parts.len() - 1,
        [.., "latest"] => parts.len() - 1,
        _ => parts.len(),
    };
    match parts_left {
        0 => model.to_owned(),
        parts_left => parts[..parts_left].join("-"),
    }
}

/// A decimal as whole units of so many places; what is beyond them is rounded.
pub fn nano(text: &str, places: usize) -> Result<i64, Failure> {
    let wrong = || Failure::Broken(format!("{text} is no amount"));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| wrong())?;
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, mantissa),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all: i128 = format!("{whole}{part}").parse().map_err(|_| wrong())?;
    let shift = i32::try_from(places).unwrap_or(0) + exponent
        - i32::try_from(part.len()).unwrap_or(i32::MAX);
    let power = |by: i32| 10_i128.checked_pow(by.unsigned_abs());
    let units = match (shift >= 0, power(shift)) {
        (true, Some(power)) => all.checked_mul(power),
        (false, Some(power)) => Some((all + power / 2) / power),
        (true, None) => None,
        (false, None) => Some(0),
    };
    let units = units.and_then(|units| i64::try_from(units * sign).ok());
    units.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_names_lose_their_dates() {
        for (text, places, wanted) in [
            ("123.45", 7, 1_234_500_000),
            ("0.06", 9, 60_000_000),
            ("6e-7", 9, 600),
            ("0", 9, 0),
            ("-1.5", 9, -1_500_000_000),
            ("0.0000000004", 9, 0),
            ("2E2", 9, 200_000_000_000),
        ] {
            assert_eq!(nano(text, places).unwrap(), wanted, "{text}");
        }
        assert!(nano("much", 9).is_err() && nano("1e99", 9).is_err());
        for (model, wanted) in [
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
            ("gpt-4.1", "gpt-4.1"),
            ("20250929", "20250929"),
        ] {
            assert_eq!(plain(model), wanted);
        }
    }
}
