//! Audits as the API shows them. An unclaimed run has no configuration yet, so its fields are
//! omitted.

use std::collections::BTreeSet;

use awo_domain::audit::{ConfigChange, Snapshot, canonical_hash, changed_paths};
use awo_domain::environment::EnvironmentRecord;
use awo_domain::profile::Profile;
use awo_domain::stop::StopKind;
use awo_domain::{Error, RunId, Timestamp, WorkOrderId};
use awo_store::runs::Run;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A run in the audit of its work order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkOrderAuditRun)]
pub struct AuditedRunShape {
    /// The run.
    run_id: RunId,
    /// The last one that has begun; 0 if none has.
    iteration: u32,
    /// When it got its slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    /// The hash of its last configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_hash: Option<String>,
    /// How many values changed in all while it went on.
    changes_count: u32,
}

impl From<Run> for AuditedRunShape {
    fn from(run: Run) -> AuditedRunShape {
        let head = run.audit.as_ref();
        AuditedRunShape {
            changes_count: head.map_or(0, |head| head.changes),
            config_hash: run.audit.map(|head| head.config_hash),
            run_id: run.run_id,
            iteration: run.iteration,
            started_at: run.started_at,
        }
    }
}

/// The audit of a work order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkOrderAuditShape {
    /// The work order.
    pub work_order_id: WorkOrderId,
    /// Its newest runs, newest first, at most 100.
    pub runs: Vec<AuditedRunShape>,
}

/// A client's request to stop the run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunStop)]
struct StopShape<'a> {
    /// Whether it was a cancel or a kill.
    kind: StopKind,
    /// The client's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// When the client asked for it.
    requested_at: Timestamp,
    /// When it was known that nothing of the run is alive.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_at: Option<Timestamp>,
}

impl<'a> StopShape<'a> {
    fn of(run: &'a Run) -> Option<StopShape<'a>> {
        let stop = run.stop.as_ref()?;
        // A run that never had compute had nothing to stop but itself.
        let waited = run.started_at.is_none().then_some(run.completed_at);
        Some(StopShape {
            kind: stop.kind,
            reason: stop.reason.as_deref(),
            requested_at: stop.requested_at,
            stopped_at: run.compute_stopped_at.or(waited.flatten()),
        })
    }
}

/// The audit of a run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAuditShape<'a> {
    /// The run.
    run_id: &'a RunId,
    /// Its work order.
    work_order_id: &'a WorkOrderId,
    /// When it got its slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    /// The configuration of its beginning.
    #[schema(value_type = Option<Profile>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_config: Option<&'a Value>,
    /// The effective configuration, at last that of its end.
    #[schema(value_type = Option<Profile>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    final_config: Option<&'a Value>,
    /// The hash of the latter.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_hash: Option<&'a str>,
    /// The hash of the last snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_head: Option<String>,
    /// Iterations begun.
    iterations: u32,
    /// The changes of its configuration, oldest first.
    changes: &'a [ConfigChange],
    /// How many snapshots there are.
    snapshots_count: usize,
    /// Its environment as it was when the run was claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<&'a EnvironmentRecord>,
    /// A client's request to stop it, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<StopShape<'a>>,
}

impl<'a> RunAuditShape<'a> {
    /// A run with its snapshots and what changed between them.
    ///
    /// # Errors
    /// Internal, if a snapshot has no canonical JSON.
    pub fn of(
        run: &'a Run,
        snapshots: &'a [Snapshot],
        changes: &'a [ConfigChange],
    ) -> Result<RunAuditShape<'a>, Error> {
        let (config_hash, chain_head) = hashes(snapshots)?;
        Ok(RunAuditShape {
            run_id: &run.run_id,
            work_order_id: &run.work_order_id,
            started_at: run.started_at,
            completed_at: run.completed_at,
            initial_config: snapshots.first().map(|snapshot| &snapshot.config),
            final_config: snapshots.last().map(|snapshot| &snapshot.config),
            config_hash,
            chain_head,
            iterations: run.iteration,
            changes,
            snapshots_count: snapshots.len(),
            environment: run.environment.as_ref(),
            stop: StopShape::of(run),
        })
    }
}

/// The audit of a run in short.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAuditSummaryShape<'a> {
    /// The run.
    run_id: &'a RunId,
    /// Iterations begun.
    total_iterations: u32,
    /// How many values changed in all.
    total_changes: usize,
    /// The dotted paths of the values that changed, each once.
    changed_paths: BTreeSet<&'a str>,
    /// The hash of its last configuration; absent before a runner has claimed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_hash: Option<&'a str>,
    /// The hash of its last snapshot; absent before a runner has claimed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_head: Option<String>,
}

impl<'a> RunAuditSummaryShape<'a> {
    /// A run with its snapshots and what changed between them.
    ///
    /// # Errors
    /// Internal, if a snapshot has no canonical JSON.
    pub fn of(
        run: &'a Run,
        snapshots: &'a [Snapshot],
        changes: &'a [ConfigChange],
    ) -> Result<RunAuditSummaryShape<'a>, Error> {
        let (config_hash, chain_head) = hashes(snapshots)?;
        Ok(RunAuditSummaryShape {
            run_id: &run.run_id,
            total_iterations: run.iteration,
            total_changes: changes.len(),
            changed_paths: changed_paths(changes),
            config_hash,
            chain_head,
        })
    }
}

/// How much changed, and where.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ConfigChangesSummary)]
struct ChangesSummaryShape<'a> {
    /// How many values changed in all.
    total_changes: usize,
    /// The dotted paths of the values that changed, each once.
    changed_paths: BTreeSet<&'a str>,
}

/// The changes during a run, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConfigChangeList)]
pub struct ConfigChangesShape<'a> {
    /// The changes, oldest first.
    items: &'a [ConfigChange],
    /// How many there are.
    total: usize,
    /// How many changed, and where.
    summary: ChangesSummaryShape<'a>,
}

impl<'a> From<&'a [ConfigChange]> for ConfigChangesShape<'a> {
    fn from(changes: &'a [ConfigChange]) -> ConfigChangesShape<'a> {
        ConfigChangesShape {
            items: changes,
            total: changes.len(),
            summary: ChangesSummaryShape {
                total_changes: changes.len(),
                changed_paths: changed_paths(changes),
            },
        }
    }
}

/// The snapshots of a run, oldest first, at most 101.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConfigSnapshotList)]
pub struct SnapshotsShape {
    /// A hash chain.
    pub items: Vec<Snapshot>,
    /// How many there are.
    pub total: usize,
}

/// The hashes of the last configuration and of the last snapshot. They are those of what was
/// read, whatever the run has done since.
fn hashes(snapshots: &[Snapshot]) -> Result<(Option<&str>, Option<String>), Error> {
    let last = snapshots.last();
    let chain_head = last.map(canonical_hash).transpose()?;
    Ok((last.map(|last| last.config_hash.as_str()), chain_head))
}
