//! Operations of the audit.

use awo_audit::shape::{
    ConfigChangesShape, RunAuditShape, RunAuditSummaryShape, SnapshotsShape, WorkOrderAuditShape,
};
use awo_http::routes;

use crate::document::operation::{Operation, Success};
use crate::document::schema::Schemas;

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let order = Operation::of(
        &routes::GET_WORK_ORDER_AUDIT,
        "Audit a work order",
        "Its newest 100 runs, newest first, with the hash of what each went by at last.",
    );
    let run = Operation::of(
        &routes::GET_RUN_AUDIT,
        "Audit a run",
        "What it went by from its start to its end, and who stopped it. A run that no runner has \
         claimed went by nothing: those fields are left out.",
    );
    let changes = Operation::of(
        &routes::LIST_CONFIG_CHANGES,
        "List a run's configuration changes",
        "What changed while the run went on, by dotted path. A value that was or is absent is null.",
    );
    let snapshots = Operation::of(
        &routes::LIST_CONFIG_SNAPSHOTS,
        "List a run's configuration snapshots",
        "A hash chain: `previousHash` is the hex SHA-256 of the RFC 8785 form of the whole item before.",
    );
    let summary = Operation::of(
        &routes::GET_RUN_AUDIT_SUMMARY,
        "Sum up a run's audit",
        "How often it changed and where, and the head of its hash chain.",
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
