//! Errors, in both styles.

pub mod codes;

use awo_domain::thread::NoFollowUp;
use serde_json::{Map, Value, json};

use crate::routes::Style;
use crate::schema::{described, reference};

/// The failures. The status of each is defined once, in [`Failure::status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    BadRequest,
    Unauthorized,
    InsufficientCredits,
    Forbidden,
    NotFound,
    Conflict,
    PayloadTooLarge,
    UnsupportedMediaType,
    IdempotencyMismatch,
    RateLimited,
    InternalError,
    QueueFull,
}

impl Failure {
    const ALL: [Failure; 12] = [
        Failure::BadRequest,
        Failure::Unauthorized,
        Failure::InsufficientCredits,
        Failure::Forbidden,
        Failure::NotFound,
        Failure::Conflict,
        Failure::PayloadTooLarge,
        Failure::UnsupportedMediaType,
        Failure::IdempotencyMismatch,
        Failure::RateLimited,
        Failure::InternalError,
        Failure::QueueFull,
    ];

    pub fn status(self) -> u16 {
        match self {
            Failure::BadRequest => 400,
            Failure::Unauthorized => 401,
            Failure::InsufficientCredits => 402,
            Failure::Forbidden => 403,
            Failure::NotFound => 404,
            Failure::Conflict => 409,
            Failure::PayloadTooLarge => 413,
            Failure::UnsupportedMediaType => 415,
            Failure::IdempotencyMismatch => 422,
            Failure::RateLimited => 429,
            Failure::InternalError => 500,
            Failure::QueueFull => 503,
        }
    }

    fn description(self) -> &'static str {
        match self {
            Failure::BadRequest => {
                "The body, a query parameter or a header is invalid. Each fault is listed with its location. Nothing was changed."
            }
            Failure::Unauthorized => {
                "The API key is missing, malformed, unknown or revoked; the response does not distinguish these. Of a delivery: its signature does not hold, or there is no such inbox."
            }
            Failure::InsufficientCredits => {
                "The available credits or a budget do not cover the hold of a run. Nothing was written."
            }
            Failure::Forbidden => {
                "The key lacks the scope, or the resource is built in and cannot be changed."
            }
            Failure::NotFound => "Your organization has no such resource.",
            Failure::Conflict => {
                "The state of the resource does not allow the request. Nothing was changed."
            }
            Failure::PayloadTooLarge => {
                "The body is larger than 256 KiB, or that of a delivery than 4 MiB."
            }
            Failure::UnsupportedMediaType => "A body must be declared as `application/json`.",
            Failure::IdempotencyMismatch => "The `Idempotency-Key` was used with another body.",
            Failure::RateLimited => {
                "Too many requests of this key, too many concurrent requests of this kind, or too many that change the same resource. Repeat after the seconds in `Retry-After`."
            }
            Failure::InternalError => "The service failed. The request id identifies the failure.",
            Failure::QueueFull => {
                "The organization's queue is full, or too many of its deliveries are not processed. Repeat after the seconds in `Retry-After`."
            }
        }
    }

    fn name(self, style: Style) -> String {
        match style {
            Style::Plain => format!("Plain{self:?}"),
            Style::Envelope => format!("Envelope{self:?}"),
        }
    }

    /// A reference to its response in a style.
    pub fn reference(self, style: Style) -> Value {
        json!({ "$ref": format!("#/components/responses/{}", self.name(style)) })
    }

    fn response(self, style: Style, example: Option<Value>) -> Value {
        let schema = match style {
            Style::Plain => reference("ApiError"),
            Style::Envelope => reference("EnvelopeError"),
        };
        let mut headers = Map::new();
        let mut add = |name: &str| {
            let to = format!("#/components/headers/{name}");
            headers.insert(name.to_owned(), json!({ "$ref": to }));
        };
        add("X-Request-Id");
        if matches!(self, Failure::RateLimited | Failure::QueueFull) {
            add("Retry-After");
        }
        let mut content = json!({ "schema": schema });
        if let Some(example) = example {
            content["example"] = example;
        }
        json!({
            "description": self.description(),
            "headers": headers,
            "content": { "application/json": content },
        })
    }
}

/// The responses of everything that can go wrong, as far as these paths refer to them.
pub fn responses(paths: &str, example: impl Fn(&str, u16) -> Option<Value>) -> Value {
    let mut all = Map::new();
    for (style, dir) in [
        (Style::Plain, "plain-error"),
        (Style::Envelope, "envelope-error"),
    ] {
        for failure in Failure::ALL {
            let name = failure.name(style);
            if paths.contains(&format!("/{name}\"")) {
                let example = example(dir, failure.status());
                all.insert(name, failure.response(style, example));
            }
        }
    }
    Value::Object(all)
}

/// The schemas of error bodies: plain, and in the envelope. They are open, as those of all answers
/// are: what a gateway answers by itself has the members of both.
pub fn schemas() -> Vec<(&'static str, Value)> {
    let code = described(reference("ErrorCode"), "The kind of error, for programs.");
    let message =
        json!({ "type": "string", "description": "For people: the cause and the remedy." });
    let plain = json!({
        "code": code,
        "message": message,
        "details": described(reference("ApiErrorDetails"), "More about it, by code."),
    });
    let fault = json!({
        "path": { "type": "string", "description": "A JSON pointer into the body, or the name of a parameter or header." },
        "message": { "type": "string", "description": "The fault there." },
    });
    let envelope = json!({
        "success": { "const": false, "description": "False: it was not done." },
        "error": described(reference("EnvelopeErrorContent"), "The fault."),
        "requestId": { "type": "string", "description": "As the header `X-Request-Id`." },
    });
    let error = json!({ "error": described(reference("ApiErrorContent"), "The fault.") });
    vec![
        ("ErrorCode", codes::schema()),
        (
            "FieldError",
            open("One fault of a request.", &["path", "message"], &fault),
        ),
        reason(),
        details(),
        (
            "ApiErrorContent",
            open("The fault.", &["code", "message", "details"], &plain),
        ),
        (
            "ApiError",
            open("An error of a path under `/v1`.", &["error"], &error),
        ),
        (
            "EnvelopeErrorContent",
            open(
                "The fault.",
                &["code", "message"],
                &json!({ "code": code, "message": message }),
            ),
        ),
        (
            "EnvelopeError",
            open(
                "An error of a path under `/api/v1`.",
                &["success", "error", "requestId"],
                &envelope,
            ),
        ),
    ]
}

fn reason() -> (&'static str, Value) {
    (
        "NoFollowUpReason",
        json!({
            "type": "string",
            "enum": NoFollowUp::ALL.map(NoFollowUp::as_str),
            "description": "Reason for which a work order cannot be followed up.",
        }),
    )
}

fn details() -> (&'static str, Value) {
    let errors = json!({
        "type": "array",
        "items": reference("FieldError"),
        "description": "For `BAD_REQUEST`: the faults of the request, at most the first hundred.",
    });
    (
        "ApiErrorDetails",
        open(
            "Details of an error, by its code.",
            &[],
            &json!({
                "errors": errors,
                "budgetId": { "type": "string", "description": "For 402: the budget that does not cover the hold." },
                "limitCredits": { "type": "number", "description": "For 402: the limit of that budget, in credits." },
                "remainingCredits": { "type": "number", "description": "For 402: the remaining credits of that budget." },
                "reason": described(
                    reference("NoFollowUpReason"),
                    "For 409 of a follow-up: the reason for which the thread takes no turn.",
                ),
            }),
        ),
    )
}

/// An object that may have more members than these.
fn open(description: &str, required: &[&str], properties: &Value) -> Value {
    let mut schema =
        json!({ "type": "object", "description": description, "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}
