//! `awo checks`: every check of every verification of a run, in full.

use awo_domain::RunId;
use awo_domain::event::TimelineEventType as T;
use serde_json::{Value, json};

use crate::answers::{self, Event, Events};
use crate::arguments;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::{Paint, clean_line, plain};
use crate::reference;
use crate::screen::Screen;

/// Most pages of events that are read.
const MAX_PAGES: u32 = 10_000;

/// Shows the checks.
pub async fn run(
    client: &Client,
    wanted: &arguments::Checks,
    output: &Output,
) -> Result<(), Failure> {
    let run = reference::run(client, &wanted.id).await?;
    let reading = format!("reading the checks of {run}");
    let mut events = Screen::during(output, reading, verifications(client, &run)).await?;
    if let Some(wanted) = wanted.iteration {
        events.retain(|event| event.data["iteration"].as_u64() == Some(u64::from(wanted)));
    }
    if output.is_json() {
        let all: Vec<Value> = events.into_iter().map(|event| event.data).collect();
        return output.line(&json!({ "verifications": all }).to_string());
    }
    if events.is_empty() {
        return output.line(&format!("no verification of {run} to show"));
    }
    for event in &events {
        for line in lines(event, output.paint) {
            output.line(&line)?;
        }
    }
    Ok(())
}

async fn verifications(client: &Client, run: &RunId) -> Result<Vec<Event>, Failure> {
    let (mut found, mut after) = (Vec::new(), 0);
    for _ in 0..MAX_PAGES {
        let query = [("after", after.to_string())];
        let text = client
            .get(&format!("/v1/runs/{run}/events"), &query)
            .await?;
        let page: Events = answers::read(&text)?;
        let is_over = |event: &Event| {
            matches!(
                event.known_type(),
                Some(T::VerificationPassed | T::VerificationFailed | T::VerificationBaseline)
            )
        };
        found.extend(page.events.into_iter().filter(is_over));
        if !page.has_more || page.last_sequence <= after {
            break;
        }
        after = page.last_sequence;
    }
    Ok(found)
}

fn lines(event: &Event, paint: Paint) -> Vec<String> {
    let data = &event.data;
    let text = |of: &Value, name: &str| clean_line(of[name].as_str().unwrap_or_default());
    let which = match data["iteration"].as_u64() {
        Some(number) => format!("iteration {number}"),
        None => "baseline".to_owned(),
    };
    let mut lines = vec![paint.strong(&format!("── {which}: {} ──", text(data, "summary")))];
    lines.extend(lines_of(data, paint));
    lines
}

/// The checks of a verification, one after the other.
pub fn lines_of(data: &Value, paint: Paint) -> Vec<String> {
    let text = |of: &Value, name: &str| clean_line(of[name].as_str().unwrap_or_default());
    let mut lines = Vec::new();
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    for result in list(data, "results") {
        let level = text(&result, "level");
        let checks = list(&result, "checks");
        if checks.is_empty() {
            let summary = format!(
                "{level} {:<8} {}",
                text(&result, "status"),
                text(&result, "summary")
            );
            lines.push(paint.faint(&summary));
        }
        for check in checks {
            let status = text(&check, "status");
            let head = format!("{level} {status:<8} {}", text(&check, "name"));
            lines.push(match status.as_str() {
                "failed" | "error" => paint.bad(&head),
                "warning" => paint.warn(&head),
                _ => head,
            });
            let message = plain(check["message"].as_str().unwrap_or_default());
            lines.extend(message.lines().map(|line| format!("    {line}")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_shown_whole() {
        let long = "x\n".repeat(100);
        let data = json!({"iteration": 2, "summary": "s", "results": [
            {"level": "L1", "status": "failed", "checks": [
                {"name": "unit", "status": "failed", "message": long}]},
            {"level": "L2", "status": "skipped", "summary": "not run", "checks": []}]});
        let event = Event {
            sequence: 1,
            kind: "verification.failed".to_owned(),
            timestamp: awo_domain::Timestamp::from_epoch_ms(0),
            data,
            more: serde_json::Map::new(),
        };
        let lines = lines(&event, Paint::of_terminal(false));
        assert_eq!(lines.len(), 1 + 1 + 100 + 1);
        assert_eq!(lines[1], "L1 failed   unit");
    }
}
