//! Counting a call's tokens: Bedrock's CountTokens takes the body of an InvokeModel, whose answer it would
//! be, and costs nothing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::header::HeaderMap;
use reqwest::Response;
use serde::Deserialize;
use serde_json::json;

use crate::proxy::answer::Answer;
use crate::proxy::refusal::error_body;

/// Largest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 65_536;
/// The answer that cannot be read is the provider's failure.
const UNREADABLE: &str = "answered without a count of tokens";

/// What the limit of an answer's length depends on.
#[derive(Debug, Default, Deserialize)]
struct AnswerLimits {
    #[serde(default)]
    max_tokens: Option<u64>,
    #[serde(default)]
    thinking: Option<Thinking>,
}

#[derive(Debug, Default, Deserialize)]
struct Thinking {
    #[serde(default)]
    budget_tokens: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenCount {
    input_tokens: u64,
}

/// The request for a body in the form of an InvokeModel. That demands a limit of the answer's length,
/// above the budget of its thinking; what is counted does not depend on it.
pub(super) fn request(body: &[u8]) -> Vec<u8> {
    let limited: AnswerLimits = serde_json::from_slice(body).unwrap_or_default();
    let mut body = body.to_vec();
    if limited.max_tokens.is_none()
        && let Some(end) = body.iter().rposition(|byte| *byte == b'}')
    {
        let budget = limited.thinking.unwrap_or_default().budget_tokens;
        let limit = format!(r#","max_tokens":{}"#, budget.saturating_add(1));
        body.splice(end..end, limit.into_bytes());
    }
    let invoke_model = json!({ "body": STANDARD.encode(body) });
    json!({ "input": { "invokeModel": invoke_model } })
        .to_string()
        .into_bytes()
}

/// The count in Anthropic's form.
pub(super) async fn answer(headers: HeaderMap, mut answer: Response) -> Answer {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = answer.chunk().await {
        if body.len() + piece.len() > MAX_ANSWER_BYTES {
            break;
        }
        body.extend_from_slice(&piece);
    }
    match serde_json::from_slice(&body) {
        Ok(TokenCount { input_tokens }) => {
            let body = json!({ "input_tokens": input_tokens }).to_string();
            Answer::whole(StatusCode::OK, headers, body.into_bytes(), None)
        }
        Err(_) => {
            let status = StatusCode::BAD_GATEWAY;
            let body = error_body(status, &format!("bedrock {UNREADABLE}"));
            Answer::whole(status, headers, body, Some(UNREADABLE.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn asked(body: &str) -> Value {
        let request: Value = serde_json::from_slice(&request(body.as_bytes())).unwrap();
        let body = request["input"]["invokeModel"]["body"].as_str().unwrap();
        serde_json::from_slice(&STANDARD.decode(body).unwrap()).unwrap()
    }

    #[test]
    fn a_body_gets_the_limit_that_it_lacks_above_the_budget_of_its_thinking() {
        for (body, limit) in [
            (r#"{"messages":[]}"#, 1),
            (r#"{"max_tokens":7,"messages":[]}"#, 7),
            (
                r#"{"thinking":{"type":"enabled","budget_tokens":2048}}"#,
                2_049,
            ),
            (r#"{"thinking":{"type":"disabled"},"messages":[{}]} "#, 1),
        ] {
            let asked = asked(body);
            assert_eq!(asked["max_tokens"], limit, "{body}");
            let mut rest = asked;
            let own: Value = serde_json::from_str(body).unwrap();
            if own.get("max_tokens").is_none() {
                rest.as_object_mut().unwrap().remove("max_tokens");
            }
            assert_eq!(rest, own);
        }
    }
}
