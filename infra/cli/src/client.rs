//! HTTP to the service: bounded in time and tries, without redirects, with the key in the header
//! only.
//!
//! A POST carries an idempotency key, so that everything here may be sent again after a failure
//! that says nothing about whether it arrived.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;

use crate::address::{Address, is_loopback};
use crate::failure::{ApiFailure, Failure};

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest single try; the gateway gives up after 29 s.
const TRY: Duration = Duration::from_secs(35);
/// Tries of one request, the first included.
const TRIES: u32 = 3;
/// Pause before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(200);
/// Largest answer that is read, in bytes.
const MAX_ANSWER: usize = 16 * 1_024 * 1_024;

/// A client of one service with one key.
pub struct Client {
    http: reqwest::Client,
    base: Url,
    authorization: HeaderValue,
}

impl Client {
    /// A client for an address.
    pub fn new(address: Address) -> Result<Client, Failure> {
        let broken = |why: String| Failure::Broken(format!("cannot make an HTTP client: {why}"));
        // Fails only where a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("awo/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .timeout(TRY)
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&address.url) {
            // A proxy would see the key in the clear.
            builder = builder.no_proxy();
        }
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", address.api_key))
            .map_err(|e| broken(e.to_string()))?;
        authorization.set_sensitive(true);
        Ok(Client {
            http: builder.build().map_err(|e| broken(causes(&e)))?,
            base: address.url,
            authorization,
        })
    }

    /// Reads, with more tries where one failed.
    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<String, Failure> {
        let url = self.url(path, query);
        tried(|| self.send(Method::GET, &url, None)).await
    }

    /// Reads once.
    pub async fn get_once(&self, path: &str, query: &[(&str, String)]) -> Result<String, Failure> {
        self.send(Method::GET, &self.url(path, query), None).await
    }

    /// Makes something, once however often it is sent.
    pub async fn post(&self, path: &str, body: &Value, key: &str) -> Result<String, Failure> {
        let url = self.url(path, &[]);
        let key = HeaderValue::try_from(key).map_err(|_| {
            Failure::Usage("--idempotency-key must be 1–255 visible ASCII characters".to_owned())
        })?;
        tried(|| self.send(Method::POST, &url, Some((body, &key)))).await
    }

    fn url(&self, path: &str, query: &[(&str, String)]) -> Url {
        let mut url = self.base.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{path}"));
        url.set_fragment(None);
        url.set_query(None);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        body: Option<(&Value, &HeaderValue)>,
    ) -> Result<String, Failure> {
        let mut request = self
            .http
            .request(method, url.clone())
            .header("authorization", self.authorization.clone())
            .header("accept", "application/json");
        if let Some((body, key)) = body {
            request = request.json(body).header("idempotency-key", key.clone());
        }
        let mut answer = request.send().await.map_err(|e| self.unreachable(&e))?;
        let status = answer.status();
        let headers = answer.headers().clone();
        let mut bytes: Vec<u8> = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|e| self.unreachable(&e))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_ANSWER {
                return Err(Failure::Broken(format!(
                    "the answer is larger than {MAX_ANSWER} bytes"
                )));
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if status.is_success() {
            return Ok(text);
        }
        let (id, after) = (
            header(&headers, "x-request-id"),
            header(&headers, "retry-after"),
        );
        let failure = ApiFailure::read(status.as_u16(), id, after.as_deref(), text);
        Err(Failure::Api(Box::new(failure)))
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let advice = if is_loopback(&self.base) {
            "start the service (`make run` starts the local one), or name another with --url"
        } else {
            "check the address and the network, then try again"
        };
        Failure::Unreachable {
            what: self.base.to_string(),
            why: causes(error),
            advice: advice.to_owned(),
        }
    }
}

/// Tries again what may pass, a bounded number of times.
async fn tried<F>(mut send: impl FnMut() -> F) -> Result<String, Failure>
where
    F: Future<Output = Result<String, Failure>>,
{
    let mut pause = PAUSE;
    for _ in 1..TRIES {
        match send().await {
            // A rate limit takes up to a minute to pass: people decide whether to wait.
            Err(Failure::Api(failure)) if failure.status == 429 => {
                return Err(Failure::Api(failure));
            }
            Err(failure) if failure.may_pass() => tokio::time::sleep(pause).await,
            done => return done,
        }
        pause *= 2;
    }
    send().await
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// The innermost cause says what happened; the outer ones only where.
fn causes(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
