//! The meaning of a response of GitHub's API.

use std::time::Duration;

use http::StatusCode;
use http::header::HeaderMap;
use serde_json::Value;

use crate::Fault;
use crate::judgement::{self, RATE_LIMIT_PAUSE, is_passing, number, until};

/// Every answer of a GitHub has it.
const REQUEST_ID: &str = "x-github-request-id";

/// The body of an answer, or the fault; `is_known` states that there is a GitHub.
pub(super) fn judge(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    is_known: bool,
) -> Result<Value, Fault> {
    if !is_passing(status) && !is_known && !headers.contains_key(REQUEST_ID) {
        let why = format!("the host answers {status} at the path of GitHub's API");
        return Err(Fault::OtherForge(why));
    }
    judgement::judge(status, headers, body, limited)
}

/// How long to wait, if this is a limit of calls, primary or secondary: both come as 403 or 429.
fn limited(status: StatusCode, headers: &HeaderMap, reported: &str) -> Option<Duration> {
    let after = number(headers, "retry-after").map(Duration::from_secs);
    let is_used_up = number(headers, "x-ratelimit-remaining") == Some(0);
    let is_limit = match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => {
            after.is_some() || is_used_up || reported.to_ascii_lowercase().contains("rate limit")
        }
        _ => false,
    };
    let reset = number(headers, "x-ratelimit-reset").filter(|_| is_used_up);
    is_limit.then(|| after.or(reset.map(until)).unwrap_or(RATE_LIMIT_PAUSE))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;
    use crate::judgement::{MAX_WORDS, epoch_seconds};

    fn judged(
        is_known: bool,
        status: u16,
        pairs: &[(&'static str, &str)],
        body: &str,
    ) -> Result<Value, Fault> {
        let pair = |(name, value): &(&'static str, &str)| {
            let value = HeaderValue::from_str(value).unwrap();
            (HeaderName::from_static(name), value)
        };
        let headers: HeaderMap = pairs.iter().map(pair).collect();
        let status = StatusCode::from_u16(status).unwrap();
        judge(status, &headers, body.as_bytes(), is_known)
    }

    fn refusal(status: u16, body: &str) -> String {
        match judged(true, status, &[], body) {
            Err(Fault::Refused(_, why)) => why,
            other => panic!("{other:?}"),
        }
    }

    fn pause(status: u16, pairs: &[(&'static str, &str)], body: &str) -> Option<u64> {
        match judged(true, status, pairs, body) {
            Err(Fault::Again(_, pause)) => pause.map(|pause| pause.as_secs()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_refusal_says_what_github_says_of_it() {
        let exists = r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest",
            "code":"custom","message":"A pull request already exists for octocat:awo/x."}],
            "documentation_url":"https://docs.github.com/rest","status":"422"}"#;
        let wanted = "Validation Failed; A pull request already exists for octocat:awo/x.";
        assert_eq!(refusal(422, exists), wanted);
        let invalid = r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest",
            "field":"base","code":"invalid"}]}"#;
        assert_eq!(refusal(422, invalid), "Validation Failed; base invalid");
        let plain = r#"{"message":"Unprocessable Entity","errors":["Could not resolve"]}"#;
        let wanted = "Unprocessable Entity; Could not resolve";
        assert_eq!(refusal(422, plain), wanted);
        let hostile = format!(r#"{{"message":"a\u001b[31m{}"}}"#, "x".repeat(10_000));
        let reported = refusal(404, &hostile);
        assert!(reported.starts_with("a [31mx") && reported.chars().count() == MAX_WORDS);
        assert_eq!(refusal(404, "<html>"), "it gave no reason");
        assert!(refusal(301, "{}").contains("not followed"));
        assert!(refusal(200, "<html>").contains("not JSON"));
    }

    #[test]
    fn a_rate_limit_is_waited_for_as_github_says_and_no_other_403_is() {
        let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
        assert_eq!(pause(403, &[("retry-after", "7")], secondary), Some(7));
        assert_eq!(pause(403, &[], secondary), Some(60));
        assert_eq!(pause(429, &[], "{}"), Some(60));
        let past = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "9")];
        assert_eq!(pause(403, &past, "{}"), Some(1));
        let later = (epoch_seconds() + 3_000).to_string();
        let later = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", &*later),
        ];
        let wait = pause(429, &later, "{}").unwrap();
        assert!((2_990..=3_001).contains(&wait), "{wait}");
        assert_eq!(pause(502, &[], "<html>"), None);
        let scope = r#"{"message":"Resource not accessible by personal access token"}"#;
        let left = [("x-ratelimit-remaining", "4999")];
        let refused = judged(true, 403, &left, scope);
        assert!(matches!(refused, Err(Fault::Refused(_, _))));
    }

    #[test]
    fn a_host_that_may_be_no_github_is_known_by_its_answers() {
        for status in [200, 302, 401, 404] {
            let answer = judged(false, status, &[], "[]");
            assert!(matches!(answer, Err(Fault::OtherForge(_))));
        }
        let github = [("x-github-request-id", "C0DE:1")];
        let answer = judged(false, 200, &github, "[]");
        assert_eq!(answer, Ok(serde_json::json!([])));
        let answer = judged(false, 404, &github, "{}");
        assert!(matches!(answer, Err(Fault::Refused(_, _))));
        let answer = judged(false, 503, &[], "{}");
        assert!(matches!(answer, Err(Fault::Again(_, _))));
    }
}
