//! Common properties of responses, and the style of errors.

use std::collections::BTreeMap;

use awo_http::routes::Style;
use awo_tests::client::Answer;
use serde_json::Value;

use super::samples::Sample;

/// What an answer is, but for what is new in each one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Same {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub text: String,
}

/// Headers that say something of the one request.
const NEW_EACH_TIME: [&str; 7] = [
    "date",
    "x-request-id",
    "x-amzn-requestid",
    "x-amz-apigw-id",
    "x-amzn-trace-id",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];

/// Panics if the answer has no request id.
pub fn same(answer: &Answer) -> Same {
    let request_id = answer.header("x-request-id");
    assert!(!request_id.is_empty(), "{answer:?}");
    let stored = answer
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .filter(|(name, _)| !NEW_EACH_TIME.contains(&name.as_str()));
    Same {
        status: answer.status,
        headers: stored.collect(),
        text: answer.text.replace(request_id, "<request id>"),
    }
}

/// An error is dressed as its route is, and has this status and code.
pub fn is_error(answer: &Answer, style: Style, status: u16, code: &str, what: &str) {
    let body = &answer.body;
    let error = body["error"].as_object().cloned().unwrap_or_default();
    assert_eq!(
        (answer.status, error.get("code").and_then(Value::as_str)),
        (status, Some(code)),
        "{what}: {}",
        answer.text
    );
    let names = |value: &Value| -> Vec<String> {
        let object = value.as_object().cloned().unwrap_or_default();
        object.keys().cloned().collect()
    };
    match style {
        Style::Envelope => {
            assert_eq!(names(body), ["error", "requestId", "success"], "{what}");
            assert_eq!(names(&body["error"]), ["code", "message"], "{what}");
            assert_eq!(body["requestId"], answer.header("x-request-id"), "{what}");
        }
        Style::Plain => {
            assert_eq!(names(body), ["error"], "{what}");
            assert_eq!(
                names(&body["error"]),
                ["code", "details", "message"],
                "{what}"
            );
            assert!(body["error"]["details"].is_object(), "{what}");
        }
    }
}

/// For messages.
pub fn what(sample: &Sample, with: &str) -> String {
    let Sample { route, .. } = sample;
    format!("{} {} with {with}", route.method, route.path)
}
