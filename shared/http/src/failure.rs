//! Maps every error to its status, its code and its style.

use awo_domain::{Error, Resource};
use serde_json::{Value, json};

use awo_contract::routes::Style;

/// An error as an HTTP response.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: u16,
    pub code: &'static str,
    pub message: String,
    pub details: Value,
    pub headers: Vec<(&'static str, String)>,
}

impl Failure {
    pub fn of(error: &Error, style: Style) -> Failure {
        let (status, code) = match error {
            Error::Unauthorized | Error::UnsignedDelivery => (401, "UNAUTHORIZED"),
            Error::MissingScope(_) | Error::BuiltIn(_) => (403, "FORBIDDEN"),
            Error::InsufficientCredits { .. } | Error::OverBudget { .. } => (402, "FORBIDDEN"),
            Error::NotFound(resource) => (404, not_found(*resource, style)),
            Error::MethodNotAllowed { .. } => (405, "METHOD_NOT_ALLOWED"),
            Error::Conflict(_) | Error::NoFollowUp(_) => (409, "CONFLICT"),
            Error::Invalid(_) => (400, "BAD_REQUEST"),
            Error::UnsupportedMediaType => (415, "UNSUPPORTED_MEDIA_TYPE"),
            Error::PayloadTooLarge { .. } => (413, "PAYLOAD_TOO_LARGE"),
            Error::IdempotencyMismatch => (422, "IDEMPOTENCY_MISMATCH"),
            Error::RateLimited { .. }
            | Error::TooManyAtOnce { .. }
            | Error::KillUnderWay { .. }
            | Error::Contended { .. } => (429, "RATE_LIMITED"),
            Error::QueueFull { .. } | Error::InboxesFull { .. } => (503, "QUEUE_FULL"),
            Error::Internal { .. } => (500, "INTERNAL_ERROR"),
        };
        let headers = match error {
            Error::Unauthorized => vec![("www-authenticate", "Bearer".to_owned())],
            Error::MethodNotAllowed { allow } => vec![("allow", allow.clone())],
            Error::RateLimited { retry_after_s }
            | Error::TooManyAtOnce { retry_after_s, .. }
            | Error::KillUnderWay { retry_after_s }
            | Error::Contended { retry_after_s, .. }
            | Error::QueueFull { retry_after_s }
            | Error::InboxesFull { retry_after_s, .. } => {
                vec![("retry-after", retry_after_s.to_string())]
            }
            _ => Vec::new(),
        };
        let details = match error {
            Error::Invalid(faults) => json!({
                "errors": faults.iter().map(|f| json!({ "path": f.path, "message": f.message })).collect::<Vec<_>>()
            }),
            Error::OverBudget {
                budget_id,
                limit,
                remaining,
                ..
            } => json!({
                "budgetId": budget_id, "limitCredits": limit, "remainingCredits": remaining,
            }),
            Error::NoFollowUp(reason) => json!({ "reason": reason.as_str() }),
            _ => json!({}),
        };
        Failure {
            status,
            code,
            message: error.to_string(),
            details,
            headers,
        }
    }

    pub fn body(&self, style: Style, request_id: &str) -> Value {
        match style {
            Style::Envelope => json!({
                "success": false,
                "error": { "code": self.code, "message": self.message },
                "requestId": request_id,
            }),
            Style::Plain => json!({
                "error": { "code": self.code, "message": self.message, "details": self.details },
            }),
        }
    }
}

fn not_found(resource: Resource, style: Style) -> &'static str {
    match (resource, style) {
        (Resource::WorkOrder, Style::Plain) => "WORK_ORDER_NOT_FOUND",
        (Resource::Run, Style::Plain) => "RUN_NOT_FOUND",
        (Resource::Template, Style::Plain) => "TEMPLATE_NOT_FOUND",
        (Resource::Environment, Style::Plain) => "ENVIRONMENT_NOT_FOUND",
        (Resource::Webhook, Style::Plain) => "WEBHOOK_NOT_FOUND",
        (Resource::Budget, Style::Plain) => "BUDGET_NOT_FOUND",
        (Resource::Schedule, Style::Plain) => "SCHEDULE_NOT_FOUND",
        (Resource::Trigger, Style::Plain) => "TRIGGER_NOT_FOUND",
        (Resource::Inbox, Style::Plain) => "INBOX_NOT_FOUND",
        (Resource::Statement, Style::Plain) => "STATEMENT_NOT_FOUND",
        (
            Resource::QueueEntry
            | Resource::Plugin
            | Resource::Profile
            | Resource::Delivery
            | Resource::EnvironmentSecret
            | Resource::Route,
            _,
        )
        | (_, Style::Envelope) => "NOT_FOUND",
    }
}
