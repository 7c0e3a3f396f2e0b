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
    /// What the caller can do.
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
pub const CODES: [ErrorCode; 19] = [
    code(
        "BAD_REQUEST",
        &[400],
        "The body, a query parameter or a header is wrong. Nothing was changed.",
        "Correct what the message names. Under `/v1`, `details.errors` has each fault with its place. A repetition fails again.",
    ),
    code(
        "UNAUTHORIZED",
        &[401],
        "The API key is missing, malformed, unknown, expired or revoked; the answer does not say which.",
        "Send `Authorization: Bearer org_live_…` with a key that is in force.",
    ),
    code(
        "FORBIDDEN",
        &[402, 403],
        "With 402, the available credits or a budget do not cover the hold of a run. With 403, the key lacks the scope that the message names, or the resource is built in.",
        "402: buy credits, wait for runs to settle, lower `limits.maxCredits`, or raise the budget that `details.budgetId` names. 403: use a key with that scope, or make a resource of your own.",
    ),
    code(
        "NOT_FOUND",
        &[404],
        "The organization has no such resource, or no route has the path. Under `/api/v1` this is the code of every missing resource.",
        "Check id and path. A resource of another organization is not distinguished from one that does not exist.",
    ),
    code(
        "WORK_ORDER_NOT_FOUND",
        &[404],
        "The organization has no work order of this id (paths under `/v1`).",
        "Check the id. A purged work order is gone for good.",
    ),
    code(
        "RUN_NOT_FOUND",
        &[404],
        "The organization has no run of this id (paths under `/v1`).",
        "Check the id. The runs of a purged work order are gone with it.",
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
        "STATEMENT_NOT_FOUND",
        &[404],
        "The organization has no statement of this month: nothing happened in it, or it has not begun.",
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
        "Read the resource again and decide anew. With an `Idempotency-Key`, repeat after a second.",
    ),
    code(
        "PAYLOAD_TOO_LARGE",
        &[413],
        "The body is larger than 256 KiB.",
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
        "Use a new key for a new request; repeat a request with the very same body.",
    ),
    code(
        "RATE_LIMITED",
        &[429],
        "The key has used up its requests of this minute, the organization has as many of these open at once as it may, or too many requests change the same resource. Nothing was done, except that a kill counts.",
        "Repeat after the seconds in `Retry-After`.",
    ),
    code(
        "QUEUE_FULL",
        &[503],
        "The organization's queue holds as many work orders as it may. Nothing was written.",
        "Repeat after the seconds in `Retry-After`, or cancel work orders that wait.",
    ),
    code(
        "INTERNAL_ERROR",
        &[500, 502, 504],
        "Something went wrong in the service or in the gateway before it.",
        "Repeat with the same `Idempotency-Key`. If it stays, report the `X-Request-Id`.",
    ),
];

/// The schema of a code.
pub fn schema() -> Value {
    json!({
        "type": "string",
        "enum": CODES.map(|of| of.code),
        "description": "What went wrong, for programs. Codes may be added: treat one that you do not know by its status.",
    })
}
