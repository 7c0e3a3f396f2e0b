//! Failures of a provider that no client causes: 429, 5xx, and connections that could not be made
//! or broke off. The last call of an attempt decides whether one ended it. A key that is refused, or whose account
//! has nothing left, is no outage: waiting does not help.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use awo_domain::agent::provider_error::{ErrorSource, ProviderError};
use awo_domain::control::Provider;
use http::StatusCode;
use http::header::{HeaderMap, RETRY_AFTER};

/// A call that a provider did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) provider: Provider,
    /// Predicate of the provider: "answered 529".
    pub(crate) what: String,
    /// For how long it wants to be left alone.
    pub(crate) retry_after: Option<Duration>,
}

impl Outage {
    /// The outage that an answer is, if it is one.
    pub(super) fn of_answer(
        provider: Provider,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<Outage> {
        let is_outage = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        is_outage.then(|| Outage {
            provider,
            what: format!("answered {}", status.as_u16()),
            retry_after: retry_after(headers, SystemTime::now()),
        })
    }

    /// A connection that was not there, or broke off.
    pub(super) fn of_connection(provider: Provider, what: &str) -> Outage {
        Outage {
            provider,
            what: what.to_owned(),
            retry_after: None,
        }
    }
}

/// Milliseconds of their own header, seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let ms = text("retry-after-ms").and_then(|ms| ms.parse().ok());
    if let Some(ms) = ms {
        return Some(Duration::from_millis(ms));
    }
    let text = text(RETRY_AFTER.as_str())?;
    let seconds = text.parse().ok().map(Duration::from_secs);
    seconds.or_else(|| {
        let at = httpdate::parse_http_date(text).ok()?;
        Some(at.duration_since(now).unwrap_or_default())
    })
}

/// A call that a provider refused for its key or its key's account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRefusal {
    pub(crate) provider: Provider,
    /// Predicate of the provider: "answered 429 (insufficient_quota)".
    pub(crate) what: String,
}

/// End of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// As a whole, by what was asked for.
    Succeeded,
    /// By a fault of the call, or of nobody known.
    Failed,
    Refused(KeyRefusal),
    Outage(Outage),
}

impl CallEnd {
    /// The end of a call that was answered: by its status, the error in its words, and by how its answer ended.
    pub(super) fn of_answer(
        provider: Provider,
        status: StatusCode,
        error: Option<&ProviderError>,
        outage: Option<Outage>,
    ) -> CallEnd {
        let refused = |what: String| CallEnd::Refused(KeyRefusal { provider, what });
        let code = status.as_u16();
        match error {
            Some(error) if error.source == ErrorSource::Key && !status.is_server_error() => {
                return refused(format!("answered {code} ({})", error.kind));
            }
            _ if REFUSALS.contains(&status) => return refused(format!("answered {code}")),
            _ => {}
        }
        match (outage, error) {
            (Some(outage), _) => CallEnd::Outage(outage),
            (None, Some(error)) if status.is_success() && error.source == ErrorSource::Provider => {
                let what = format!("broke off its answer ({})", error.kind);
                CallEnd::Outage(Outage::of_connection(provider, &what))
            }
            (None, None) if status.is_success() => CallEnd::Succeeded,
            (None, _) => CallEnd::Failed,
        }
    }
}

/// Statuses of a key that is not accepted, or not for this.
const REFUSALS: [StatusCode; 3] = [
    StatusCode::UNAUTHORIZED,
    StatusCode::PAYMENT_REQUIRED,
    StatusCode::FORBIDDEN,
];

/// Outcome of the calls of an attempt.
#[derive(Debug, Default)]
pub(super) struct LastCall(Mutex<Ends>);

#[derive(Debug, Default)]
struct Ends {
    /// The outage that the last call met.
    outage: Option<Outage>,
    /// The last refusal of the key, if no call has succeeded since.
    refusal: Option<KeyRefusal>,
}

impl LastCall {
    fn lock(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another attempt begins.
    pub(super) fn forget(&self) {
        *self.lock() = Ends::default();
    }

    /// A call has ended. What costs nothing is refused and answered for reasons of its own.
    pub(super) fn ended(&self, end: CallEnd, is_paid: bool) {
        let mut ends = self.lock();
        ends.outage = None;
        match end {
            CallEnd::Succeeded if is_paid => ends.refusal = None,
            CallEnd::Refused(refusal) if is_paid => {
                tracing::warn!(
                    event = "provider_refused",
                    provider = refusal.provider.as_str(),
                    what = refusal.what,
                    "a key was refused"
                );
                ends.refusal = Some(refusal);
            }
            CallEnd::Outage(outage) => {
                tracing::warn!(
                    event = "provider_outage",
                    provider = outage.provider.as_str(),
                    what = outage.what,
                    "an outage"
                );
                ends.outage = Some(outage);
            }
            CallEnd::Succeeded | CallEnd::Failed | CallEnd::Refused(_) => {}
        }
    }

    pub(super) fn outage(&self) -> Option<Outage> {
        self.lock().outage.clone()
    }

    pub(super) fn refusal(&self) -> Option<KeyRefusal> {
        self.lock().refusal.clone()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn after(name: &'static str, value: &'static str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        let now = httpdate::parse_http_date("Fri, 20 Nov 2026 08:00:00 GMT").unwrap();
        retry_after(&headers, now)
    }

    #[test]
    fn a_provider_says_in_three_ways_when_to_come_again() {
        let seconds = |s| Some(Duration::from_secs(s));
        assert_eq!(after("retry-after", "20"), seconds(20));
        assert_eq!(
            after("retry-after", "Fri, 20 Nov 2026 08:01:00 GMT"),
            seconds(60)
        );
        assert_eq!(
            after("retry-after", "Fri, 20 Nov 2026 07:00:00 GMT"),
            seconds(0)
        );
        assert_eq!(
            after("retry-after-ms", "1500"),
            Some(Duration::from_millis(1_500))
        );
        assert_eq!(after("retry-after", "soon"), None);
        assert_eq!(after("x-other", "1"), None);
    }

    #[test]
    fn an_outage_is_429_and_5xx_and_no_fault_of_the_callers() {
        let is_outage = |status: u16| {
            let status = StatusCode::from_u16(status).unwrap();
            Outage::of_answer(Provider::Openai, status, &HeaderMap::new()).is_some()
        };
        for status in [429, 500, 502, 503, 504, 529] {
            assert!(is_outage(status), "{status}");
        }
        for status in [200, 301, 400, 401, 402, 403, 404, 413] {
            assert!(!is_outage(status), "{status}");
        }
    }

    fn end(status: u16, kind: &str, source: ErrorSource) -> CallEnd {
        let status = StatusCode::from_u16(status).unwrap();
        let outage = Outage::of_answer(Provider::Openai, status, &HeaderMap::new());
        let kind = kind.to_owned();
        let error = (!kind.is_empty()).then_some(ProviderError { kind, source });
        CallEnd::of_answer(Provider::Openai, status, error.as_ref(), outage)
    }

    #[test]
    fn an_account_without_quota_is_refused_and_a_busy_provider_is_an_outage() {
        let other = ErrorSource::Other;
        for (status, kind, source) in [
            (401, "", other),
            (402, "", other),
            (403, "", other),
            (429, "insufficient_quota", ErrorSource::Key),
            (429, "billing_not_active", ErrorSource::Key),
            (400, "credit_balance_too_low", ErrorSource::Key),
            (200, "insufficient_quota", ErrorSource::Key),
        ] {
            let end = end(status, kind, source);
            assert!(
                matches!(end, CallEnd::Refused(_)),
                "{status} {kind} {end:?}"
            );
        }
        for (status, kind, source) in [
            (429, "", other),
            (429, "rate_limit_exceeded", ErrorSource::Provider),
            (503, "insufficient_quota", ErrorSource::Key),
            (200, "overloaded_error", ErrorSource::Provider),
        ] {
            let end = end(status, kind, source);
            assert!(matches!(end, CallEnd::Outage(_)), "{status} {kind} {end:?}");
        }
        assert_eq!(end(200, "", other), CallEnd::Succeeded);
        assert_eq!(end(400, "invalid_request_error", other), CallEnd::Failed);
        assert_eq!(end(200, "invalid_request_error", other), CallEnd::Failed);
    }

    #[test]
    fn a_refusal_stands_until_a_call_that_costs_something_succeeds() {
        let calls = LastCall::default();
        calls.ended(end(403, "", ErrorSource::Other), false);
        assert_eq!(calls.refusal(), None, "it cost nothing");
        calls.ended(end(429, "insufficient_quota", ErrorSource::Key), true);
        for later in [
            end(200, "", ErrorSource::Other),
            end(400, "", ErrorSource::Other),
        ] {
            calls.ended(later, false);
        }
        calls.ended(end(503, "", ErrorSource::Other), true);
        let refusal = calls.refusal().unwrap();
        assert_eq!(refusal.what, "answered 429 (insufficient_quota)");
        assert!(calls.outage().is_some());
        calls.ended(end(200, "", ErrorSource::Other), true);
        assert_eq!((calls.refusal(), calls.outage()), (None, None));
    }
}
