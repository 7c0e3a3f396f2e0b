//! One request to a registry: who asks, whether it may, and the answer as it comes.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, mpsc};

use super::access::Upstream;
use super::pages;
use crate::loopback::{self, PipedBody, refusal, whole};

/// Most requests at once; others wait.
const MAX_REQUESTS: usize = 32;
/// Pieces of an answer that may wait for a slow reader.
const MAX_WAITING_PIECES: usize = 16;
/// What of a registry's answer a client gets to see.
const HEADERS: [HeaderName; 7] = [
    CONTENT_TYPE,
    http::header::ACCEPT_RANGES,
    http::header::CACHE_CONTROL,
    http::header::CONTENT_RANGE,
    http::header::ETAG,
    http::header::LAST_MODIFIED,
    http::header::RETRY_AFTER,
];

type Answer = Response<UnsyncBoxBody<Bytes, std::io::Error>>;

/// A registry as callers on loopback see it.
#[derive(Clone)]
pub(super) struct Serving {
    upstream: Arc<Upstream>,
    key: Arc<str>,
    requests: Arc<Semaphore>,
}

/// A request whose caller has shown the key.
struct AdmittedRequest {
    /// Path and query, without the key.
    target: String,
    /// Where the registry's origin is for this caller.
    local: String,
}

impl Serving {
    pub(super) fn new(upstream: Upstream, key: String) -> Serving {
        Serving {
            upstream: Arc::new(upstream),
            key: key.into(),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (head, _) = request.into_parts();
        let target = head
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        let Some(AdmittedRequest { target, local }) = self.admitted(target, &head.headers) else {
            let mut refusal = refusal(
                StatusCode::UNAUTHORIZED,
                "this is for the run's own commands",
            );
            let basic = HeaderValue::from_static("Basic realm=\"awo\"");
            refusal
                .headers_mut()
                .insert(http::header::WWW_AUTHENTICATE, basic);
            return refusal;
        };
        let path = target.split('?').next().unwrap_or_default().to_owned();
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "a registry is only read from here",
            );
        }
        if !self.upstream.has(&path) {
            return refusal(StatusCode::FORBIDDEN, "this is not a path of the registry");
        }
        let Ok(permit) = Arc::clone(&self.requests).acquire_owned().await else {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the run is over");
        };
        let method = head.method.clone();
        let got = match self.upstream.send(method, &target, &head.headers).await {
            Ok(got) => got,
            Err(why) => return refusal(StatusCode::BAD_GATEWAY, &why),
        };
        if let Some(refused) = not_passed_on(got.status()) {
            return refused;
        }
        let kind = got.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if got.status() == StatusCode::OK && pages::is_page(&self.upstream, &path, kind) {
            return self.page(&path, got, &local).await;
        }
        let mut answer = self.begun(&got, got.content_length(), &local);
        *answer.body_mut() = piped(got, permit);
        answer
    }

    /// The target without the key, if the caller shows it: as the first part of the path, as a bearer
    /// token, or as a password.
    fn admitted(&self, target: &str, headers: &HeaderMap) -> Option<AdmittedRequest> {
        let is_key = |shown: &[u8]| bool::from(shown.ct_eq(self.key.as_bytes()));
        let (first, rest) = target.get(1..)?.split_once('/').unwrap_or_default();
        if is_key(first.as_bytes()) {
            return Some(AdmittedRequest {
                target: format!("/{rest}"),
                local: format!("{}/{}", self.upstream.local(), self.key),
            });
        }
        let shown = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let is_shown = match shown.split_once(' ')? {
            (scheme, token) if scheme.eq_ignore_ascii_case("bearer") => is_key(token.as_bytes()),
            _ => is_key(&loopback::basic_password(shown)?),
        };
        is_shown.then(|| AdmittedRequest {
            target: target.to_owned(),
            local: self.upstream.local().to_owned(),
        })
    }

    /// A whole answer with its links rewritten.
    async fn page(&self, path: &str, mut got: reqwest::Response, local: &str) -> Answer {
        let mut page = Vec::new();
        loop {
            match got.chunk().await {
                Ok(Some(piece)) => page.extend_from_slice(&piece),
                Ok(None) => break,
                Err(_) => {
                    return refusal(StatusCode::BAD_GATEWAY, "the registry's answer broke off");
                }
            }
            if page.len() > pages::MAX_PAGE_BYTES {
                return refusal(StatusCode::BAD_GATEWAY, "the registry's page is too large");
            }
        }
        let page = String::from_utf8_lossy(&page);
        let page = pages::rewritten(&self.upstream, path, &page, &self.key);
        let mut answer = self.begun(&got, Some(page.len() as u64), local);
        *answer.body_mut() = whole(page.into_bytes());
        answer
    }

    fn begun(&self, got: &reqwest::Response, length: Option<u64>, local: &str) -> Answer {
        let mut answer = Response::new(whole(Vec::new()));
        *answer.status_mut() = got.status();
        let headers = answer.headers_mut();
        for name in HEADERS {
            if let Some(value) = got.headers().get(&name) {
                headers.insert(name, value.clone());
            }
        }
        if let Some(length) = length {
            headers.insert(http::header::CONTENT_LENGTH, length.into());
        }
        // A redirect is the client's to follow, without the credential; to the registry's own paths
        // it leads through here again.
        if let Some(location) = got.headers().get(LOCATION).and_then(|to| to.to_str().ok()) {
            let origin = format!("{}/", self.upstream.origin());
            let to = match location.strip_prefix(&origin) {
                Some(rest) => format!("{local}/{rest}"),
                None => location.to_owned(),
            };
            if let Ok(to) = HeaderValue::from_str(&to) {
                headers.insert(LOCATION, to);
            }
        }
        answer
    }
}

/// What a client must not see in the registry's own words, which may quote the credential.
fn not_passed_on(status: StatusCode) -> Option<Answer> {
    let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    is_refused.then(|| {
        let message = "the registry did not accept the environment's credential: have the operator set \
                       another with `awo admin set-secret`";
        refusal(StatusCode::FORBIDDEN, message)
    })
}

/// An answer in pieces; the permit is held to its end.
fn piped(
    mut got: reqwest::Response,
    permit: tokio::sync::OwnedSemaphorePermit,
) -> UnsyncBoxBody<Bytes, std::io::Error> {
    let (sender, pieces) = mpsc::channel(MAX_WAITING_PIECES);
    tokio::spawn(async move {
        let _permit = permit;
        loop {
            let piece = match got.chunk().await {
                Ok(Some(piece)) => Ok(piece),
                Ok(None) => return,
                Err(_) => Err(std::io::Error::other("the registry's answer broke off")),
            };
            let is_over = piece.is_err();
            if sender.send(piece).await.is_err() || is_over {
                return;
            }
        }
    });
    PipedBody::new(pieces).boxed_unsync()
}
