//! The meaning of a response of a forge's API, where forges agree. Pure but for the clock that
//! determines a limit's end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use http::header::HeaderMap;
use serde_json::Value;

use crate::Fault;

/// How much of a forge's own words an error quotes, in characters.
pub(crate) const MAX_WORDS: usize = 500;
/// The wait for a limit without a stated time.
pub(crate) const RATE_LIMIT_PAUSE: Duration = Duration::from_secs(60);

/// The body of an answer, or the fault; `limited` tells a limit of calls from other refusals.
pub(crate) fn judge(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    limited: impl FnOnce(StatusCode, &HeaderMap, &str) -> Option<Duration>,
) -> Result<Value, Fault> {
    if is_passing(status) {
        return Err(Fault::Again(format!("{status}: {}", words(body)), None));
    }
    if status.is_success() {
        if body.is_empty() {
            return Ok(Value::Null);
        }
        let read = serde_json::from_slice(body);
        return read.map_err(|_| Fault::Refused(status, "its answer is not JSON".to_owned()));
    }
    if status.is_redirection() {
        let why = "the repository has moved, or the API leads elsewhere, which is not followed: \
                   use the repository's current URL";
        return Err(Fault::Refused(status, why.to_owned()));
    }
    let reported = words(body);
    match limited(status, headers, &reported) {
        Some(pause) => Err(Fault::Again(format!("{status}: {reported}"), Some(pause))),
        None => Err(Fault::Refused(status, reported)),
    }
}

/// True for a failure that is the server's and may pass.
pub(crate) fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT
}

/// How long to wait, if this is a limit of calls: 429, with the wait or the end of the limit.
pub(crate) fn too_many(status: StatusCode, headers: &HeaderMap, _words: &str) -> Option<Duration> {
    let is_limit = status == StatusCode::TOO_MANY_REQUESTS;
    let after = number(headers, "retry-after").map(Duration::from_secs);
    let reset = number(headers, "ratelimit-reset").or(number(headers, "x-ratelimit-reset"));
    let pause = after.or(reset.map(until));
    is_limit.then(|| pause.unwrap_or(RATE_LIMIT_PAUSE))
}

/// The number in a header.
pub(crate) fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

/// How long until a second of the clock has passed.
pub(crate) fn until(second: u64) -> Duration {
    Duration::from_secs(second.saturating_sub(epoch_seconds()) + 1)
}

pub(crate) fn epoch_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A forge's own words, in one line: the message, which may be a text, a list or texts by field, and
/// what its list of errors adds.
pub(crate) fn words(body: &[u8]) -> String {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    for name in ["message", "error", "error_description"] {
        collect(&json[name], "", &mut parts);
    }
    for error in json["errors"].as_array().into_iter().flatten() {
        let text = |name: &str| error[name].as_str().unwrap_or_default();
        parts.push(match (error.as_str(), text("message")) {
            (Some(plain), _) => plain.to_owned(),
            (None, "") => format!("{} {}", text("field"), text("code")),
            (None, message) => message.to_owned(),
        });
    }
    let line = parts.join("; ");
    let line = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = line.take(MAX_WORDS).collect();
    match line.trim() {
        "" => "it gave no reason".to_owned(),
        line => line.to_owned(),
    }
}

fn collect(message: &Value, field: &str, parts: &mut Vec<String>) {
    match message {
        Value::String(text) if field.is_empty() => parts.push(text.clone()),
        Value::String(text) => parts.push(format!("{field} {text}")),
        Value::Array(list) => {
            for one in list.iter().filter(|one| one.is_string()) {
                collect(one, field, parts);
            }
        }
        Value::Object(fields) => {
            for (name, one) in fields.iter().filter(|(_, one)| !one.is_object()) {
                collect(one, name, parts);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn judged(status: u16, headers: &[(&'static str, &str)], body: &str) -> Result<Value, Fault> {
        let pairs = headers.iter().map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, HeaderValue::from_str(value).unwrap())
        });
        let status = StatusCode::from_u16(status).unwrap();
        judge(status, &pairs.collect(), body.as_bytes(), too_many)
    }

    #[test]
    fn a_refusal_quotes_gitlab_and_gitea_in_each_shape_of_their_messages() {
        for (body, words) in [
            (
                r#"{"message":["Another open merge request already exists for this source branch: !5"]}"#,
                "Another open merge request already exists for this source branch: !5",
            ),
            (
                r#"{"message":{"base":["is too long"],"title":["can't be blank"]}}"#,
                "base is too long; title can't be blank",
            ),
            (
                r#"{"error":"insufficient_scope","error_description":"The request requires higher privileges","scope":"api"}"#,
                "insufficient_scope; The request requires higher privileges",
            ),
            (
                r#"{"message":"404 Project Not Found"}"#,
                "404 Project Not Found",
            ),
            (
                r#"{"message":"GetUserByName","url":"https://git.example/api/swagger"}"#,
                "GetUserByName",
            ),
            ("<html>", "it gave no reason"),
        ] {
            let refused = Err(Fault::Refused(StatusCode::FORBIDDEN, words.to_owned()));
            assert_eq!(judged(403, &[], body), refused);
        }
    }

    #[test]
    fn a_limit_is_waited_for_as_its_headers_say() {
        let pause = |headers: &[(&'static str, &str)]| match judged(429, headers, "Retry later\n") {
            Err(Fault::Again(_, pause)) => pause.map(|pause| pause.as_secs()),
            other => panic!("{other:?}"),
        };
        assert_eq!(pause(&[("retry-after", "7")]), Some(7));
        assert_eq!(pause(&[]), Some(60));
        assert_eq!(pause(&[("ratelimit-reset", "9")]), Some(1));
        let later = (epoch_seconds() + 100).to_string();
        let wait = pause(&[("ratelimit-reset", &later)]).unwrap();
        assert!((99..=101).contains(&wait), "{wait}");
    }

    #[test]
    fn an_empty_success_is_one_and_a_failing_server_may_recover() {
        assert_eq!(judged(204, &[], ""), Ok(Value::Null));
        assert!(matches!(judged(502, &[], "x"), Err(Fault::Again(_, None))));
        assert!(matches!(
            judged(302, &[], ""),
            Err(Fault::Refused(StatusCode::FOUND, _))
        ));
    }
}
