//! Samples of the events that webhooks get, with the contract's fields.

use awo_domain::event::TimelineEventType;
use awo_domain::run::{RunError, RunErrorCode, RunFailure};
use awo_domain::webhook::{EventSource, EventType};
use awo_domain::{RunId, Timestamp, WorkOrderId};
use serde_json::{Value, json};

/// Of a run that took so long.
const DURATION_MS: i64 = 42_000;

/// The data of a sample.
pub fn data(kind: EventType, run: &RunId, order: &WorkOrderId, now: Timestamp) -> Value {
    match kind.source() {
        EventSource::Run(kind) => of_run(kind, run, order, now),
        EventSource::Organization(event) => (event.sample)(now),
    }
}

fn of_run(kind: TimelineEventType, run: &RunId, order: &WorkOrderId, now: Timestamp) -> Value {
    use TimelineEventType as T;
    let mut data = json!({
        "runId": run,
        "workOrderId": order,
        "sequence": sequence(kind),
        "tenantContext": { "tenantId": "acme", "tenantUserId": "jo" },
    });
    let timing = json!({
        "startedAt": now.plus_ms(-DURATION_MS), "completedAt": now, "durationMs": DURATION_MS,
    });
    let result = |status: &str| json!([{ "pluginId": "built-in:tests", "level": "L1", "status": status, "summary": "12 tests" }]);
    let more = match kind {
        T::RunCreated => json!({ "status": "queued" }),
        T::RunStarted => json!({ "status": "running", "startedAt": now }),
        T::RunCompleted => json!({
            "status": "succeeded", "iterations": 2, "verified": true,
            "prUrl": "https://github.com/acme/app/pull/7", "timing": timing, "cost": { "credits": 1.25 },
        }),
        T::RunFailed => {
            let error = RunError::new(
                RunErrorCode::MaxIterationsReached,
                "5 iterations, and tests still fail",
            );
            json!({
                "status": "failed", "iterations": 5, "timing": timing, "cost": { "credits": 3.5 },
                "error": RunFailure::from(&error),
            })
        }
        T::RunCancelled => json!({
            "status": "canceled", "iterations": 1, "reason": "wrong branch",
        }),
        T::VerificationStarted => json!({ "iteration": 1, "levels": ["L0", "L1"] }),
        T::VerificationPassed => json!({
            "iteration": 1, "levels": ["L0", "L1"], "overallStatus": "passed",
            "summary": "2 checks passed", "results": result("passed"),
        }),
        T::VerificationFailed => json!({
            "iteration": 1, "levels": ["L0", "L1"], "overallStatus": "failed",
            "summary": "1 of 2 checks failed", "results": result("failed"),
        }),
        // Types that are not delivered.
        _ => json!({}),
    };
    if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
        data.extend(more);
    }
    data
}

/// Where it stands in the timeline of a run of one iteration, more or less.
fn sequence(kind: TimelineEventType) -> u64 {
    use TimelineEventType as T;
    match kind {
        T::RunStarted => 3,
        T::VerificationStarted => 7,
        T::VerificationPassed | T::VerificationFailed => 8,
        T::RunCompleted | T::RunFailed | T::RunCancelled => 12,
        _ => 1,
    }
}
