//! Enforces the run's budget on a running agent: an agent that has exhausted it is asked to end,
//! even if it ignores refusals or calls no model.

use std::convert::Infallible;
use std::fs;
use std::future::pending;
use std::path::Path;
use std::time::{Duration, SystemTime};

use awo_domain::agent::{AgentResult, MAX_RESULT_BYTES};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::meter::{SharedMeter, now};
use crate::safe_files;

/// Between two reads of the meter.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// How long an agent has to end by itself once its calls are refused.
const HEED_LIMIT: Duration = Duration::from_secs(1);

/// Calls the agent off when the budget is used up. An agent without a proxy may report what it has
/// used while it is at work: in its result file, which it writes anew each time.
pub(super) async fn keep_to(
    meter: &SharedMeter,
    result: &Path,
    call_off: &watch::Sender<Option<String>>,
) -> Infallible {
    let mut seen = None;
    let why = loop {
        sleep(LOOK_AGAIN).await;
        let stamp = stamp(result);
        if stamp != seen {
            seen = stamp;
            record(meter, result);
        }
        let meter = meter.lock();
        if let Some(why) = meter.used_up().or_else(|| meter.refusal()) {
            break why;
        }
    };
    sleep(HEED_LIMIT).await;
    tracing::info!(
        event = "agent_called_off",
        why,
        "the agent is stopped: its budget is used up"
    );
    call_off.send_replace(Some(why));
    pending().await
}

/// Takes over the file's usage, if the file is whole.
fn record(meter: &SharedMeter, result: &Path) {
    let reported = safe_files::read(result, MAX_RESULT_BYTES).ok();
    if let Some(reported) = reported.and_then(|bytes| AgentResult::parse(&bytes).ok()) {
        meter.lock().report(reported.usage, now());
    }
}

fn stamp(file: &Path) -> Option<(u64, SystemTime)> {
    let meta = fs::symlink_metadata(file).ok()?;
    Some((meta.len(), meta.modified().ok()?))
}
