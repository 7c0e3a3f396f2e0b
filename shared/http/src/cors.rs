//! Access of pages of other origins to responses: none, unless the deployment allows it.
//!
//! A request of a browser's page carries its `Origin`. Responses to an allowed origin name it;
//! others have no such header, and the browser withholds the response from the page. Keys are sent
//! in a header and never as cookies, so credentials are not allowed.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use lambda_http::{Request, RequestExt};

use awo_contract::routes::{Access, ROUTES};

/// How long a browser may cache the response to a preflight, in seconds.
const MAX_AGE_S: u32 = 600;
/// What pages may send.
const REQUEST_HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, \
                               MCP-Protocol-Version, Mcp-Method, Mcp-Name, traceparent, tracestate";
/// What pages may see of an answer besides its body.
const RESPONSE_HEADERS: &str = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, \
                                X-RateLimit-Reset, Retry-After, Allow, Location, \
                                Idempotent-Replayed";

/// Headers of an answer.
pub(crate) type Headers = Vec<(&'static str, String)>;

/// The origins whose pages may read answers.
#[derive(Debug, Clone)]
pub(crate) struct Cors(Arc<[String]>);

impl Cors {
    pub fn of(cloud: &Cloud) -> Result<Cors, SetupError> {
        let origins = settings::cors_origins(&cloud.environment)?;
        Ok(Cors(origins.into()))
    }

    /// The headers about origins in the answer to this request.
    pub fn headers(&self, request: &Request) -> Headers {
        if self.0.is_empty() {
            return Vec::new();
        }
        let vary = ("vary", "origin".to_owned());
        match self.allowed(request) {
            None => vec![vary],
            Some(origin) => vec![
                vary,
                ("access-control-allow-origin", origin),
                ("access-control-expose-headers", RESPONSE_HEADERS.to_owned()),
            ],
        }
    }

    /// The answer to a browser's preflight, if the page may send the request. A preflight has no
    /// key.
    pub fn preflight(&self, request: &Request, methods: &[&str]) -> Option<Headers> {
        let asks = request.method() == "OPTIONS"
            && request
                .headers()
                .contains_key("access-control-request-method");
        if !asks || methods.is_empty() || !is_public(request.raw_http_path()) {
            return None;
        }
        self.allowed(request)?;
        Some(vec![
            ("access-control-allow-methods", methods.join(", ")),
            ("access-control-allow-headers", REQUEST_HEADERS.to_owned()),
            ("access-control-max-age", MAX_AGE_S.to_string()),
        ])
    }

    /// False for a request of a page whose origin is not allowed.
    pub fn admits(&self, request: &Request) -> bool {
        !request.headers().contains_key("origin") || self.allowed(request).is_some()
    }

    /// The request's origin, as an answer repeats it, if it is allowed.
    fn allowed(&self, request: &Request) -> Option<String> {
        let mut values = request.headers().get_all("origin").iter();
        let origin = values.next()?.to_str().ok()?;
        if values.next().is_some() {
            return None;
        }
        let allowed = self.0.iter().find(|one| *one == "*" || *one == origin)?;
        Some(match allowed.as_str() {
            "*" => "*".to_owned(),
            _ => origin.to_owned(),
        })
    }
}

/// The runners' own API is not for pages.
fn is_public(path: &str) -> bool {
    let runners = ROUTES.iter().filter(|route| route.access == Access::Runner);
    !runners.into_iter().any(|route| route.matches(path))
}
