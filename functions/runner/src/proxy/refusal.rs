//! The proxy's own responses, in the format of the called provider, so that agents understand them.

use awo_domain::control::Provider;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde::Serialize;

use super::call::Pieces;

/// Why a call gets no answer of a provider's.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) message: String,
    /// Seconds after which the call may be made again.
    retry_after: Option<u16>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal {
            status,
            message: message.into(),
            retry_after: None,
        }
    }

    /// A refusal of now: the same call may be made again so many seconds later.
    pub(super) fn for_now(seconds: u16, message: impl Into<String>) -> Refusal {
        Refusal {
            retry_after: Some(seconds),
            ..Refusal::new(StatusCode::TOO_MANY_REQUESTS, message)
        }
    }

    /// As an answer.
    pub(super) fn answer(self, provider: Provider) -> Response<Pieces> {
        let is_openai = provider == Provider::Openai;
        let body = body(self.status, &self.message, is_openai);
        let never = |never: std::convert::Infallible| match never {};
        let body = Full::new(Bytes::from(body)).map_err(never).boxed_unsync();
        let mut answer = Response::new(body);
        *answer.status_mut() = self.status;
        let json = HeaderValue::from_static("application/json");
        answer.headers_mut().insert(CONTENT_TYPE, json);
        if let Some(seconds) = self.retry_after {
            answer.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        answer
    }
}

/// The body of an error in the words of Messages, which Anthropic and Bedrock speak.
pub(super) fn error_body(status: StatusCode, message: &str) -> Vec<u8> {
    body(status, message, false)
}

fn body(status: StatusCode, message: &str, is_openai: bool) -> Vec<u8> {
    let kind = kind(status);
    let error = Fault {
        kind,
        message,
        code: is_openai.then_some(kind),
    };
    let envelope = Envelope {
        kind: (!is_openai).then_some("error"),
        error,
    };
    serde_json::to_vec(&envelope).unwrap_or_default()
}

#[derive(Serialize)]
struct Envelope<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    error: Fault<'a>,
}

#[derive(Serialize)]
struct Fault<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
}

fn kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::PAYMENT_REQUIRED => "billing_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "api_error",
    }
}
