//! How a run begins: its item, and its entry in the queue.

use awo_domain::money::MicroCredits;
use awo_domain::run::RunStatus;
use awo_domain::{RunId, Timestamp};

use super::WorkOrder;
use crate::engine::item::SCHEMA_VERSION;
use crate::runs::lifecycle::dispatch::EntryItem;
use crate::runs::{CREATED_SEQUENCE, Run};

/// The first state of a new run.
pub(crate) fn queued_run(
    work_order: &WorkOrder,
    run_id: &RunId,
    (hold, waits): (MicroCredits, bool),
    now: Timestamp,
) -> Run {
    Run {
        run_id: run_id.clone(),
        work_order_id: work_order.id.clone(),
        status: RunStatus::Queued,
        phase: None,
        iteration: 0,
        max_iterations: work_order.max_iterations,
        created_at: now,
        started_at: None,
        completed_at: None,
        compute_stopped_at: None,
        settled_at: None,
        finished_by: None,
        stop: None,
        branch: None,
        pr_url: None,
        commit: None,
        verified: false,
        verification: None,
        tests_changed: Vec::new(),
        gate: None,
        baseline: None,
        error: None,
        usage: Vec::new(),
        cost: None,
        work_dir: None,
        tenant_context: work_order.terms.tenant_context.clone(),
        hold_micro: if waits { 0 } else { hold.micro() },
        held_at: None,
        waits_for_budget: waits,
        last_sequence: CREATED_SEQUENCE,
        audit: None,
        earlier: None,
        base: None,
        suspension: None,
        price_list: None,
        resumed_at: None,
        attribution: Some(work_order.attribution()),
        size: work_order.size,
        waited_ms: 0,
        waits_since: None,
        environment: None,
        turn_end: None,
        report_kinds: Vec::new(),
        check_report: None,
        attempts_ended: None,
        comment_report: None,
    }
}

/// The place of a work order in the queue.
pub(crate) fn queue_entry(work_order: &WorkOrder, run_id: &RunId, now: Timestamp) -> EntryItem {
    EntryItem {
        work_order_id: work_order.id.clone(),
        run_id: run_id.clone(),
        tenant_context: work_order.terms.tenant_context.clone(),
        enqueued_at: now,
        size: work_order.size,
        containers: work_order.containers.clone(),
        resumes: None,
        last_sequence: None,
        came_back: 0,
        wanted: None,
        thread: Some(work_order.thread_id().clone()),
        v: SCHEMA_VERSION,
    }
}
