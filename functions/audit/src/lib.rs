//! Routes of the audit: each run's configuration and its changes. All of it is derived from the run
//! and its snapshots, which are read in parallel.

pub mod get_run_audit;
pub mod get_run_audit_summary;
pub mod get_work_order_audit;
pub mod list_config_changes;
pub mod list_config_snapshots;

use awo_domain::audit::Snapshot;
use awo_domain::{Error, Resource};
use awo_http::Call;
use awo_http::program::{ApiProgram, whole};
use awo_http::routes;
use awo_store::Store;
use awo_store::runs::Run;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(
        &routes::GET_RUN_AUDIT_SUMMARY,
        get_run_audit_summary::function,
    ),
    whole(&routes::GET_RUN_AUDIT, get_run_audit::function),
    whole(
        &routes::GET_WORK_ORDER_AUDIT,
        get_work_order_audit::function,
    ),
    whole(&routes::LIST_CONFIG_CHANGES, list_config_changes::function),
    whole(
        &routes::LIST_CONFIG_SNAPSHOTS,
        list_config_snapshots::function,
    ),
];

/// The run that the call names, with its snapshots.
async fn audited(store: &Store, call: &Call) -> Result<(Run, Vec<Snapshot>), Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let (run, snapshots) =
        tokio::try_join!(store.run(call.org(), &id), store.snapshots(call.org(), &id))?;
    let run = run.ok_or(Error::NotFound(Resource::Run))?;
    Ok((run, snapshots))
}
