//! Heartbeats, which wait for nothing else: no unanswered log, diff or report delays them. The
//! service suspects a runner that missed two of them.

use std::time::Duration;

use awo_domain::control::HEARTBEAT_MS;
use tokio::time::{Instant, sleep, sleep_until};

use crate::control_client::{CallError, ControlClient};
use crate::stop::{StopReason, StopSwitch};

/// Between a heartbeat that brought no answer and the next one.
const AGAIN: Duration = Duration::from_secs(1);

/// Beats until the run is fenced, or for ever. A report that was answered is as good as a heartbeat. The
/// start of the first process of client code is reported at once: from then on the run is paid.
pub(crate) async fn beat(client: ControlClient, switch: StopSwitch) {
    loop {
        let next = client.heard_at() + Duration::from_millis(HEARTBEAT_MS);
        let is_due = next <= Instant::now();
        let started = client.client_code().has_started();
        if !is_due && (client.client_code().is_reported() || !started) {
            tokio::select! {
                () = sleep_until(next) => {}
                () = client.client_code().until_started(), if !started => {}
            }
            continue;
        }
        match client.heartbeat().await {
            Ok(answer) => {
                if let Some(stop_request) = answer.stop_request {
                    switch.stop(StopReason::Requested(stop_request));
                }
            }
            Err(why @ CallError::Refused { .. }) => {
                tracing::error!(event = "fenced", %why, "the lease is lost: the run stops at once");
                return switch.stop(StopReason::Fenced);
            }
            Err(why) => {
                tracing::warn!(event = "heartbeat_unanswered", %why, "a heartbeat was not answered; retrying");
                sleep(AGAIN).await;
            }
        }
    }
}
