//! The thread of a run, as its runner needs it.

use awo_domain::control::{EarlierTurn, MAX_TURN_PROMPT, PreviousRun, RunThread};
use awo_domain::{Error, OrgId, TaskPrompt};
use awo_store::Store;
use awo_store::work_orders::WorkOrder;

/// The thread of a work order's run; a work order that is a part of another one has none.
pub(crate) async fn of(
    store: &Store,
    org: &OrgId,
    order: &WorkOrder,
) -> Result<Option<Box<RunThread>>, Error> {
    if order.terms.parent_id.is_some() {
        return Ok(None);
    }
    let id = order.thread_id();
    let thread = store.thread(org, id).await?;
    let mut turns = store.turns(org, id, &thread).await?;
    turns.retain(|turn| turn.turn() < order.turn());
    let (mut earlier, mut previous) = (Vec::with_capacity(turns.len()), None);
    if !turns.is_empty() {
        let runs = store.newest_runs(org, &turns).await?;
        let prompts = store.prompts(org, &turns).await?;
        for (turn, prompt) in turns.iter().zip(&prompts) {
            let run = runs.get(&turn.run_id);
            let end = run.and_then(|run| run.turn_end.clone());
            earlier.push(EarlierTurn {
                turn: turn.turn(),
                task_prompt: prompt.as_ref().map(cut).unwrap_or_default(),
                summary: end.as_ref().and_then(|end| end.summary.clone()),
                status: turn.status,
            });
            // The last one that had compute is what the next one continues.
            if let Some(run) = run.filter(|run| run.started_at.is_some()) {
                previous = Some(PreviousRun {
                    run_id: run.run_id.clone(),
                    agent: turn.terms.agent.kind,
                    failures: Vec::new(),
                    end,
                });
            }
        }
    }
    Ok(Some(Box::new(RunThread {
        thread_id: id.clone(),
        turn: order.turn(),
        base_commit: thread.base_commit,
        branch: thread.branch,
        target: thread.target,
        pull_request: thread.pull_request,
        turns: earlier,
        previous,
        points: thread.points,
        deliveries: thread.deliveries,
    })))
}

fn cut(prompt: &TaskPrompt) -> String {
    prompt.as_str().chars().take(MAX_TURN_PROMPT).collect()
}
