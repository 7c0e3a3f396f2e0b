//! Usage as CSV (RFC 4180), by day and model.
//!
//! A row without a model has its day's executions and duration, which models share and which
//! therefore cannot be added up over them. Tokens and cost are only in the models' rows. So
//! durations, tokens and costs can be added up over all rows, and executions over those of days.

use awo_domain::csv::cell;
use awo_store::costs::sums::UsageSummary;

const HEADER: &str = "day,model,executionCount,durationMs,inputTokens,outputTokens,\
                      cachedInputTokens,costUsd,unpricedExecutions\r\n";
/// Billionths in a dollar.
const NANO: u64 = 1_000_000_000;

/// The whole file.
pub fn text(summary: &UsageSummary) -> String {
    let mut text = HEADER.to_owned();
    for (day, sums) in &summary.days {
        text += &format!("{day},,{},{},,,,,\r\n", sums.runs, sums.duration_ms);
        for (model, sums) in &sums.models {
            text += &format!(
                "{day},{},{},,{},{},{},{},{}\r\n",
                cell(model),
                sums.runs,
                sums.input_tokens,
                sums.output_tokens,
                sums.cached_input_tokens,
                usd(sums.cost_usd_nano),
                sums.unpriced_runs
            );
        }
    }
    text
}

/// Exact, without an exponent.
pub fn usd(nano: i64) -> String {
    let (sign, nano) = (if nano < 0 { "-" } else { "" }, nano.unsigned_abs());
    let text = format!("{sign}{}.{:09}", nano / NANO, nano % NANO);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use awo_store::costs::sums::{DaySums, ModelSums};

    #[test]
    fn dollars_are_written_out() {
        for (nano, text) in [
            (0, "0"),
            (1, "0.000000001"),
            (1_500_000_000, "1.5"),
            (-20_000_000_000, "-20"),
        ] {
            assert_eq!(usd(nano), text);
        }
    }

    #[test]
    fn a_day_has_a_row_of_its_own_and_one_for_each_model() {
        let model = ModelSums {
            runs: 2,
            input_tokens: 10,
            output_tokens: 5,
            cached_input_tokens: 4,
            cost_usd_nano: 30_000_000,
            unpriced_runs: 0,
        };
        let day = DaySums {
            runs: 3,
            duration_ms: 4_000,
            models: [("m".to_owned(), model)].into(),
        };
        let summary = UsageSummary {
            days: [("2026-11-20".to_owned(), day)].into(),
            ..UsageSummary::default()
        };
        let rows = "2026-11-20,,3,4000,,,,,\r\n2026-11-20,m,2,,10,5,4,0.03,0\r\n";
        assert_eq!(text(&summary), format!("{HEADER}{rows}"));
    }
}
