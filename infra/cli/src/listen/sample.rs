//! Samples of the events that webhooks get, with the contract's fields.

use awo_domain::cost::report::month;
use awo_domain::run::{RunError, RunErrorCode, RunFailure};
use awo_domain::webhook::EventType;
use awo_domain::{BudgetId, RunId, Timestamp, WorkOrderId};
use serde_json::{Value, json};

/// Of a run that took so long.
const DURATION_MS: i64 = 42_000;

/// The data of a sample.
pub fn data(kind: EventType, run: &RunId, order: &WorkOrderId, now: Timestamp) -> Value {
    of_organization(kind, now).unwrap_or_else(|| of_run(kind, run, order, now))
}

/// Of events that are of no run.
fn of_organization(kind: EventType, now: Timestamp) -> Option<Value> {
    match kind {
        EventType::BudgetThreshold => Some(json!({
            "budgetId": BudgetId::new(now, 1), "name": "Team A", "percent": 80, "spentCredits": 700.5,
            "reservedCredits": 100, "limitCredits": 1000, "periodStart": month(now, 0),
        })),
        EventType::CreditsLow => Some(json!({ "available": 412.25, "threshold": 500 })),
        _ => None,
    }
}

fn of_run(kind: EventType, run: &RunId, order: &WorkOrderId, now: Timestamp) -> Value {
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
        EventType::RunCreated => json!({ "status": "queued" }),
        EventType::RunStarted => json!({ "status": "running", "startedAt": now }),
        EventType::RunCompleted => json!({
            "status": "succeeded", "iterations": 2, "verified": true,
            "prUrl": "https://github.com/acme/app/pull/7", "timing": timing, "cost": { "credits": 1.25 },
        }),
        EventType::RunFailed => {
            let error = RunError::new(
                RunErrorCode::MaxIterationsReached,
                "5 iterations, and tests still fail",
            );
            json!({
                "status": "failed", "iterations": 5, "timing": timing, "cost": { "credits": 3.5 },
                "error": RunFailure::from(&error),
            })
        }
        EventType::RunCancelled => json!({
            "status": "canceled", "iterations": 1, "reason": "wrong branch",
        }),
        EventType::VerificationStarted => json!({ "iteration": 1, "levels": ["L0", "L1"] }),
        EventType::VerificationPassed => json!({
            "iteration": 1, "levels": ["L0", "L1"], "overallStatus": "passed",
            "summary": "2 checks passed", "results": result("passed"),
        }),
        EventType::VerificationFailed => json!({
            "iteration": 1, "levels": ["L0", "L1"], "overallStatus": "failed",
            "summary": "1 of 2 checks failed", "results": result("failed"),
        }),
        EventType::BudgetThreshold | EventType::CreditsLow => json!({}),
    };
    if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
        data.extend(more);
    }
    data
}

/// Where it stands in the timeline of a run of one iteration, more or less.
fn sequence(kind: EventType) -> u64 {
    match kind {
        EventType::RunCreated | EventType::BudgetThreshold | EventType::CreditsLow => 1,
        EventType::RunStarted => 3,
        EventType::VerificationStarted => 7,
        EventType::VerificationPassed | EventType::VerificationFailed => 8,
        EventType::RunCompleted | EventType::RunFailed | EventType::RunCancelled => 12,
    }
}
