//! Resources as the API shows them.

use std::collections::BTreeMap;

use awo_domain::money::{MicroCredits, NanoUsd};
use awo_domain::queue::{EntryState, Health, Load};
use awo_domain::run::{Phase, RunError, RunStatus};
use awo_domain::work_order::{Limits, TenantContext, WorkOrderStatus};
use awo_domain::{RunId, Timestamp, TransactionId, WorkOrderId};
use awo_domain::{agent::Agent, ledger::TransactionType};
use awo_store::credits::{BalanceItem, LedgerEntry};
use awo_store::logs::Log;
use awo_store::queue_view::Position;
use awo_store::runs::{PricedUsage, Run};
use awo_store::work_orders::WorkOrder;
use serde::Serialize;

/// A workspace source.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceShape<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    repository: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
}

/// A work order.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkOrderShape<'a> {
    id: &'a WorkOrderId,
    task_prompt: &'a str,
    workspace_source: SourceShape<'a>,
    run_id: &'a RunId,
    status: WorkOrderStatus,
    max_iterations: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_context: Option<&'a TenantContext>,
    harness: &'a str,
    agent: &'a Agent,
    #[serde(skip_serializing_if = "is_default")]
    limits: Limits,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: &'a BTreeMap<String, String>,
    created_at: Timestamp,
}

fn is_default(limits: &Limits) -> bool {
    *limits == Limits::default()
}

impl<'a> From<&'a WorkOrder> for WorkOrderShape<'a> {
    fn from(order: &'a WorkOrder) -> WorkOrderShape<'a> {
        WorkOrderShape {
            id: &order.id,
            task_prompt: &order.task_prompt,
            workspace_source: SourceShape {
                kind: "git",
                repository: order.source.repository.as_str(),
                branch: order.source.branch.as_ref().map(|b| b.as_str()),
            },
            run_id: &order.run_id,
            status: order.status,
            max_iterations: order.max_iterations,
            tenant_context: order.tenant_context.as_ref(),
            harness: &order.harness,
            agent: &order.agent,
            limits: order.limits,
            metadata: &order.metadata,
            created_at: order.created_at,
        }
    }
}

/// What one model was used for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelShape {
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<NanoUsd>,
}

/// The usage summary's numbers for one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UsageShape<'a> {
    total_input_tokens: u64,
    total_output_tokens: u64,
    total_cached_input_tokens: u64,
    total_cost_usd: NanoUsd,
    by_model: BTreeMap<&'a str, ModelShape>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unpriced_models: Vec<&'a str>,
}

impl<'a> UsageShape<'a> {
    fn of(usage: &'a [PricedUsage]) -> UsageShape<'a> {
        let sum = |of: fn(&PricedUsage) -> u64| usage.iter().map(of).sum();
        UsageShape {
            total_input_tokens: sum(|u| u.usage.input_tokens),
            total_output_tokens: sum(|u| u.usage.output_tokens),
            total_cached_input_tokens: sum(|u| u.usage.cached_input_tokens),
            total_cost_usd: PricedUsage::total(usage),
            by_model: usage
                .iter()
                .map(|one| {
                    let shape = ModelShape {
                        input_tokens: one.usage.input_tokens,
                        output_tokens: one.usage.output_tokens,
                        cached_input_tokens: one.usage.cached_input_tokens,
                        cost_usd: one.cost_usd_nano.map(NanoUsd::from_nano),
                    };
                    (one.usage.model.as_str(), shape)
                })
                .collect(),
            unpriced_models: usage
                .iter()
                .filter(|one| one.cost_usd_nano.is_none())
                .map(|one| one.usage.model.as_str())
                .collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct CostShape {
    credits: MicroCredits,
    usd: NanoUsd,
}

/// A run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunShape<'a> {
    run_id: &'a RunId,
    work_order_id: &'a WorkOrderId,
    status: RunStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<Phase>,
    iteration: u32,
    max_iterations: u32,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compute_stopped_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RunError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<CostShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    work_dir: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_context: Option<&'a TenantContext>,
}

impl<'a> From<&'a Run> for RunShape<'a> {
    fn from(run: &'a Run) -> RunShape<'a> {
        RunShape {
            run_id: &run.run_id,
            work_order_id: &run.work_order_id,
            status: run.status,
            phase: run.phase,
            iteration: run.iteration,
            max_iterations: run.max_iterations,
            created_at: run.created_at,
            started_at: run.started_at,
            completed_at: run.completed_at,
            compute_stopped_at: run.compute_stopped_at,
            settled_at: run.settled_at,
            branch: run.branch.as_deref(),
            commit: run.commit.as_deref(),
            error: run.error.as_ref(),
            usage: (run.status.is_terminal() || !run.usage.is_empty())
                .then(|| UsageShape::of(&run.usage)),
            cost: run.cost.as_ref().map(|cost| CostShape {
                credits: MicroCredits::from_micro(cost.credits_micro),
                usd: NanoUsd::from_nano(cost.usd_nano),
            }),
            work_dir: run.work_dir.as_deref(),
            tenant_context: run.tenant_context.as_ref(),
        }
    }
}

/// A credit transaction.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransactionShape<'a> {
    id: &'a TransactionId,
    #[serde(rename = "type")]
    kind: TransactionType,
    amount: MicroCredits,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_user_id: Option<&'a str>,
    created_at: Timestamp,
}

impl<'a> From<&'a LedgerEntry> for TransactionShape<'a> {
    fn from(entry: &'a LedgerEntry) -> TransactionShape<'a> {
        TransactionShape {
            id: &entry.id,
            kind: entry.kind,
            amount: MicroCredits::from_micro(entry.amount_micro),
            run_id: entry.run_id.as_ref(),
            tenant_id: entry.tenant_id.as_deref(),
            tenant_user_id: entry.tenant_user_id.as_deref(),
            created_at: entry.created_at,
        }
    }
}

/// A credit balance.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BalanceShape {
    balance: MicroCredits,
    reserved: MicroCredits,
    available: MicroCredits,
    updated_at: Timestamp,
}

impl From<&BalanceItem> for BalanceShape {
    fn from(item: &BalanceItem) -> BalanceShape {
        BalanceShape {
            balance: MicroCredits::from_micro(item.balance),
            reserved: MicroCredits::from_micro(item.reserved),
            available: MicroCredits::from_micro(item.available),
            updated_at: item.updated_at,
        }
    }
}

/// Where a work order stands in the queue.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PositionShape<'a> {
    work_order_id: &'a WorkOrderId,
    position: u32,
    state: EntryState,
    enqueued_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_start_time: Option<Timestamp>,
}

impl<'a> PositionShape<'a> {
    /// The position of this work order.
    #[must_use]
    pub fn of(id: &'a WorkOrderId, position: &Position) -> PositionShape<'a> {
        PositionShape {
            work_order_id: id,
            position: position.position,
            state: position.state,
            enqueued_at: position.enqueued_at,
            estimated_start_time: position.estimated_start,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatsShape {
    running: u32,
    waiting: u32,
    max_concurrent: u32,
    max_queue_size: u32,
    accepting: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct IndicatorsShape {
    accepting: bool,
    can_start_immediately: bool,
    queue_depth: u32,
    running_count: u32,
}

/// How the queue is.
#[derive(Debug, Serialize)]
pub struct HealthShape {
    status: Health,
    stats: StatsShape,
    utilization: f64,
    timestamp: Timestamp,
    indicators: IndicatorsShape,
}

impl HealthShape {
    /// The health of a queue with this load.
    #[must_use]
    pub fn of(load: Load, now: Timestamp) -> HealthShape {
        HealthShape {
            status: load.health(),
            stats: StatsShape {
                running: load.running,
                waiting: load.waiting,
                max_concurrent: load.max_concurrent,
                max_queue_size: load.max_queue_size,
                accepting: load.is_accepting(),
            },
            utilization: load.utilization(),
            timestamp: now,
            indicators: IndicatorsShape {
                accepting: load.is_accepting(),
                can_start_immediately: load.can_start_immediately(),
                queue_depth: load.waiting,
                running_count: load.running,
            },
        }
    }
}

/// What an agent wrote in an iteration.
#[derive(Debug, Serialize)]
pub struct LogShape {
    iteration: u32,
    output: String,
    bytes: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

impl From<&Log> for LogShape {
    fn from(log: &Log) -> LogShape {
        let output = log.output();
        LogShape {
            iteration: log.iteration,
            bytes: log.bytes,
            truncated: log.truncated || output.is_none(),
            error: output
                .is_none()
                .then_some("what was kept of this output cannot be read"),
            output: output.unwrap_or_default(),
        }
    }
}
