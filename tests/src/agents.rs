//! Agents as shell scripts, and work orders for them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;

/// How long a run may take to come to its agent, with many others beside it.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// A work order whose agent is a script.
#[must_use]
pub fn order(repository: &str, script: &str) -> Value {
    json!({
        "taskPrompt": "make the answer right",
        "workspaceSource": { "type": "git", "repository": repository },
        "agent": { "type": "command", "command": ["sh", "-c", script] },
    })
}

/// Heeds no signal, and tries to leave four things behind: a child in a session of its own, a
/// daemon that forked twice, a child that heeds no signal either, and a chain of successors of
/// which each starts the next after `pause` (as `sleep` reads it) and ends.
#[must_use]
pub fn escaping(pause: &str) -> String {
    format!(
        "trap '' INT TERM HUP; \
         setsid sleep 4321 & \
         (setsid sh -c '(trap \"\" INT TERM HUP; sleep 4321 & wait) &' &); \
         sh -c 'trap \"\" INT TERM HUP; while :; do sleep 4321; done' & \
         echo 'sleep {pause}; setsid sh \"$0\" & exit 0' > ~/link; setsid sh ~/link & \
         echo > ready; while :; do sleep 4321; done"
    )
}

/// Submits a work order.
///
/// # Panics
/// When it is not accepted.
pub async fn submit(client: &Client, order: &Value) -> Value {
    let made = client.post("/v1/work-orders", order).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

/// Waits until the agent of a work order's run has written `ready`; the run's id.
///
/// # Panics
/// When that takes too long.
pub async fn until_ready(client: &Client, work_order: &Value) -> String {
    let run = work_order["runId"].as_str().expect("a run id").to_owned();
    let at_work = |run: &Value| {
        let dir = run["workDir"].as_str().map(PathBuf::from);
        dir.is_some_and(|dir: PathBuf| Path::exists(&dir.join("ready")))
    };
    client
        .until(&format!("/v1/runs/{run}"), READY_LIMIT, at_work)
        .await;
    run
}
