//! `GET /health`: whether the local service is up, its start time and its version; no more, since
//! it needs no key. It is the server's own response: in the cloud there is no single process with
//! such a state.

use chrono::{DateTime, SecondsFormat, Utc};
use http::{Method, Request, Response, header};
use serde_json::json;

use crate::serve::{self, Answer};

/// Where load balancers and monitors ask.
pub const PATH: &str = "/health";

/// The health of a service that serves.
#[derive(Clone, Debug)]
pub struct Health {
    since: DateTime<Utc>,
}

impl Health {
    /// Up since this time.
    #[must_use]
    pub fn since(since: DateTime<Utc>) -> Health {
        Health { since }
    }

    /// The answer to a request for the health; none to any other request.
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Option<Answer> {
        let asks = matches!(*request.method(), Method::GET | Method::HEAD);
        if !asks || request.uri().path() != PATH {
            return None;
        }
        let body = json!({
            "status": "up",
            "since": self.since.to_rfc3339_opts(SecondsFormat::Millis, true),
            "version": env!("CARGO_PKG_VERSION"),
        });
        let mut answer = Response::new(serve::whole(body.to_string()));
        for (name, value) in [
            (header::CONTENT_TYPE, "application/json"),
            (header::CACHE_CONTROL, "no-store"),
        ] {
            answer
                .headers_mut()
                .insert(name, header::HeaderValue::from_static(value));
        }
        Some(answer)
    }
}
