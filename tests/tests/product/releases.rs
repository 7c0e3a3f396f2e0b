//! A runner of the last release works with today's functions, and today's runner with the last
//! release's functions: `tests/golden/runner.json` has the messages between them, as the last
//! release wrote them.
//!
//! A release that changes the messages on purpose regenerates the file (`AWO_WRITE_GOLDEN=1`) and
//! documents it in docs/deploy.md; no other release does.

use std::path::Path;

use awo_domain::control::{
    Children, ChildrenAnswer, Claim, Finish, IterationLog, Report, ReportAnswer, Resumption,
    RunSpec, RunnerEvent, SnapshotDiff,
};
use awo_domain::manual::{VerificationReport, VerificationSpec};
use awo_tests::driven::DrivenRun;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

fn path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/runner.json")
}

fn golden() -> Value {
    serde_json::from_str(&std::fs::read_to_string(path()).unwrap()).unwrap()
}

/// What today's program makes of a message: read, and written again.
fn again<T: DeserializeOwned + Serialize>(message: &Value) -> Value {
    let read: T = serde_json::from_value(message.clone())
        .unwrap_or_else(|error| panic!("{error}: {message:#}"));
    serde_json::to_value(&read).unwrap()
}

#[test]
fn todays_programs_read_what_the_last_release_says_and_write_it_the_same_way() {
    let golden = golden();
    let same = |kind: &str, name: &str, again: fn(&Value) -> Value| {
        let message = &golden[kind][name];
        // Not a field more, which the other side would refuse, and none less, which it would miss.
        assert_eq!(again(message), *message, "{kind} {name}");
    };
    same("requests", "claim", again::<Claim>);
    same("requests", "report", again::<Report>);
    same("requests", "heartbeat", again::<Report>);
    same("requests", "logs", again::<IterationLog>);
    same("requests", "diff", again::<SnapshotDiff>);
    same("requests", "children", again::<Children>);
    for outcome in ["succeeded", "failed", "waiting", "stopped"] {
        same("requests", outcome, again::<Finish>);
    }
    for report in [
        "verificationBegun",
        "verificationRefused",
        "verificationFinished",
    ] {
        same("requests", report, again::<VerificationReport>);
    }
    same("answers", "claim", again::<RunSpec>);
    for answer in ["report", "heartbeat", "canceled"] {
        same("answers", answer, again::<ReportAnswer>);
    }
    same("answers", "children", again::<ChildrenAnswer>);
    same("answers", "resumption", again::<Resumption>);
    same("answers", "verificationClaim", again::<VerificationSpec>);
}

/// How often an event of the kind stands in the golden report. Exhaustive: a new event has to be decided on here.
fn is_in_the_last_release(event: &RunnerEvent) -> bool {
    match event {
        RunnerEvent::WorkspaceReady { .. }
        | RunnerEvent::IterationStarted { .. }
        | RunnerEvent::AgentOutput { .. }
        | RunnerEvent::AgentFinished { .. }
        | RunnerEvent::Committed { .. }
        | RunnerEvent::ChildrenRefused { .. }
        | RunnerEvent::ProtectedRestored { .. }
        | RunnerEvent::BaselineFinished { .. }
        | RunnerEvent::IntegrationStarted { .. }
        | RunnerEvent::ChildMerged { .. }
        | RunnerEvent::MergeConflict { .. }
        | RunnerEvent::VerificationStarted { .. }
        | RunnerEvent::VerificationFinished { .. }
        | RunnerEvent::DeliveryStarted {}
        | RunnerEvent::Delivered { .. }
        | RunnerEvent::DeliverySkipped { .. } => true,
        RunnerEvent::CredentialsIssued { .. }
        | RunnerEvent::EnvironmentReady { .. }
        | RunnerEvent::FollowupReady { .. }
        | RunnerEvent::EnvironmentStep { .. }
        | RunnerEvent::ProviderWaiting { .. }
        | RunnerEvent::ProviderResumed { .. } => false,
    }
}

/// True if `got` has all of `wanted`: every member, each of the same type.
fn covers(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::Object(got), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, wanted)| got.get(name).is_some_and(|got| covers(got, wanted))),
        (Value::Array(got), Value::Array(wanted)) => got
            .first()
            .zip(wanted.first())
            .is_none_or(|(got, wanted)| covers(got, wanted)),
        (got, wanted) => std::mem::discriminant(got) == std::mem::discriminant(wanted),
    }
}

#[tokio::test]
async fn a_run_of_the_last_releases_runner_succeeds_with_todays_functions() {
    let mut golden = golden();
    let service = quiet_service().await;
    let made = service.client.post("/v1/work-orders", &order()).await;
    let run = DrivenRun::of(&service, &made.body).await;
    let requests = golden["requests"].clone();
    let report: Report = serde_json::from_value(requests["report"].clone()).unwrap();
    assert!(
        report
            .events
            .iter()
            .all(|of| is_in_the_last_release(&of.event))
    );
    let reported = run.control("report", &requests["report"]).await;
    assert_eq!(reported.status, 200, "{}", reported.text);
    if std::env::var_os("AWO_WRITE_GOLDEN").is_some() {
        golden["answers"]["claim"] = run.spec.clone();
        golden["answers"]["report"] = reported.body.clone();
        std::fs::write(path(), format!("{golden:#}\n")).unwrap();
    }
    let answers = &golden["answers"];
    assert!(covers(&run.spec, &answers["claim"]), "{:#}", run.spec);
    assert!(
        covers(&reported.body, &answers["report"]),
        "{:#}",
        reported.body
    );
    for (what, name) in [
        ("report", "heartbeat"),
        ("logs", "logs"),
        ("diff", "diff"),
        ("finish", "succeeded"),
    ] {
        let answer = run.control(what, &requests[name]).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text);
        assert!(
            covers(&answer.body, &json!({"acknowledged": 1})),
            "{}",
            answer.text
        );
    }
    let events = report.events.len();
    let shown = service
        .client
        .get(&format!("/v1/runs/{}/events", run.run_id))
        .await;
    assert!(shown.body["events"].as_array().unwrap().len() > events);
    let ended = service
        .client
        .get(&format!("/v1/runs/{}", run.run_id))
        .await;
    assert_eq!(ended.body["status"], "succeeded", "{}", ended.text);
}
