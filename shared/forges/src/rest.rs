//! Calls of a forge's REST API for an organization. Its token is in one header of calls to one
//! address, and never in a result; no redirect is followed.

use std::time::Duration;

use http::header::{
    AUTHORIZATION, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, USER_AGENT,
};
use http::{Method, StatusCode};
use reqwest::{Certificate, Client, redirect};
use serde_json::Value;
use url::Url;

use crate::{Fault, Hosts};

/// For a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For a call and its answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer that is read; a page of pull requests is some hundred KiB.
const MAX_ANSWER_BYTES: usize = 2 * 1_024 * 1_024;
/// Longest mark of an answer that is kept, in bytes; those of forges have less than a hundred.
const MAX_ETAG: usize = 256;

/// A call below the address of a [`Rest`].
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a Value>,
}

/// An answer as it came.
struct RawAnswer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// An answer to a conditional request.
pub(crate) struct MarkedAnswer {
    pub(crate) body: Value,
    /// The mark by which the next request is conditional.
    pub(crate) etag: Option<String>,
}

/// An API, or a part of it, for one token.
pub(crate) struct Rest {
    http: Client,
    /// Without a slash at its end.
    address: String,
    headers: HeaderMap,
    secret: String,
}

impl Rest {
    /// `headers` are those of every call beside token and user agent.
    ///
    /// # Errors
    /// A sentence, if there is no HTTP client to be had, or the token is none.
    pub(crate) fn new(
        hosts: &Hosts,
        address: String,
        token: &str,
        headers: impl IntoIterator<Item = (HeaderName, &'static str)>,
    ) -> Result<Rest, String> {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| "the organization's token contains invalid characters".to_owned())?;
        bearer.set_sensitive(true);
        let fixed = |(name, value)| (name, HeaderValue::from_static(value));
        let mut headers: HeaderMap = headers.into_iter().map(fixed).collect();
        headers.insert(AUTHORIZATION, bearer);
        let agent = HeaderValue::from_static("agent-work-order-service");
        headers.insert(USER_AGENT, agent);
        // An operator's own address may be on loopback only if it is plain.
        let plain_http = hosts.plain_http() || address.starts_with("http://");
        Ok(Rest {
            http: http_client(hosts, plain_http)?,
            address,
            headers,
            secret: token.to_owned(),
        })
    }

    /// Calls, and judges the answer as its forge does.
    pub(crate) async fn call(
        &self,
        call: &Call<'_>,
        judge: impl FnOnce(StatusCode, &HeaderMap, &[u8]) -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        let received = self.send(call, None).await?;
        let judged = judge(received.status, &received.headers, &received.body);
        judged.map_err(|fault| self.without_secrets(fault))
    }

    /// Reads what has changed since an answer with this mark; none if it has not.
    pub(crate) async fn read_since(
        &self,
        path: &str,
        etag: Option<&str>,
        judge: impl FnOnce(StatusCode, &HeaderMap, &[u8]) -> Result<Value, Fault>,
    ) -> Result<Option<MarkedAnswer>, Fault> {
        let call = Call {
            method: Method::GET,
            path,
            query: &[],
            body: None,
        };
        // A mark that is no header is no mark.
        let mark = etag.and_then(|etag| HeaderValue::from_str(etag).ok());
        let is_conditional = mark.is_some();
        let received = self.send(&call, mark).await?;
        if is_conditional && received.status == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let judged = judge(received.status, &received.headers, &received.body);
        let body = judged.map_err(|fault| self.without_secrets(fault))?;
        let etag = received
            .headers
            .get(ETAG)
            .and_then(|etag| etag.to_str().ok());
        let etag = etag.filter(|etag| (1..=MAX_ETAG).contains(&etag.len()));
        Ok(Some(MarkedAnswer {
            body,
            etag: etag.map(str::to_owned),
        }))
    }

    async fn send(&self, call: &Call<'_>, mark: Option<HeaderValue>) -> Result<RawAnswer, Fault> {
        let url = format!("{}/{}", self.address, call.path);
        let mut url = Url::parse(&url).map_err(|why| lost(&why.to_string()))?;
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(call.query);
        }
        let request = self.http.request(call.method.clone(), url);
        let request = request.headers(self.headers.clone());
        let request = match mark {
            Some(mark) => request.header(IF_NONE_MATCH, mark),
            None => request,
        };
        let request = match call.body {
            Some(body) => request.json(body),
            None => request,
        };
        let unheard = |why: reqwest::Error| lost(&with_causes(why));
        let mut answer = request.send().await.map_err(unheard)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(unheard)? {
            if bytes.len() + chunk.len() > MAX_ANSWER_BYTES {
                let why = format!("its answer is larger than {MAX_ANSWER_BYTES} bytes");
                return Err(Fault::Refused(status, why));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(RawAnswer {
            status,
            headers,
            body: bytes,
        })
    }

    /// A server may quote what it was sent.
    fn without_secrets(&self, fault: Fault) -> Fault {
        let without = |why: String| match &*self.secret {
            "" => why,
            secret => why.replace(secret, "***"),
        };
        match fault {
            Fault::Again(why, pause) => Fault::Again(without(why), pause),
            Fault::Refused(status, why) => Fault::Refused(status, without(why)),
            Fault::OtherForge(why) => Fault::OtherForge(without(why)),
        }
    }
}

fn http_client(hosts: &Hosts, plain_http: bool) -> Result<Client, String> {
    // Errs only if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .https_only(!plain_http)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(CALL_TIMEOUT);
    if let Some(file) = hosts.ca_file() {
        let unread = |why: String| format!("{} is not a PEM file: {why}", file.display());
        let pem = std::fs::read(file).map_err(|why| unread(why.to_string()))?;
        let authorities = Certificate::from_pem_bundle(&pem);
        builder = builder.tls_certs_only(authorities.map_err(|why| unread(why.to_string()))?);
    }
    let built = builder.build();
    built.map_err(|why| format!("cannot set up the HTTP client: {why}"))
}

fn lost(why: &str) -> Fault {
    Fault::Again(format!("there was no answer: {why}"), None)
}

/// An error with its causes: the first sentence alone is vague. The URL adds nothing to what the
/// reader does not know.
fn with_causes(why: reqwest::Error) -> String {
    let why = why.without_url();
    let mut text = why.to_string();
    let mut cause = std::error::Error::source(&why);
    while let Some(why) = cause {
        text = format!("{text}: {why}");
        cause = why.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_in_no_debug_text_and_in_no_fault() {
        let rest = |token| Rest::new(&Hosts::default(), "https://a.example".to_owned(), token, []);
        let api = rest("ghp_s3cret").unwrap();
        assert!(!format!("{:?}", api.headers).contains("s3cret"));
        let status = StatusCode::UNAUTHORIZED;
        let quoted = Fault::Refused(status, "ghp_s3cret is bad".to_owned());
        let shown = api.without_secrets(quoted);
        assert_eq!(shown, Fault::Refused(status, "*** is bad".to_owned()));
        assert!(rest("two\nlines").is_err());
    }
}
