//! Failures of a provider that no client causes: 429, 5xx, and connections that could not be made
//! or broke off. The last call of an attempt decides whether one ended it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use awo_domain::control::Provider;
use http::StatusCode;
use http::header::{HeaderMap, RETRY_AFTER};

/// A call that a provider did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) provider: Provider,
    /// What it did, as a predicate: "answered 529".
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

/// The last call of an attempt.
#[derive(Debug, Default)]
pub(super) struct LastCall(Mutex<Option<Outage>>);

impl LastCall {
    fn lock(&self) -> MutexGuard<'_, Option<Outage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call was answered to its end, whatever the answer was.
    pub(super) fn answered(&self) {
        *self.lock() = None;
    }

    /// A call was not.
    pub(super) fn failed(&self, outage: Outage) {
        tracing::warn!(
            event = "provider_outage",
            provider = outage.provider.as_str(),
            what = outage.what,
            "an outage"
        );
        *self.lock() = Some(outage);
    }

    pub(super) fn outage(&self) -> Option<Outage> {
        self.lock().clone()
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
}
