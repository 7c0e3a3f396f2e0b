//! Failures of Bedrock's in Anthropic's form. What they hold about accounts, roles and permissions
//! is for the operator: agents get words of our own.

use http::StatusCode;
use http::header::{HeaderMap, RETRY_AFTER};
use reqwest::Response;
use serde::Deserialize;

use crate::proxy::refusal::error_body;

/// The header that names an error, and what may follow the name.
const ERROR_TYPE: &str = "x-amzn-errortype";
/// Largest body of an error that is read, in bytes.
const MAX_BODY_BYTES: usize = 65_536;
/// Longest message that an agent gets to see, in characters.
const MAX_MESSAGE: usize = 1_000;
/// Credentials that have expired are refused by this name.
const EXPIRED: &str = "ExpiredTokenException";

/// The body of an error, and the payload of an exception.
#[derive(Debug, Default, Deserialize)]
struct ErrorBody {
    #[serde(default, alias = "Message")]
    message: String,
}

/// The message of an error, of bounded length; `or` where it has none.
pub(super) fn message_of(body: &[u8], or: impl FnOnce() -> String) -> String {
    let error: ErrorBody = serde_json::from_slice(body).unwrap_or_default();
    if error.message.is_empty() {
        or()
    } else {
        error.message.chars().take(MAX_MESSAGE).collect()
    }
}

/// A failed call, as the agent sees it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// What Bedrock did, as a predicate, if it is an outage.
    pub(super) outage: Option<String>,
}

/// True if the credentials of the call have expired.
pub(super) fn is_expired(status: StatusCode, headers: &HeaderMap) -> bool {
    status.is_client_error() && name_of(headers) == EXPIRED
}

/// Such as `ThrottlingException`: a URL may follow it.
fn name_of(headers: &HeaderMap) -> &str {
    let name = headers.get(ERROR_TYPE);
    let name = name.and_then(|name| name.to_str().ok()).unwrap_or_default();
    name.split([':', ',']).next().unwrap_or_default()
}

impl Failure {
    /// Reads the answer.
    pub(super) async fn read(mut answer: Response) -> Failure {
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut body = Vec::new();
        while let Ok(Some(piece)) = answer.chunk().await {
            if body.len() + piece.len() > MAX_BODY_BYTES {
                break;
            }
            body.extend_from_slice(&piece);
        }
        Failure::of(status, &headers, &body)
    }

    fn of(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
        let name = name_of(headers);
        let text = message_of(body, || format!("bedrock answered {}", status.as_u16()));
        let (as_status, message) = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                tracing::warn!(
                    event = "bedrock_refused",
                    name,
                    message = text,
                    "bedrock refused a call"
                );
                let message = "bedrock did not accept the deployment's role, or the role may not \
                               call this model: its operator checks BedrockRegion, \
                               BedrockInferenceProfiles and the access to the model";
                (StatusCode::FORBIDDEN, message.to_owned())
            }
            // A model that failed or took too long: calling again can help.
            StatusCode::FAILED_DEPENDENCY => (StatusCode::BAD_GATEWAY, text),
            StatusCode::REQUEST_TIMEOUT => (StatusCode::GATEWAY_TIMEOUT, text),
            status if status.is_redirection() || status.is_informational() => {
                let message = format!("bedrock answered {status}, which is not followed");
                (StatusCode::BAD_GATEWAY, message)
            }
            status => (status, text),
        };
        let is_outage = as_status == StatusCode::TOO_MANY_REQUESTS
            || (as_status.is_server_error() && !status.is_redirection());
        let retry_after = headers.get(RETRY_AFTER).cloned();
        let passed_on = retry_after.map(|after| (RETRY_AFTER, after));
        Failure {
            status: as_status,
            headers: passed_on.into_iter().collect(),
            body: error_body(as_status, &message),
            outage: is_outage.then(|| match name {
                "" => format!("answered {}", status.as_u16()),
                name => format!("answered {} ({name})", status.as_u16()),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn failure(status: u16, name: &'static str, body: &str) -> Failure {
        let mut headers = HeaderMap::new();
        headers.insert(ERROR_TYPE, HeaderValue::from_static(name));
        headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        Failure::of(
            StatusCode::from_u16(status).unwrap(),
            &headers,
            body.as_bytes(),
        )
    }

    #[test]
    fn a_failure_has_anthropics_form_and_outages_are_known() {
        for (status, name, as_status, kind, outage) in [
            (
                429,
                "ThrottlingException:http://x/",
                429,
                "rate_limit_error",
                true,
            ),
            (503, "ServiceUnavailableException", 503, "api_error", true),
            (500, "InternalServerException", 500, "api_error", true),
            (424, "ModelErrorException", 502, "api_error", true),
            (408, "ModelTimeoutException", 504, "api_error", true),
            (
                400,
                "ValidationException",
                400,
                "invalid_request_error",
                false,
            ),
            (
                404,
                "ResourceNotFoundException",
                404,
                "not_found_error",
                false,
            ),
            (307, "", 502, "api_error", false),
        ] {
            let failure = failure(status, name, r#"{"message":"why"}"#);
            assert_eq!(failure.status.as_u16(), as_status, "{name}");
            let body: serde_json::Value = serde_json::from_slice(&failure.body).unwrap();
            assert_eq!(body["type"], "error");
            assert_eq!(body["error"]["type"], kind, "{name}");
            assert_eq!(failure.outage.is_some(), outage, "{name}");
            assert_eq!(failure.headers[RETRY_AFTER], "7");
            if status != 307 {
                assert_eq!(body["error"]["message"], "why");
            }
        }
    }

    #[test]
    fn what_aws_writes_of_identities_is_not_passed_on() {
        let denied =
            r#"{"Message":"User: arn:aws:sts::111122223333:assumed-role/x is not authorized"}"#;
        let failure = failure(403, "AccessDeniedException", denied);
        let body = String::from_utf8(failure.body).unwrap();
        assert!(!body.contains("111122223333"), "{body}");
        assert!(body.contains("permission_error"), "{body}");
        assert_eq!(failure.outage, None);
    }

    #[test]
    fn only_expired_credentials_are_worth_others() {
        let is = |status: u16, name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ERROR_TYPE, HeaderValue::from_static(name));
            is_expired(StatusCode::from_u16(status).unwrap(), &headers)
        };
        assert!(is(403, "ExpiredTokenException"));
        assert!(is(400, "ExpiredTokenException:http://internal.amazon.com/"));
        assert!(!is(403, "AccessDeniedException"));
        assert!(!is(500, "ExpiredTokenException"));
    }
}
