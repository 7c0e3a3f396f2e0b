//! Operations of the audit.

use awo_contract::audit::output::{
    ConfigChangesShape, RunAuditShape, RunAuditSummaryShape, SnapshotsShape, WorkOrderAuditShape,
};
use awo_http::routes;

use crate::document::operation::{Operation, Success};
use awo_contract::schema::Schemas;

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let order = Operation::of(
        &routes::GET_WORK_ORDER_AUDIT,
        "Audit a work order",
        "Its newest 100 runs, newest first, each with the hash of its last configuration.",
    );
    let run = Operation::of(
        &routes::GET_RUN_AUDIT,
        "Audit a run",
        "Its configuration from its start to its end, and the stop by a client. A run that no runner has \
         claimed has no configuration: those fields are absent.",
    );
    let changes = Operation::of(
        &routes::LIST_CONFIG_CHANGES,
        "List a run's configuration changes",
        "The changes during the run, by dotted path. A value that was or is absent is null.",
    );
    let snapshots = Operation::of(
        &routes::LIST_CONFIG_SNAPSHOTS,
        "List a run's configuration snapshots",
        "A hash chain: `previousHash` is the hex SHA-256 of the RFC 8785 form of the whole previous item.",
    );
    let summary = Operation::of(
        &routes::GET_RUN_AUDIT_SUMMARY,
        "Sum up a run's audit",
        "The number and paths of its changes, and the head of its hash chain.",
    );
    vec![
        order.answers(Success::of::<WorkOrderAuditShape>(
            schemas,
            200,
            "Its runs.",
        )),
        run.answers(Success::of::<RunAuditShape>(schemas, 200, "The audit.")),
        changes.answers(Success::of::<ConfigChangesShape>(
            schemas,
            200,
            "The changes.",
        )),
        snapshots.answers(Success::of::<SnapshotsShape>(schemas, 200, "The chain.")),
        summary.answers(Success::of::<RunAuditSummaryShape>(
            schemas,
            200,
            "The summary.",
        )),
    ]
}
