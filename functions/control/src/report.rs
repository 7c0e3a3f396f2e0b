//! `POST /control/{orgId}/runs/{runId}/report`: events, or a heartbeat without events.

use awo_domain::control::Report;
use awo_domain::{Error, SnapshotId, Timestamp};
use awo_http::Answer;
use lambda_http::Request;

use crate::State;
use crate::runner::{body, checked, reporter};

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let report: Report = body(request)?;
    checked(&report.events)?;
    let answer = if report.events.is_empty() {
        state.store.heartbeat(&by, report.executed, now).await?
    } else {
        let snapshot_id = SnapshotId::new(now, state.mint.random(now));
        state.store.report(&by, &report, &snapshot_id, now).await?
    };
    Answer::ok(answer)
}
