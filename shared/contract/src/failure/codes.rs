//! The codes of errors: when each comes, and what to do.

use serde_json::{Value, json};

/// A code of an error.
#[derive(Debug, Clone, Copy)]
pub struct ErrorCode {
    /// The code.
    pub code: &'static str,
    /// The statuses with which it comes.
    pub statuses: &'static [u16],
    /// When it comes.
    pub cause: &'static str,
    /// The caller's next step.
    pub remedy: &'static str,
}

const fn code(
    code: &'static str,
    statuses: &'static [u16],
    cause: &'static str,
    remedy: &'static str,
) -> ErrorCode {
    ErrorCode {
        code,
        statuses,
        cause,
        remedy,
    }
}

/// Every code.
pub const CODES: [ErrorCode; 22] = [
    code(
        "BAD_REQUEST",
        &[400],
        "The body, a query parameter or a header is wrong. Nothing was changed.",
        "Correct what the message names. Under `/v1`, `details.errors` has each fault with its location. An unchanged repetition fails again.",
    ),
    code(
        "UNAUTHORIZED",
        &[401],
        "The API key is missing, malformed, unknown, expired or revoked; the response does not distinguish these. At `/v1/hooks/`: the signature does not hold, or the inbox is missing or disabled.",
        "Send `Authorization: Bearer org_live_…` with a valid key. A sender of deliveries needs the URL and the secret of the inbox.",
    ),
    code(
        "FORBIDDEN",
        &[402, 403],
        "With 402, the available credits or a budget do not cover the hold of a run. With 403, the key lacks the scope that the message names, or the resource is built in.",
        "402: buy credits, wait for runs to settle, lower `limits.maxCredits`, or raise the budget that `details.budgetId` names. 403: use a key with that scope, or create your own resource.",
    ),
    code(
        "NOT_FOUND",
        &[404],
        "The organization has no such resource, or no route has the path. Under `/api/v1` this is the code of every missing resource.",
        "Check id and path. A resource of another organization and a missing one get the same response.",
    ),
    code(
        "WORK_ORDER_NOT_FOUND",
        &[404],
        "The organization has no work order of this id (paths under `/v1`).",
        "Check the id. A purged work order cannot be restored.",
    ),
    code(
        "RUN_NOT_FOUND",
        &[404],
        "The organization has no run of this id (paths under `/v1`).",
        "Check the id. A purge also deletes the runs of a work order.",
    ),
    code(
        "TEMPLATE_NOT_FOUND",
        &[404],
        "The organization has no template of this id (paths under `/v1`).",
        "Check the id, or list the templates.",
    ),
    code(
        "ENVIRONMENT_NOT_FOUND",
        &[404],
        "The organization has no environment of this name.",
        "Check the name, or list the environments.",
    ),
    code(
        "WEBHOOK_NOT_FOUND",
        &[404],
        "The organization has no webhook of this id (paths under `/v1`).",
        "Check the id, or list the webhooks.",
    ),
    code(
        "BUDGET_NOT_FOUND",
        &[404],
        "The organization has no budget of this id.",
        "Check the id, or list the budgets.",
    ),
    code(
        "SCHEDULE_NOT_FOUND",
        &[404],
        "The organization has no schedule of this id.",
        "Check the id, or list the schedules.",
    ),
    code(
        "TRIGGER_NOT_FOUND",
        &[404],
        "The organization has no trigger of this id.",
        "Check the id, or list the triggers.",
    ),
    code(
        "INBOX_NOT_FOUND",
        &[404],
        "The organization has no inbox of this id.",
        "Check the id, or list the inboxes.",
    ),
    code(
        "STATEMENT_NOT_FOUND",
        &[404],
        "The organization has no statement of this month: it has no entries, or has not begun.",
        "List the statements.",
    ),
    code(
        "METHOD_NOT_ALLOWED",
        &[405],
        "The path exists and has other methods.",
        "Use a method that the header `Allow` lists.",
    ),
    code(
        "CONFLICT",
        &[409],
        "The state of the resource does not allow the request, its name is taken, a limit of the organization is reached, or a request with the same `Idempotency-Key` is in flight. Nothing was changed.",
        "Read the resource again and reconsider the request. With an `Idempotency-Key`, repeat after a second.",
    ),
    code(
        "PAYLOAD_TOO_LARGE",
        &[413],
        "The body is larger than 256 KiB, or that of a delivery than 4 MiB.",
        "Send less. Put long texts into the repository and name them in the task.",
    ),
    code(
        "UNSUPPORTED_MEDIA_TYPE",
        &[415],
        "The request has a body that is not declared as `application/json`.",
        "Send `Content-Type: application/json`, or no body.",
    ),
    code(
        "IDEMPOTENCY_MISMATCH",
        &[422],
        "The `Idempotency-Key` was used with another body in the last 24 hours.",
        "Use a new key for a new request; repeat a request with the same body.",
    ),
    code(
        "RATE_LIMITED",
        &[429],
        "The key has used up its requests of this minute, the organization has the maximum of concurrent requests of this kind, or too many requests change the same resource. The request had no effect, except that a kill takes effect.",
        "Repeat after the seconds in `Retry-After`.",
    ),
    code(
        "QUEUE_FULL",
        &[503],
        "The organization's queue is full, or a thousand deliveries to its inboxes are not processed. Nothing was written.",
        "Repeat after the seconds in `Retry-After`, or cancel waiting work orders.",
    ),
    code(
        "INTERNAL_ERROR",
        &[500, 502, 504],
        "The service failed, or the gateway before it.",
        "Repeat with the same `Idempotency-Key`. If the error persists, report the `X-Request-Id`.",
    ),
];

/// The schema of a code.
pub fn schema() -> Value {
    json!({
        "type": "string",
        "enum": CODES.map(|of| of.code),
        "description": "The kind of error, for programs. Codes may be added: handle an unknown code by its status.",
    })
}
