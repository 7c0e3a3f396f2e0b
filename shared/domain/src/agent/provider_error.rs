//! An error in a provider's words: the body of an answer that failed, or an event within a stream. Its kind
//! says whose fault it is, where a status does not: 429 stands for a busy provider and for an account without money.

use serde_json::Value;

/// Places in which the three dialects have the kinds of an error.
const KINDS: [&str; 6] = [
    "/error/code",
    "/error/type",
    "/response/error/code",
    "/response/error/type",
    "/code",
    "/type",
];
/// Kinds of the key's or its account's fault; those that begin with [`BILLING`] are as well.
const REFUSALS: [&str; 13] = [
    "access_denied",
    "account_deactivated",
    "authentication_error",
    "credit_balance_too_low",
    "exceeded_current_quota_error",
    "insufficient_balance",
    "insufficient_credits",
    "insufficient_funds",
    "insufficient_quota",
    "invalid_api_key",
    "organization_deactivated",
    "permission_error",
    "quota_exceeded",
];
const BILLING: &str = "billing_";
/// Anthropic's words for an account without credit, whose kind is that of any fault of a request.
const NO_CREDIT: &str = "credit balance is too low";
/// Kinds of a provider that is busy or broken.
const OUTAGES: [&str; 13] = [
    "api_error",
    "engine_overloaded",
    "engine_overloaded_error",
    "internal_error",
    "internal_server_error",
    "overloaded",
    "overloaded_error",
    "rate_limit_error",
    "rate_limit_exceeded",
    "server_error",
    "server_overloaded",
    "service_unavailable_error",
    "timeout_error",
];
/// Longest kind that is read, in bytes.
const MAX_KIND: usize = 64;

/// Party whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorSource {
    /// The key's, or its account's: the same call fails again until somebody changes them.
    Key,
    /// The provider's: the same call may be answered later.
    Provider,
    /// The caller's, or not known.
    Other,
}

/// An error of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    /// The kind that decides, as the provider names it.
    pub kind: String,
    /// Party whose fault it is.
    pub source: ErrorSource,
}

impl ProviderError {
    /// The error that a body or an event is, if it is one.
    #[must_use]
    pub fn of(json: &Value) -> Option<ProviderError> {
        let text = |pointer: &str| json.pointer(pointer).and_then(Value::as_str);
        let is_error = matches!(text("/type"), Some("error" | "response.failed"))
            || json.get("error").is_some_and(Value::is_object);
        if !is_error {
            return None;
        }
        let kinds = || KINDS.iter().filter_map(|pointer| text(pointer));
        let kinds = || kinds().filter(|kind| kind.len() <= MAX_KIND);
        let with = |kind: &str, source| {
            let kind = kind.to_owned();
            Some(ProviderError { kind, source })
        };
        let is_refusal = |kind: &&str| REFUSALS.contains(kind) || kind.starts_with(BILLING);
        if let Some(kind) = kinds().find(is_refusal) {
            return with(kind, ErrorSource::Key);
        }
        let mut messages = ["/error/message", "/message"].into_iter().filter_map(text);
        if messages.any(|message| message.contains(NO_CREDIT)) {
            return with("credit_balance_too_low", ErrorSource::Key);
        }
        if let Some(kind) = kinds().find(|kind| OUTAGES.contains(kind)) {
            return with(kind, ErrorSource::Provider);
        }
        with(kinds().next().unwrap_or_default(), ErrorSource::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_error_says_whose_fault_it_is() {
        for (text, kind, source) in [
            (
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
                "insufficient_quota",
                ErrorSource::Key,
            ),
            (
                r#"{"error":{"type":"requests","code":"billing_hard_limit_reached"}}"#,
                "billing_hard_limit_reached",
                ErrorSource::Key,
            ),
            (
                r#"{"type":"error","error":{"type":"billing_error","message":"x"}}"#,
                "billing_error",
                ErrorSource::Key,
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
                "credit_balance_too_low",
                ErrorSource::Key,
            ),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "overloaded_error",
                ErrorSource::Provider,
            ),
            (
                r#"{"error":{"type":"tokens","code":"rate_limit_exceeded"}}"#,
                "rate_limit_exceeded",
                ErrorSource::Provider,
            ),
            (
                r#"{"type":"response.failed","response":{"error":{"code":"server_error"}}}"#,
                "server_error",
                ErrorSource::Provider,
            ),
            (
                r#"{"type":"error","code":"server_error","message":"x"}"#,
                "server_error",
                ErrorSource::Provider,
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error"}}"#,
                "invalid_request_error",
                ErrorSource::Other,
            ),
        ] {
            let json = serde_json::from_str(text).unwrap();
            let error = ProviderError::of(&json).unwrap();
            assert_eq!(
                (error.kind.as_str(), error.source),
                (kind, source),
                "{text}"
            );
        }
        for text in [
            r#"{"type":"response.completed","response":{"error":null}}"#,
            r#"{"type":"content_block_delta","delta":{"text":"insufficient_quota"}}"#,
            r#"{"choices":[],"error":null}"#,
            "[]",
        ] {
            let json = serde_json::from_str(text).unwrap();
            assert_eq!(ProviderError::of(&json), None, "{text}");
        }
    }
}
