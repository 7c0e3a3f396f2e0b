//! One request to a registry: who asks, whether it may, and the answer as it comes.

use std::sync::Arc;

use awo_domain::environment::RegistryKind;
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
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
    /// True for a registry of npm that is found by scopes: npm takes tarballs from where its answers name them.
    is_scoped: bool,
    requests: Arc<Semaphore>,
}

/// A request to a path that its caller may read.
pub(super) struct Caller<'a> {
    /// Path and query.
    target: &'a str,
    pub(super) path: &'a str,
    /// Address on loopback that stands for the registry's origin.
    pub(super) local: &'a str,
    /// True if tarballs that an answer of npm names are to lead through here.
    pub(super) rewrites: bool,
}

#[cfg(test)]
impl<'a> Caller<'a> {
    pub(super) fn of(path: &'a str, local: &'a str) -> Caller<'a> {
        Caller {
            target: path,
            path,
            local,
            rewrites: false,
        }
    }
}

/// A request whose caller has shown the key.
struct AdmittedRequest {
    /// Path and query, without the key.
    target: String,
    /// Where the registry's origin is for this caller.
    local: String,
}

impl Serving {
    pub(super) fn new(upstream: Upstream, key: String, is_scoped: bool) -> Serving {
        Serving {
            is_scoped,
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
            self.ask_for_file(&path).await;
        }
        if !self.upstream.has(&path) {
            let message = "this is not a path of the registry: variables with its address end in a slash, and what follows begins without one";
            return refusal(StatusCode::FORBIDDEN, message);
        }
        let Ok(permit) = Arc::clone(&self.requests).acquire_owned().await else {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the run is over");
        };
        let caller = Caller {
            target: &target,
            path: &path,
            local: &local,
            rewrites: self.is_scoped || pages::takes_tarballs_as_named(&head.headers),
        };
        let is_head = head.method == Method::HEAD;
        let mut sent = self
            .upstream
            .send(head.method, &target, &head.headers)
            .await;
        // The length of a page is known once it is rewritten.
        if is_head && sent.as_ref().is_ok_and(|got| self.is_page(got, &caller)) {
            sent = self
                .upstream
                .send(Method::GET, &target, &head.headers)
                .await;
        }
        let got = match sent {
            Ok(got) => got,
            Err(why) => return refusal(StatusCode::BAD_GATEWAY, &why),
        };
        if got.status().is_client_error() || got.status().is_server_error() {
            return self.failed(&got, &caller);
        }
        if self.is_page(&got, &caller) {
            return self.page(got, &caller).await;
        }
        // Of an answer to HEAD there is no body to measure.
        let length = got.headers().get(CONTENT_LENGTH).cloned();
        let mut answer = self.begun(&got, length, &caller);
        if !is_head {
            *answer.body_mut() = piped(got, permit);
        }
        answer
    }

    fn is_page(&self, got: &reqwest::Response, caller: &Caller<'_>) -> bool {
        let kind = got.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        got.status() == StatusCode::OK && pages::is_page(&self.upstream, caller, kind)
    }

    /// Asks an index for the page that may name a file: a client that installs from a lock file reads no page.
    async fn ask_for_file(&self, path: &str) {
        let project = match self.upstream.kind() {
            RegistryKind::Pypi => pages::project_of(path),
            _ => None,
        };
        let Some(project) = project else {
            return;
        };
        let target = format!("{}{project}/", self.upstream.path());
        let caller = Caller {
            target: &target,
            path: &target,
            local: self.upstream.local(),
            rewrites: false,
        };
        let plain = HeaderMap::new();
        let response = self.upstream.send(Method::GET, &target, &plain);
        if let Ok(got) = response.await
            && self.is_page(&got, &caller)
        {
            self.page(got, &caller).await;
        }
    }

    /// An error in our own words: the registry's may quote the request, and with it the credential.
    fn failed(&self, got: &reqwest::Response, caller: &Caller<'_>) -> Answer {
        let (host, path) = (self.upstream.host(), caller.path);
        let (status, message) = match got.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                self.upstream.note_refusal();
                let secret = self.upstream.secret();
                let message = format!(
                    "the registry {host} did not accept the environment's credential for {path}: have the value of the \
                     secret {secret} set again"
                );
                (StatusCode::FORBIDDEN, message)
            }
            status => (
                status,
                format!("the registry {host} answered {status} to {path}"),
            ),
        };
        let (kind, text) = match self.upstream.kind() {
            // npm shows this member.
            RegistryKind::Npm => (
                "application/json",
                serde_json::json!({ "error": message }).to_string(),
            ),
            _ => ("text/plain; charset=utf-8", format!("{message}\n")),
        };
        let mut answer = self.begun(got, Some(text.len().into()), caller);
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.remove(http::header::CONTENT_RANGE);
        *answer.body_mut() = whole(text.into_bytes());
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
    async fn page(&self, mut got: reqwest::Response, caller: &Caller<'_>) -> Answer {
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
        let page = pages::rewritten(&self.upstream, caller, &page, &self.key);
        let mut answer = self.begun(&got, Some(page.len().into()), caller);
        *answer.body_mut() = whole(page.into_bytes());
        answer
    }

    fn begun(
        &self,
        got: &reqwest::Response,
        length: Option<HeaderValue>,
        caller: &Caller<'_>,
    ) -> Answer {
        let mut answer = Response::new(whole(Vec::new()));
        *answer.status_mut() = got.status();
        let headers = answer.headers_mut();
        for name in HEADERS {
            if let Some(value) = got.headers().get(&name) {
                headers.insert(name, value.clone());
            }
        }
        if let Some(length) = length {
            headers.insert(CONTENT_LENGTH, length);
        }
        // A redirect is the client's to follow, without the credential; to the registry's own host
        // it leads through here again.
        let location = got.headers().get(LOCATION).and_then(|to| to.to_str().ok());
        let location = location.and_then(|to| self.upstream.resolved(caller.target, to));
        if let Some(to) = location {
            let to = match self.upstream.path_at_origin(&to) {
                Some(target) => format!("{}{target}", caller.local),
                None => to.to_string(),
            };
            if let Ok(to) = HeaderValue::from_str(&to) {
                headers.insert(LOCATION, to);
            }
        }
        answer
    }
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
