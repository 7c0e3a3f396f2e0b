//! A run's timeline as text, one event at a time.

use awo_domain::event::TimelineEventType as T;
use serde::Deserialize;
use serde_json::Value;

use crate::answers::{Event, Tests};
use crate::paint::{Paint, clean_line, shortened};

/// Where a run is that has not begun.
pub const QUEUED: &str = "queued";
/// Most failing checks that are named.
const MAX_CHECKS: usize = 12;
/// Most lines of what an agent wrote that are shown at once.
const MAX_OUTPUT_LINES: usize = 20;
/// Most lines of a check's message.
const MAX_MESSAGE_LINES: usize = 8;
/// Most characters of such a line.
const MAX_LINE: usize = 160;
/// Digits of a commit that distinguish it from others.
const SHORT_COMMIT: usize = 10;

/// The lines of an event: the text after its time, and further lines.
type EventLines = (String, Vec<String>);

/// The lines that an event adds.
pub fn lines(event: &Event, elapsed_ms: i64, paint: Paint) -> Vec<String> {
    let (head, rest) = match T::parse(&event.kind) {
        Some(T::AgentOutput) => return output(&event.data, paint),
        // The events that follow them have the same content.
        Some(T::RunIntegrating | T::RunStarted) => return Vec::new(),
        Some(kind) if kind.is_terminal() => return Vec::new(),
        Some(kind) => shown(kind, &event.data, paint),
        // Of a newer service.
        None => (clean_line(&event.kind), Vec::new()),
    };
    let at = paint.faint(&format!("{:>7}", seconds(elapsed_ms)));
    let mut lines = vec![format!("{at}  {head}")];
    lines.extend(rest);
    lines
}

fn shown(kind: T, data: &Value, paint: Paint) -> EventLines {
    let head = match kind {
        T::RunCreated => "queued".to_owned(),
        T::RunNoCapacity => "queued       no compute is available; the run waits".to_owned(),
        T::RunBuilding => "building     the workspace is being prepared".to_owned(),
        T::RunWaiting => "waiting      for its children to end (awo get shows them)".to_owned(),
        T::RunKillRequested => "killing      its processes get the signal".to_owned(),
        T::WorkspaceReady => return workspace(data, paint),
        T::FollowupReady => format!(
            "  turn {}     from {}",
            data["turn"].as_u64().unwrap_or(0),
            text(data, "from")
        ),
        T::CredentialsIssued => format!("credential   of {}", text(data, "host")),
        T::EnvironmentReady => environment(data),
        T::EnvironmentStep => step(data),
        T::IterationStarted => {
            let iteration = data["iteration"].as_u64().unwrap_or(0);
            paint.strong(&format!("iteration {iteration}"))
        }
        T::IterationCommitted => committed(data),
        T::AgentFinished => agent(data, paint),
        T::ProviderWaiting => {
            let wait = seconds(data["waitMs"].as_i64().unwrap_or(0));
            paint.warn(&format!("  waiting    {wait}: {}", text(data, "reason")))
        }
        T::ProviderResumed => "  resumed    the agent goes on".to_owned(),
        T::ChildrenRefused => paint.bad(&format!("  no children {}", text(data, "reason"))),
        T::ProtectedRestored => {
            let files = names(data, "files");
            paint.warn(&format!("  restored   protected files: {files}"))
        }
        T::IntegrationStarted => {
            let count = data["children"].as_array().map_or(0, Vec::len);
            format!("integrating  the work of {count} children")
        }
        T::IntegrationMerged => format!("  merged     {}", text(data, "workOrderId")),
        T::IntegrationConflict => {
            let merged = match data.get("branch") {
                Some(_) => text(data, "branch"),
                None => text(data, "workOrderId"),
            };
            paint.bad(&format!("  conflict   with {merged}"))
        }
        T::VerificationStarted => format!("  verifying  {}", levels(data)),
        T::VerificationPassed => return passed(data, paint),
        T::VerificationBaseline => {
            let head = format!("baseline     {}", text(data, "summary"));
            return (head, failing_checks(data, paint));
        }
        T::VerificationFailed => {
            let summary = format!("{}{}", text(data, "summary"), tests(data));
            let head = paint.bad(&format!("  failed     {summary}"));
            let mut rest = failing_checks(data, paint);
            rest.extend(remarks(data, paint));
            return (head, rest);
        }
        T::DeliveryStarted => "delivering".to_owned(),
        T::DeliveryFinished => {
            let (branch, url) = (text(data, "branch"), text(data, "prUrl"));
            format!("delivered    {branch} {url}").trim_end().to_owned()
        }
        T::DeliverySkipped => format!("not done     {}", text(data, "reason")),
        T::RunStarted
        | T::RunIntegrating
        | T::RunCompleted
        | T::RunFailed
        | T::RunCancelled
        | T::AgentOutput => kind.as_str().to_owned(),
    };
    (head, Vec::new())
}

fn workspace(data: &Value, paint: Paint) -> EventLines {
    let head = format!("workspace    {} at {}", text(data, "branch"), short(data));
    let missing = data["submodules"].as_array().into_iter().flatten();
    let missing = missing.map(|submodule| {
        let (path, reason) = (text(submodule, "path"), text(submodule, "reason"));
        let line = format!("submodule {path} is missing: {reason}");
        paint.warn(&format!("             ! {}", shortened(&line, MAX_LINE)))
    });
    (head, missing.take(MAX_CHECKS).collect())
}

fn environment(data: &Value) -> String {
    let restored = match names(data, "restored") {
        restored if restored.is_empty() => String::new(),
        restored => format!(", from the cache: {restored}"),
    };
    format!("environment  {} is set up{restored}", text(data, "name"))
}

fn step(data: &Value) -> String {
    let took = seconds(data["durationMs"].as_i64().unwrap_or(0));
    let end = match data["exitCode"].as_i64() {
        Some(0) => String::new(),
        Some(code) => format!(", exit code {code}"),
        None => ", killed".to_owned(),
    };
    format!("  step       {} ({took}{end})", text(data, "name"))
}

fn committed(data: &Value) -> String {
    let files = data["filesChanged"].as_u64().unwrap_or(0);
    let plural = if files == 1 { "file" } else { "files" };
    format!("  commit     {} ({files} {plural} changed)", short(data))
}

/// A verification that passed; what was not verified is no success.
fn passed(data: &Value, paint: Paint) -> EventLines {
    let summary = format!("{}{}", text(data, "summary"), tests(data));
    let head = match data["verified"].as_bool() {
        Some(false) => paint.warn(&format!("  unverified {summary}")),
        _ => paint.good(&format!("  passed     {summary}")),
    };
    (head, remarks(data, paint))
}

/// Remarks on a commit that was verified.
fn remarks(data: &Value, paint: Paint) -> Vec<String> {
    let gate = &data["gate"];
    let behind = gate["behind"].as_u64().filter(|behind| *behind > 0);
    let behind = behind.map(|behind| format!("{behind} commits of the base are missing"));
    let remarks = [
        ("tests changed", names(data, "testsChanged")),
        ("gate changed", names(gate, "gateChanged")),
        ("behind", behind.unwrap_or_default()),
        (
            "not committed, since git ignores them",
            names(data, "ignored"),
        ),
        (
            "not committed, as caches or build output",
            names(data, "litter"),
        ),
        (
            "fails on the base, too",
            names(&data["baseline"], "preExisting"),
        ),
        ("introduced", names(&data["baseline"], "introduced")),
        ("fixed", names(&data["baseline"], "fixed")),
    ];
    let present = remarks.iter().filter(|(_, what)| !what.is_empty());
    present
        .map(|(name, what)| paint.warn(&format!("             ! {name}: {what}")))
        .collect()
}

/// `; tests: 3 passed`, of a verification that counted them.
fn tests(data: &Value) -> String {
    let tests: Option<Tests> = Tests::deserialize(&data["tests"]).ok();
    let words = tests.as_ref().and_then(Tests::words);
    words.map_or_else(String::new, |words| format!("; {words}"))
}

fn names(data: &Value, name: &str) -> String {
    let names = data[name].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    shortened(&names.join(", "), MAX_LINE)
}

/// What the agent wrote, as far as it fits.
fn output(data: &Value, paint: Paint) -> Vec<String> {
    let text = data["text"].as_str().unwrap_or_default();
    let written: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let left_out = written.len().saturating_sub(MAX_OUTPUT_LINES);
    let mut lines = Vec::new();
    if left_out > 0 || data["leftOutBytes"].as_u64().is_some_and(|count| count > 0) {
        lines.push("             …".to_owned());
    }
    let shown = written.into_iter().skip(left_out);
    lines.extend(shown.map(|line| format!("             {}", shortened(line, MAX_LINE))));
    lines.into_iter().map(|line| paint.faint(&line)).collect()
}

fn agent(data: &Value, paint: Paint) -> String {
    let took = seconds(data["durationMs"].as_i64().unwrap_or(0));
    if data["completed"].as_bool() == Some(false) {
        return paint.bad(&format!(
            "  agent      failed after {took}: {}",
            text(data, "reason")
        ));
    }
    let summary = text(data, "summary");
    let summary = if summary.is_empty() {
        summary
    } else {
        format!(": {summary}")
    };
    format!("  agent      done in {took}{summary}")
}

/// The failing checks of a verification, each with the last lines of what was found.
fn failing_checks(data: &Value, paint: Paint) -> Vec<String> {
    let is_bad = |part: &Value| matches!(part["status"].as_str(), Some("failed" | "error"));
    let list = |part: &Value, name: &str| part[name].as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for result in list(data, "results").iter().filter(|r| is_bad(r)) {
        let level = text(result, "level");
        let checks = list(result, "checks");
        let mut bad = checks.iter().filter(|check| is_bad(check)).peekable();
        if bad.peek().is_none() {
            found.push((level.clone(), text(result, "summary"), String::new()));
        }
        for check in bad {
            let message = check["message"].as_str().unwrap_or_default().to_owned();
            found.push((level.clone(), text(check, "name"), message));
        }
    }
    let left_out = found.len().saturating_sub(MAX_CHECKS);
    let mut lines = Vec::new();
    for (level, name, message) in found.into_iter().take(MAX_CHECKS) {
        lines.push(format!(
            "             {} {}",
            paint.bad("✗"),
            paint.strong(&format!("{level} {name}"))
        ));
        lines.extend(quoted(&message).into_iter().map(|line| paint.faint(&line)));
    }
    if left_out > 0 {
        lines.push(format!("             … and {left_out} more"));
    }
    lines
}

fn quoted(message: &str) -> Vec<String> {
    let all: Vec<&str> = message
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    // The first line names the check, the last ones its fault.
    let (first, rest) = all.split_at(all.len().min(1));
    let left_out = all.len().saturating_sub(MAX_MESSAGE_LINES);
    let shown = |line: &&str| format!("                 {}", shortened(line, MAX_LINE));
    let mut lines: Vec<String> = first.iter().map(shown).collect();
    if left_out > 0 {
        lines.push(format!(
            "                 … {left_out} earlier lines (awo checks shows all)"
        ));
    }
    lines.extend(rest.iter().skip(left_out).map(shown));
    lines
}

/// Where the run is from this event on, if that changes.
pub fn place(event: &Event) -> Option<String> {
    let iteration = event.data["iteration"].as_u64().unwrap_or(0);
    match event.known_type()? {
        T::RunCreated | T::RunNoCapacity => Some(QUEUED.to_owned()),
        T::RunBuilding => Some("building".to_owned()),
        T::RunStarted => Some("running".to_owned()),
        T::IterationStarted => Some(format!("agent of iteration {iteration}")),
        T::VerificationStarted => Some(format!("verifying iteration {iteration}")),
        T::RunWaiting => Some("waiting for children".to_owned()),
        T::RunIntegrating => Some("integrating".to_owned()),
        T::DeliveryStarted => Some("delivering".to_owned()),
        _ => None,
    }
}

/// Milliseconds as people read them.
pub fn seconds(ms: i64) -> String {
    let (minutes, tenths) = (ms / 60_000, ms / 100);
    if minutes == 0 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else {
        format!("{minutes} m {:02} s", ms / 1_000 % 60)
    }
}

fn text(data: &Value, name: &str) -> String {
    shortened(data[name].as_str().unwrap_or_default(), MAX_LINE)
}

fn short(data: &Value) -> String {
    text(data, "commit").chars().take(SHORT_COMMIT).collect()
}

fn levels(data: &Value) -> String {
    let levels = data["levels"].as_array().cloned().unwrap_or_default();
    let names: Vec<String> = levels
        .iter()
        .filter_map(Value::as_str)
        .map(clean_line)
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(kind: &str, data: Value) -> Vec<String> {
        let event = Event {
            sequence: 1,
            kind: kind.to_owned(),
            timestamp: awo_domain::Timestamp::from_epoch_ms(0),
            data,
            more: serde_json::Map::new(),
        };
        lines(&event, 1_250, Paint::of_terminal(false))
    }

    #[test]
    fn a_failed_verification_names_what_failed_and_why() {
        let data = json!({"iteration": 1, "overallStatus": "failed", "summary": "1 of 2 failed",
            "results": [
                {"level": "L0", "status": "passed", "checks": [{"name": "lint", "status": "passed", "message": ""}]},
                {"level": "L1", "status": "failed", "checks": [
                    {"name": "ok", "status": "passed", "message": ""},
                    {"name": "adds\u{1b}[2J", "status": "failed", "message": "a\n\nb\nc\nd\ne\nf\ng\nh\ni"}]}]});
        let lines = shown("verification.failed", data);
        assert_eq!(lines[0], "  1.2 s    failed     1 of 2 failed");
        assert_eq!(lines[1].trim(), "✗ L1 adds�[2J");
        assert_eq!(lines.len(), 2 + MAX_MESSAGE_LINES + 1);
        assert!(lines[3].contains("1 earlier lines"), "{lines:?}");
        assert_eq!(lines[10].trim(), "i", "the end is shown");
    }

    #[test]
    fn what_an_agent_writes_is_shown_without_what_would_steer_the_terminal() {
        let text = "[Bash] make\n\n\u{1b}[2Jdone\n";
        let lines = shown("agent.output", json!({"iteration": 1, "text": text}));
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0].trim(), "[Bash] make");
        assert!(!lines[1].contains('\u{1b}'), "{lines:?}");
        let long = "x\n".repeat(MAX_OUTPUT_LINES + 1);
        let lines = shown("agent.output", json!({"text": long, "leftOutBytes": 1}));
        assert_eq!(lines.len(), MAX_OUTPUT_LINES + 1);
    }

    #[test]
    fn events_of_a_newer_service_are_named_and_broken_ones_do_no_harm() {
        assert_eq!(shown("later.kind", json!({})).len(), 1);
        for kind in [
            "verification.failed",
            "agent.finished",
            "iteration.committed",
            "workspace.ready",
        ] {
            assert!(!shown(kind, json!(null)).is_empty(), "{kind}");
        }
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(0), "0.0 s");
        assert_eq!(seconds(59_949), "59.9 s");
        assert_eq!(seconds(61_000), "1 m 01 s");
    }
}
