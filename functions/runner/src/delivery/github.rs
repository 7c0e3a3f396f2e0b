//! Calls of GitHub's REST API for an organization. Its token is in one header of calls to one
//! address, and never in a result; no redirect is followed.

mod judgement;

use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, StatusCode};
use reqwest::{Certificate, Client};
use serde_json::Value;

use super::forge_repository::{ForgeRepository, Hosts};
use crate::git::without;
use crate::http_client;

/// For a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For a call and its answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer that is read; a page of pull requests is some hundred KiB.
const MAX_ANSWER_BYTES: usize = 2 * 1_024 * 1_024;

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Asking again can help, after this pause if GitHub says which.
    Again(String, Option<Duration>),
    /// GitHub does not do it.
    Refused(StatusCode, String),
    /// Whoever answers there is no GitHub.
    NoGithub(String),
}

impl Fault {
    /// Why, without the status.
    pub(super) fn into_words(self) -> String {
        match self {
            Fault::Again(why, _) | Fault::Refused(_, why) | Fault::NoGithub(why) => why,
        }
    }
}

/// The line to an API.
pub(super) struct Github {
    http: Client,
    pub(super) place: ForgeRepository,
    headers: HeaderMap,
    secrets: [String; 1],
}

impl Github {
    /// # Errors
    /// A sentence, if there is no HTTP client to be had, or the token is none.
    pub(super) fn new(
        hosts: &Hosts,
        place: ForgeRepository,
        token: &str,
    ) -> Result<Github, String> {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| "the organization's token contains invalid characters".to_owned())?;
        bearer.set_sensitive(true);
        let fixed = |text| HeaderValue::from_static(text);
        let version = HeaderName::from_static("x-github-api-version");
        let headers = HeaderMap::from_iter([
            (AUTHORIZATION, bearer),
            (ACCEPT, fixed("application/vnd.github+json")),
            (USER_AGENT, fixed("agent-work-order-service")),
            (version, fixed("2022-11-28")),
        ]);
        Ok(Github {
            http: http_client(hosts)?,
            place,
            headers,
            secrets: [token.to_owned()],
        })
    }

    /// Calls what is at `path` below the repository.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, Fault> {
        let ForgeRepository { owner, name, .. } = &self.place;
        let url = format!("{}/repos/{owner}/{name}/{path}", self.place.api);
        let mut url = url::Url::parse(&url).map_err(|why| lost(&why.to_string()))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.http.request(method, url).headers(self.headers.clone());
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let unheard = |why: reqwest::Error| lost(&told(why));
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
        judgement::judge(status, &headers, &bytes, self.place.is_known)
            .map_err(|fault| self.without_secrets(fault))
    }

    /// A server may quote what it was sent.
    fn without_secrets(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Again(why, pause) => Fault::Again(without(&self.secrets, why), pause),
            Fault::Refused(status, why) => Fault::Refused(status, without(&self.secrets, why)),
            Fault::NoGithub(why) => Fault::NoGithub(why),
        }
    }
}

fn http_client(hosts: &Hosts) -> Result<Client, String> {
    let mut builder = http_client::builder(hosts.plain_http())
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(CALL_TIMEOUT);
    if let Some(file) = hosts.ca_file() {
        let unread = |why: String| format!("{} is not a PEM file: {why}", file.display());
        let pem = std::fs::read(file).map_err(|why| unread(why.to_string()))?;
        let authorities = Certificate::from_pem_bundle(&pem);
        builder = builder.tls_certs_only(authorities.map_err(|why| unread(why.to_string()))?);
    }
    http_client::build(builder)
}

fn lost(why: &str) -> Fault {
    Fault::Again(format!("there was no answer: {why}"), None)
}

/// An error with its causes: the first sentence alone says little. The URL says nothing that the
/// reader does not know.
fn told(why: reqwest::Error) -> String {
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
        let place = ForgeRepository::of("https://github.com/a/b", &Hosts::default()).unwrap();
        let github = Github::new(&Hosts::default(), place.clone(), "ghp_s3cret").unwrap();
        assert!(!format!("{:?}", github.headers).contains("s3cret"));
        let status = StatusCode::UNAUTHORIZED;
        let quoted = Fault::Refused(status, "ghp_s3cret is bad".to_owned());
        let shown = github.without_secrets(quoted);
        assert_eq!(shown, Fault::Refused(status, "*** is bad".to_owned()));
        assert!(Github::new(&Hosts::default(), place, "two\nlines").is_err());
    }
}
