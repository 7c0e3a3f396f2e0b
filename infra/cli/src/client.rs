//! HTTP to the service: bounded in time and retries, without redirects, with the key in the header
//! only.
//!
//! Requests that create something carry an idempotency key, and requests that end something are
//! idempotent, so each may be repeated after a failure with an unknown result.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;

use crate::address::{Address, is_loopback};
use crate::failure::{ApiFailure, Failure};

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest single try; the gateway gives up after 29 s.
const TRY: Duration = Duration::from_secs(35);
/// Longest wait for an answer that is streamed: a kill waits for the end of a process.
const PATIENT_TRY: Duration = Duration::from_secs(120);
/// Longest wait for a purge of thousands: as long as a function has.
const LONG_TRY: Duration = Duration::from_secs(15 * 60);
/// Longest life of a stream of events; the service ends it after 14 minutes.
const STREAM: Duration = Duration::from_secs(20 * 60);
/// Longest wait for the head of a stream.
const STREAM_HEAD: Duration = Duration::from_secs(30);
/// Tries of one request, the first included.
const TRIES: u32 = 3;
/// Pause before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(200);
/// Largest answer that is read, in bytes.
const MAX_ANSWER: usize = 16 * 1_024 * 1_024;

/// The body.
struct Request<'a> {
    method: Method,
    url: Url,
    accept: &'static str,
    body: Option<&'a Value>,
    /// Name and value of a header that the request needs.
    extra: Option<(&'static str, HeaderValue)>,
    limit: Duration,
}

/// The part of an envelope that states whether the call succeeded.
#[derive(Deserialize)]
struct Verdict {
    success: bool,
}

/// A client of one service with one key.
pub struct Client {
    http: reqwest::Client,
    base: Url,
    authorization: HeaderValue,
}

impl Client {
    /// A client for an address.
    pub fn new(address: Address) -> Result<Client, Failure> {
        let broken = |why: String| Failure::Broken(format!("cannot create an HTTP client: {why}"));
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

    /// True for a service on this machine, which sees its files.
    pub fn is_local(&self) -> bool {
        is_loopback(&self.base)
    }

    /// Reads, with more tries where one failed.
    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<String, Failure> {
        let request = self.request(Method::GET, path, query);
        tried(|| self.answer(&request)).await
    }

    /// Reads something as a media type.
    pub async fn get_as(
        &self,
        path: &str,
        query: &[(&str, String)],
        accept: &'static str,
    ) -> Result<String, Failure> {
        let request = Request {
            accept,
            ..self.request(Method::GET, path, query)
        };
        tried(|| self.answer(&request)).await
    }

    /// Makes something, once however often it is sent.
    pub async fn post(
        &self,
        path: &str,
        body: Option<&Value>,
        key: &str,
    ) -> Result<String, Failure> {
        let key = HeaderValue::try_from(key).map_err(|_| {
            Failure::Usage("--idempotency-key must be 1–255 visible ASCII characters".to_owned())
        })?;
        let request = Request {
            body,
            extra: Some(("idempotency-key", key)),
            ..self.request(Method::POST, path, &[])
        };
        tried(|| self.answer(&request)).await
    }

    /// Replaces something, with more tries where one failed.
    pub async fn put(&self, path: &str, body: &Value) -> Result<String, Failure> {
        let request = Request {
            body: Some(body),
            ..self.request(Method::PUT, path, &[])
        };
        tried(|| self.answer(&request)).await
    }

    /// Sends an idempotent change, with more tries where one failed.
    pub async fn patch(&self, path: &str, body: &Value) -> Result<String, Failure> {
        let request = Request {
            body: Some(body),
            ..self.request(Method::PATCH, path, &[])
        };
        tried(|| self.answer(&request)).await
    }

    /// Asks for something that takes its time, once.
    pub async fn post_patiently(&self, path: &str, body: &Value) -> Result<String, Failure> {
        let request = Request {
            body: Some(body),
            limit: PATIENT_TRY,
            ..self.request(Method::POST, path, &[])
        };
        self.answer(&request).await
    }

    /// Asks for something that may take as long as a function has, once.
    pub async fn post_for_long(&self, path: &str, body: &Value) -> Result<String, Failure> {
        let request = Request {
            body: Some(body),
            limit: LONG_TRY,
            ..self.request(Method::POST, path, &[])
        };
        self.answer(&request).await
    }

    /// Takes something away, with more tries where one failed.
    pub async fn delete(&self, path: &str) -> Result<String, Failure> {
        let request = self.request(Method::DELETE, path, &[]);
        tried(|| self.answer(&request)).await
    }

    /// Sends a message that has no key for a repetition, once. Its answer is whatever the service says.
    pub async fn post_message(
        &self,
        path: &str,
        body: Vec<u8>,
        headers: Vec<(&'static str, HeaderValue)>,
    ) -> Result<String, Failure> {
        let sent = self.http.post(self.url(path, &[])).body(body);
        let sent = sent
            .header("authorization", self.authorization.clone())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        let sent = headers
            .into_iter()
            .fold(sent, |sent, (name, value)| sent.header(name, value));
        let mut answer = sent.send().await.map_err(|e| self.unreachable(&e))?;
        let bytes = self.bytes_of(&mut answer).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Opens a stream of events after the one with this id; none if there will be no more.
    pub async fn stream(&self, path: &str, after: u64) -> Result<Option<Response>, Failure> {
        let request = Request {
            accept: "text/event-stream",
            extra: (after > 0).then(|| ("last-event-id", HeaderValue::from(after))),
            limit: STREAM,
            ..self.request(Method::GET, path, &[])
        };
        let head = tokio::time::timeout(STREAM_HEAD, self.send(&request)).await;
        let answer = head.map_err(|_| self.no_answer(STREAM_HEAD))??;
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let kind = header(answer.headers(), "content-type").unwrap_or_default();
        if answer.status().is_success() && !kind.starts_with("text/event-stream") {
            return Err(Failure::Broken(
                "the service does not stream events: are the service and awo the same version?"
                    .to_owned(),
            ));
        }
        if answer.status().is_success() {
            return Ok(Some(answer));
        }
        // What is no stream ends soon, or never; the time to the head is enough for either.
        let text = tokio::time::timeout(STREAM_HEAD, self.text_of(&request, answer)).await;
        text.map_err(|_| self.no_answer(STREAM_HEAD))?
            .and_then(|_| {
                Err(Failure::Broken(
                    "the service's response is not an event stream".to_owned(),
                ))
            })
    }

    /// Begins to read a table of any length.
    pub async fn table(&self, path: &str, query: &[(&str, String)]) -> Result<Response, Failure> {
        let request = Request {
            accept: "text/csv",
            limit: LONG_TRY,
            ..self.request(Method::GET, path, query)
        };
        let answer = self.send(&request).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let text = self.text_of(&request, answer).await;
        text.and_then(|_| {
            Err(Failure::Broken(
                "the service's answer is no table".to_owned(),
            ))
        })
    }

    /// The address of a path, for people.
    pub fn address(&self, path: &str) -> String {
        self.url(path, &[]).to_string()
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

    fn request(&self, method: Method, path: &str, query: &[(&str, String)]) -> Request<'_> {
        Request {
            method,
            url: self.url(path, query),
            accept: "application/json",
            body: None,
            extra: None,
            limit: TRY,
        }
    }

    async fn answer(&self, request: &Request<'_>) -> Result<String, Failure> {
        let answer = self.send(request).await?;
        self.text_of(request, answer).await
    }

    async fn send(&self, request: &Request<'_>) -> Result<Response, Failure> {
        let mut sent = self
            .http
            .request(request.method.clone(), request.url.clone())
            .header("authorization", self.authorization.clone())
            .header("accept", request.accept)
            .timeout(request.limit);
        if let Some(body) = request.body {
            sent = sent.json(body);
        }
        if let Some((name, value)) = &request.extra {
            sent = sent.header(*name, value.clone());
        }
        sent.send().await.map_err(|e| self.unreachable(&e))
    }

    /// The answer's text, unless it is an error.
    async fn text_of(
        &self,
        request: &Request<'_>,
        mut answer: Response,
    ) -> Result<String, Failure> {
        let status = answer.status();
        let headers = answer.headers().clone();
        let bytes = self.bytes_of(&mut answer).await?;
        // White space keeps a connection alive on which an answer takes its time.
        let text = String::from_utf8_lossy(bytes.trim_ascii_start()).into_owned();
        // An envelope decides itself: the status of a streamed one was sent before its outcome
        // was known, and the health of a queue that is full comes with 503.
        let envelope = request.url.path().contains("/api/v1/");
        let verdict = serde_json::from_str(&text).ok().filter(|_| envelope);
        if verdict.map_or(status.is_success(), |verdict: Verdict| verdict.success) {
            return Ok(text);
        }
        let (id, after) = (
            header(&headers, "x-request-id"),
            header(&headers, "retry-after"),
        );
        let failure = ApiFailure::read(status.as_u16(), id, after.as_deref(), text);
        Err(Failure::Api(Box::new(failure)))
    }

    async fn bytes_of(&self, answer: &mut Response) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|e| self.unreachable(&e))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_ANSWER {
                let why = format!("the response is larger than {MAX_ANSWER} bytes");
                return Err(Failure::Broken(why));
            }
        }
        Ok(bytes)
    }

    fn no_answer(&self, time: Duration) -> Failure {
        Failure::Unreachable {
            what: self.base.to_string(),
            why: format!("no response within {} s", time.as_secs()),
            advice: "try again".to_owned(),
        }
    }

    /// What a request or a stream that broke off means.
    pub fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let advice = if is_loopback(&self.base) {
            "start the service (`make run` starts the local one), or use another with --url"
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

/// A name as one segment of a path.
pub fn segment(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~' | b':');
    let letter = |b: u8| {
        if plain(b) {
            char::from(b).to_string()
        } else {
            format!("%{b:02X}")
        }
    };
    name.bytes().map(letter).collect()
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// The innermost cause describes the fault; the outer ones only its location.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
