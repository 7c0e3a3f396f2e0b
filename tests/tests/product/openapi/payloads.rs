//! The bodies that webhooks get, held to the document: those of a run that succeeds, of one that
//! fails, of one that is stopped, and of a test.

use std::collections::BTreeSet;

use awo_domain::budget::{BudgetThresholdData, CreditsLowData};
use awo_domain::event::TimelineEvent;
use awo_domain::money::MicroCredits;
use awo_domain::pull_request::{OutcomeCost, PullRequestChangedData};
use awo_domain::schedule::{PauseReason, ScheduleMissedData, SchedulePausedData};
use awo_domain::trigger::{TriggerPauseReason, TriggerPausedData};
use awo_domain::webhook::envelope;
use awo_domain::webhook::{EventType, TEST_EVENT};
use awo_domain::{BudgetId, EventId, ScheduleId, Timestamp, TriggerId, WebhookId, WorkOrderId};
use awo_tests::contract;
use awo_tests::driven::DrivenRun;
use serde_json::{Value, json};

use super::scene::{Scene, create};

fn is_as_documented(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    let schema = json!({ "$ref": "#/components/schemas/WebhookPayload" });
    contract::conforms(&schema, &body, &body.to_string());
    body["type"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_payload_is_as_the_document_says() {
    let scene = Scene::new().await;
    let client = scene.client();
    let failing = create(client).await;
    let mut run = DrivenRun::of(&scene.service, &failing.body).await;
    run.iterate(1).await;
    let result = json!({
        "pluginId": "built-in:tests", "level": "L1", "status": "failed", "summary": "1 of 2",
        "checks": [{ "name": "unit", "status": "failed", "message": "exit code 1" }], "durationMs": 12,
    });
    run.report(json!({
        "type": "verificationFinished", "iteration": 1, "levels": ["L1"],
        "overallStatus": "failed", "summary": "1 of 2", "results": [result],
    }))
    .await;
    run.fail().await;
    let stopped = create(client).await;
    let id = stopped.body["id"].as_str().unwrap();
    let path = format!("/api/v1/work-orders/{id}");
    let canceled = client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let id = |answer: &Value| answer["runId"].as_str().unwrap().to_owned();
    let at = Timestamp::from_epoch_ms(0);
    let event_id = EventId::new(at, 1);
    let mut seen = BTreeSet::new();
    for run in [scene.done_run.clone(), id(&failing.body), id(&stopped.body)] {
        let page = client.get(&format!("/v1/runs/{run}/events")).await;
        for event in page.body["events"].as_array().unwrap() {
            let event: TimelineEvent = serde_json::from_value(event.clone()).unwrap();
            if EventType::parse(&event.kind).is_some() {
                let body = envelope::body(&event_id, &event).unwrap();
                seen.insert(is_as_documented(&body));
            }
        }
    }
    let data = json!({ "webhookId": WebhookId::new(at, 1) });
    let test = envelope::body_of(&event_id, TEST_EVENT, at, data).unwrap();
    seen.insert(is_as_documented(&test));
    for (kind, data) in of_organizations(at) {
        let body = envelope::body_of(&event_id, kind.as_str(), at, data).unwrap();
        seen.insert(is_as_documented(&body));
    }
    let mut all: BTreeSet<String> = EventType::ALL.map(|of| of.as_str().to_owned()).into();
    all.insert(TEST_EVENT.to_owned());
    assert_eq!(seen, all);
}

/// What the store writes of events that are of no run.
fn of_organizations(at: Timestamp) -> [(EventType, serde_json::Value); 7] {
    let credits = MicroCredits::from_credits;
    let budget = BudgetThresholdData {
        budget_id: BudgetId::new(at, 1),
        name: "Team A".to_owned(),
        percent: 80,
        spent_credits: credits(700),
        reserved_credits: credits(100),
        limit_credits: credits(1_000),
        period_start: at,
    };
    let low = CreditsLowData {
        available: credits(412),
        threshold: credits(500),
    };
    let (schedule_id, name) = (ScheduleId::new(at, 1), "Nightly".to_owned());
    let paused = SchedulePausedData {
        schedule_id: schedule_id.clone(),
        name: name.clone(),
        reason: PauseReason::KeyRevoked,
        consecutive_failures: 0,
    };
    let missed = ScheduleMissedData {
        schedule_id,
        name,
        count: 1,
        from: at,
        to: at,
    };
    let trigger = TriggerPausedData {
        trigger_id: TriggerId::new(at, 1),
        name: "Label agent".to_owned(),
        reason: TriggerPauseReason::Refusals,
        consecutive_refusals: 10,
    };
    let thread_id = WorkOrderId::new(at, 1);
    let pull_request = PullRequestChangedData {
        work_order_id: thread_id.clone(),
        thread_id,
        pr_url: "https://git.example.com/acme/app/pull/1".to_owned(),
        cost: OutcomeCost {
            credits: credits(42),
        },
    };
    [
        (EventType::BudgetThreshold, json!(budget)),
        (EventType::CreditsLow, json!(low)),
        (EventType::SchedulePaused, json!(paused)),
        (EventType::ScheduleMissed, json!(missed)),
        (EventType::TriggerPaused, json!(trigger)),
        (EventType::PullRequestMerged, json!(pull_request)),
        (EventType::PullRequestClosed, json!(pull_request)),
    ]
}

#[test]
fn what_is_no_payload_is_not_taken_for_one() {
    let schema = json!({ "$ref": "#/components/schemas/WebhookPayload" });
    let of = |kind: &str, data: Value| {
        json!({
            "id": "evt_01kb4x00000000000000000000", "type": kind,
            "timestamp": "2026-11-20T08:00:00.000Z", "data": data,
        })
    };
    let webhook = json!({ "webhookId": "wh_01kb4x00000000000000000000" });
    assert!(contract::allows(
        &schema,
        &of("webhook.test", webhook.clone())
    ));
    assert!(!contract::allows(&schema, &of("run.completed", webhook)));
    assert!(!contract::allows(&schema, &of("run.building", json!({}))));
}
