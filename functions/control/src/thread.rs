//! The thread of a run, as its runner needs it.

use std::collections::HashMap;

use awo_domain::control::{EarlierTurn, MAX_TURN_PROMPT, PreviousRun, RunThread};
use awo_domain::event::TimelineEventType;
use awo_domain::verification::PluginResult;
use awo_domain::{Error, OrgId, RunId, TaskPrompt, Timestamp};
use awo_store::Store;
use awo_store::runs::Run;
use awo_store::work_orders::WorkOrder;
use awo_store::work_orders::threads::Thread;
use serde_json::Value;

/// The thread of a work order's run; a work order that is a part of another one has none.
pub(crate) async fn of(
    store: &Store,
    org: &OrgId,
    order: &WorkOrder,
    now: Timestamp,
) -> Result<Option<Box<RunThread>>, Error> {
    if order.terms.parent_id.is_some() {
        return Ok(None);
    }
    let id = order.thread_id();
    let thread = store.thread(org, id).await?;
    let turns = store.turns(org, id, &thread).await?;
    let runs = store.newest_runs(org, &turns).await?;
    let earlier: Vec<WorkOrder> = (turns.iter())
        .filter(|turn| turn.turn() < order.turn())
        .cloned()
        .collect();
    let prompts = store.prompts(org, &earlier).await?;
    let earlier = earlier.iter().zip(&prompts);
    let earlier = earlier.map(|(turn, prompt)| EarlierTurn {
        turn: turn.turn(),
        task_prompt: prompt.as_ref().map(cut).unwrap_or_default(),
        summary: (runs.get(&turn.run_id))
            .and_then(|run| run.turn_end.as_ref())
            .and_then(|end| end.summary.clone()),
        status: turn.status,
    });
    let earlier = earlier.collect();
    let previous = match last_run(store, org, order, &thread, &runs).await? {
        Some(run) => previous(store, org, &turns, run, now).await?,
        None => None,
    };
    let others = runs
        .values()
        .filter(|run| run.started_at.is_some() && run.work_order_id != order.id);
    let other_turns_run = others.max_by_key(|run| run.completed_at);
    Ok(Some(Box::new(RunThread {
        thread_id: id.clone(),
        turn: order.turn(),
        base_commit: thread.base_commit,
        branch: thread.branch,
        target: thread.target,
        pull_request: thread.pull_request,
        turns: earlier,
        other_turns_run: other_turns_run.map(|run| run.run_id.clone()),
        previous,
        points: thread.points,
        deliveries: thread.deliveries,
    })))
}

/// The run that had the thread before this one, if it had compute; else the newest one of other turns that
/// had.
async fn last_run(
    store: &Store,
    org: &OrgId,
    order: &WorkOrder,
    thread: &Thread,
    runs: &HashMap<RunId, Run>,
) -> Result<Option<Run>, Error> {
    let had_compute = |run: &Run| run.started_at.is_some() && run.run_id != order.run_id;
    if let Some(holder) = &thread.previous_holder {
        let run = match runs.get(holder) {
            Some(run) => Some(run.clone()),
            None => store.run(org, holder).await?,
        };
        if let Some(run) = run.filter(had_compute) {
            return Ok(Some(run));
        }
    }
    let others = runs.values().filter(|run| had_compute(run));
    Ok(others.max_by_key(|run| run.completed_at).cloned())
}

async fn previous(
    store: &Store,
    org: &OrgId,
    turns: &[WorkOrder],
    run: Run,
    now: Timestamp,
) -> Result<Option<PreviousRun>, Error> {
    let Some(turn) = turns.iter().find(|turn| turn.id == run.work_order_id) else {
        return Ok(None);
    };
    let has_failed = (run.verification).is_some_and(|outcome| !outcome.status.passes());
    let failures = if has_failed {
        failures(store, org, &run.run_id, now).await?
    } else {
        Vec::new()
    };
    Ok(Some(PreviousRun {
        agent: turn.terms.agent.kind,
        failures,
        end: run.turn_end,
        run_id: run.run_id,
    }))
}

/// Results that did not pass in a run's last failed verification, with their failing checks alone.
async fn failures(
    store: &Store,
    org: &OrgId,
    run: &RunId,
    now: Timestamp,
) -> Result<Vec<PluginResult>, Error> {
    let kind = TimelineEventType::VerificationFailed;
    let event = store.last_event(org, run, kind, now).await?;
    let results = event.and_then(|event| event.data.get("results").cloned());
    let results: Vec<PluginResult> =
        serde_json::from_value(results.unwrap_or(Value::Null)).unwrap_or_default();
    let failing = results.into_iter().filter(|result| !result.status.passes());
    let failing = failing.map(|result| PluginResult {
        checks: (result.checks.into_iter())
            .filter(|check| !check.status.passes())
            .collect(),
        ..result
    });
    Ok(failing.collect())
}

fn cut(prompt: &TaskPrompt) -> String {
    prompt.as_str().chars().take(MAX_TURN_PROMPT).collect()
}
