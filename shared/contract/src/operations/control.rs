//! The runners' own API.

use crate::routes::{Route, control};

/// `POST /control/claim`
pub const CLAIM: Route = control("claim", "/control/claim");
/// `POST /control/{orgId}/runs/{runId}/report`
pub const REPORT: Route = control("report", "/control/{orgId}/runs/{runId}/report");
/// `POST /control/{orgId}/runs/{runId}/finish`
pub const FINISH: Route = control("finish", "/control/{orgId}/runs/{runId}/finish");
/// `POST /control/{orgId}/runs/{runId}/children`
pub const OPEN_CHILDREN: Route = control("open-children", "/control/{orgId}/runs/{runId}/children");
/// `POST /control/{orgId}/runs/{runId}/logs`
pub const KEEP_LOG: Route = control("keep-log", "/control/{orgId}/runs/{runId}/logs");
/// `POST /control/{orgId}/runs/{runId}/credentials`
pub const ISSUE_CREDENTIALS: Route = control(
    "issue-credentials",
    "/control/{orgId}/runs/{runId}/credentials",
);
/// `POST /control/verifications/claim`
pub const CLAIM_VERIFICATION: Route = control("claim-verification", "/control/verifications/claim");
/// `POST /control/{orgId}/verifications/{verificationId}/report`
pub const REPORT_VERIFICATION: Route = control(
    "report-verification",
    "/control/{orgId}/verifications/{verificationId}/report",
);
/// `POST /control/{orgId}/runs/{runId}/diff`
pub const KEEP_DIFF: Route = control("keep-diff", "/control/{orgId}/runs/{runId}/diff");

/// `POST /control/{orgId}/runs/{runId}/baseline`
pub const SHARE_BASELINE: Route =
    control("share-baseline", "/control/{orgId}/runs/{runId}/baseline");

/// `POST /control/{orgId}/runs/{runId}/turn`
pub const RECORD_TURN: Route = control("record-turn", "/control/{orgId}/runs/{runId}/turn");

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    CLAIM,
    REPORT,
    FINISH,
    OPEN_CHILDREN,
    KEEP_LOG,
    ISSUE_CREDENTIALS,
    CLAIM_VERIFICATION,
    REPORT_VERIFICATION,
    KEEP_DIFF,
    SHARE_BASELINE,
    RECORD_TURN,
];
