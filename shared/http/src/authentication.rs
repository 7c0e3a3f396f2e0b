//! Authentication, scopes and rate limit. The order of the checks is the same on every route: 401,
//! 403, 429.

use awo_cloud::{Cloud, SetupError, settings};
use awo_domain::api_key::{ApiKey, Scope};
use awo_domain::{Error, Timestamp};
use awo_store::Store;
use awo_store::organizations::keys::Caller;
use lambda_http::Request;

/// Knows callers by their keys.
#[derive(Debug, Clone)]
pub(crate) struct Authenticator {
    store: Store,
    requests_per_minute: u32,
}

/// The rate limit as it stands, for the answer's headers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub limit: u32,
    pub remaining: u32,
    pub reset: Timestamp,
}

impl Authenticator {
    pub fn new(cloud: &Cloud) -> Result<Authenticator, SetupError> {
        let requests_per_minute = settings::requests_per_minute(&cloud.environment)?;
        Ok(Authenticator {
            store: cloud.store()?,
            requests_per_minute,
        })
    }

    pub async fn caller(&self, request: &Request, now: Timestamp) -> Result<(Caller, Rate), Error> {
        let key = bearer(request)
            .and_then(ApiKey::parse)
            .ok_or(Error::Unauthorized)?;
        let caller = self.store.authenticate(&key, now).await?;
        let limit = caller
            .requests_per_minute
            .unwrap_or(self.requests_per_minute);
        let rate = Rate {
            limit,
            remaining: limit.saturating_sub(caller.window_count),
            reset: caller.window_end,
        };
        Ok((caller, rate))
    }
}

/// Whether a known caller is let in.
pub(crate) fn authenticate(
    caller: &Caller,
    scopes: impl IntoIterator<Item = Scope>,
    rate: Rate,
    now: Timestamp,
) -> Result<(), Error> {
    for scope in scopes {
        if !scope.is_granted_by(&caller.scopes) {
            return Err(Error::MissingScope(scope.as_str().to_owned()));
        }
    }
    if caller.window_count > rate.limit {
        let retry_after_s = (rate.reset.ms_since(now) + 999) / 1_000;
        return Err(Error::RateLimited {
            retry_after_s: retry_after_s.max(1),
        });
    }
    Ok(())
}

/// The credential of an `Authorization: Bearer` header that is sent once.
#[must_use]
pub fn bearer(request: &Request) -> Option<&str> {
    let mut values = request.headers().get_all("authorization").iter();
    let value = values.next()?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    let one = values.next().is_none() && scheme.eq_ignore_ascii_case("bearer");
    one.then_some(credential.trim())
}
