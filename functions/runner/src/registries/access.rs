//! A registry: where it is, what of it may be read, and the credential that goes there.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awo_domain::control::RegistryAccess;
use awo_domain::environment::RegistryKind;
use awo_domain::webhook::private_hosts::PrivateHosts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use reqwest::Client;
use url::{Position, Url};

use super::refusals::Refusals;
use crate::guarded_names::{self, GuardedNames};
use crate::http_client;

/// For a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest silence of a registry.
const SILENCE: Duration = Duration::from_secs(60);
/// Files beside the registry's path that its answers have named.
const MAX_NAMED: usize = 100_000;
/// Folders beside it.
const MAX_ALSO: usize = 4;
/// Most rounds in which a path is decoded.
const MAX_DECODED: usize = 4;
/// What of a request a registry gets to see.
const HEADERS: [HeaderName; 6] = [
    ACCEPT,
    http::header::IF_MODIFIED_SINCE,
    http::header::IF_NONE_MATCH,
    http::header::RANGE,
    http::header::USER_AGENT,
    HeaderName::from_static("npm-command"),
];

/// A registry.
pub(super) struct Upstream {
    kind: RegistryKind,
    url: Url,
    /// Name of the secret with the credential.
    secret: String,
    refused: Refusals,
    /// Of this proxy, without a slash at its end.
    local: String,
    credential: HeaderValue,
    http: Client,
    named: Mutex<HashSet<String>>,
    /// Beginnings of paths beside its own.
    also: Mutex<HashSet<String>>,
}

impl Upstream {
    /// # Errors
    /// A sentence for people, without the credential.
    pub(super) fn new(
        access: &RegistryAccess,
        local: &str,
        refused: Refusals,
        private_hosts: &PrivateHosts,
    ) -> Result<Upstream, String> {
        let registry = &access.registry;
        let written = registry.url.trim_start_matches("sparse+");
        let mut url = Url::parse(written).map_err(|why| format!("the URL of a registry: {why}"))?;
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        private_hosts
            .judge(&url)
            .map_err(|why| format!("the URL of the registry {} {why}", registry.url))?;
        let plain_http = url.scheme() == "http";
        let builder = http_client::builder_of_one_server(plain_http)
            .dns_resolver(GuardedNames::new(private_hosts))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE);
        let credential = authorization(registry.kind, access.credential.trim());
        let mut credential = HeaderValue::from_str(&credential).map_err(|_| {
            let secret = &registry.secret;
            format!("the secret {secret} holds characters that no credential has")
        })?;
        credential.set_sensitive(true);
        Ok(Upstream {
            kind: registry.kind,
            secret: registry.secret.clone(),
            refused,
            local: local.to_owned(),
            credential,
            http: http_client::build(builder)?,
            named: Mutex::default(),
            also: Mutex::default(),
            url,
        })
    }

    pub(super) fn kind(&self) -> RegistryKind {
        self.kind
    }

    /// Of its URL, with a slash at its end.
    pub(super) fn path(&self) -> &str {
        self.url.path()
    }

    pub(super) fn local(&self) -> &str {
        &self.local
    }

    pub(super) fn secret(&self) -> &str {
        &self.secret
    }

    /// Host of the registry, with the port where its URL has one.
    pub(super) fn host(&self) -> String {
        match (self.url.host_str(), self.url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or_default().to_owned(),
        }
    }

    /// Notes that the registry did not accept the credential.
    pub(super) fn note_refusal(&self) {
        self.refused.note(&self.host(), &self.secret);
    }

    /// A link of an answer to this path and query.
    pub(super) fn resolved(&self, target: &str, link: &str) -> Option<Url> {
        let base = Url::parse(&format!("{}{target}", self.origin())).ok()?;
        base.join(link).ok()
    }

    /// Path and what follows it, of a URL at the registry's own origin.
    pub(super) fn path_at_origin(&self, url: &Url) -> Option<String> {
        let is_own = url.origin() == self.url.origin();
        is_own.then(|| url[Position::BeforePath..].to_owned())
    }

    /// `https://host[:port]`.
    pub(super) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// True for what lies below the registry's path, or was named by one of its answers.
    pub(super) fn has(&self, path: &str) -> bool {
        let below = path.starts_with(self.path());
        is_plain(path) && (below || lock(&self.named).contains(path) || self.is_also(path))
    }

    fn is_also(&self, path: &str) -> bool {
        lock(&self.also)
            .iter()
            .any(|prefix| path.starts_with(prefix))
    }

    /// Notes that its crates lie below a path of its origin: not all of it, and few such paths.
    pub(super) fn allow_below(&self, prefix: &str) {
        let mut also = lock(&self.also);
        let is_folder = prefix.len() > 1 && prefix.ends_with('/') && is_plain(prefix);
        if is_folder && also.len() < MAX_ALSO {
            also.insert(prefix.to_owned());
        }
    }

    /// Notes a path of the registry's origin that one of its answers names.
    pub(super) fn name(&self, path: &str) {
        let mut named = lock(&self.named);
        if named.len() < MAX_NAMED && is_plain(path) {
            named.insert(path.to_owned());
        }
    }

    /// Asks the registry, with its credential. `target` is path and query.
    ///
    /// # Errors
    /// A sentence without addresses and credentials.
    pub(super) async fn send(
        &self,
        method: Method,
        target: &str,
        headers: &HeaderMap,
    ) -> Result<reqwest::Response, String> {
        let mut sent = HeaderMap::new();
        for name in HEADERS {
            if let Some(value) = headers.get(&name) {
                sent.insert(name, value.clone());
            }
        }
        sent.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        sent.insert(AUTHORIZATION, self.credential.clone());
        let url = format!("{}{target}", self.origin());
        let request = self.http.request(method, url).headers(sent);
        let sent = request.send().await;
        sent.map_err(|why| {
            let why = why.without_url();
            match guarded_names::refusal(&why) {
                Some(refusal) => format!("the registry {} {refusal}", self.host()),
                None => format!("the registry could not be reached: {why}"),
            }
        })
    }
}

fn lock(paths: &Mutex<HashSet<String>>) -> MutexGuard<'_, HashSet<String>> {
    paths.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A path without anything that a server could take for another one: however often it decodes it, and whatever
/// it drops behind a semicolon.
fn is_plain(path: &str) -> bool {
    let Some(decoded) = decoded_whole(path) else {
        return false;
    };
    let is_odd = |c: char| c == '\\' || c.is_control();
    path.starts_with('/')
        && !path.contains("//")
        && !decoded.contains(is_odd)
        && decoded.split('/').all(is_plain_segment)
}

/// False for a segment that some server reads as the folder itself, the one above, or nothing.
fn is_plain_segment(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default();
    segment.is_empty() || !name.trim_matches([' ', '.']).is_empty()
}

/// A path decoded until nothing changes; `None` if that takes more rounds than any client needs.
fn decoded_whole(path: &str) -> Option<String> {
    let mut text = path.to_owned();
    for _ in 0..MAX_DECODED {
        let next = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if next == text {
            return Some(text);
        }
        text = next;
    }
    None
}

/// `user:password` is basic authentication, anything else a token.
fn authorization(kind: RegistryKind, credential: &str) -> String {
    let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
    match kind {
        // Cargo has no scheme: what `cargo login` takes is the whole header.
        RegistryKind::Cargo => credential.to_owned(),
        _ if credential.contains(':') => basic(credential),
        RegistryKind::Pypi => basic(&format!("__token__:{credential}")),
        _ => format!("Bearer {credential}"),
    }
}

#[cfg(test)]
mod tests {
    use awo_domain::environment::EnvironmentRegistry;
    use awo_domain::webhook::address::Reach;

    use super::*;

    fn upstream(url: &str) -> Upstream {
        let registry = EnvironmentRegistry {
            kind: RegistryKind::Npm,
            url: url.to_owned(),
            secret: "T".to_owned(),
            name: None,
            scopes: Vec::new(),
            default: false,
        };
        let access = RegistryAccess {
            registry,
            credential: "token".to_owned(),
        };
        Upstream::new(
            &access,
            "http://127.0.0.1:1",
            Refusals::default(),
            &PrivateHosts::none(Reach::PublicAndLoopback),
        )
        .unwrap()
    }

    #[test]
    fn nothing_but_the_registrys_paths_is_reachable() {
        let upstream = upstream("https://npm.example.com/private");
        for good in [
            "/private/",
            "/private/@a%2fb",
            "/private/a/-/a-1.0.0.tgz",
            "/private/a/1.0.0+build;v=1/a..b.tgz",
            "/private/.well-known/x%20y",
        ] {
            assert!(upstream.has(good), "{good}");
        }
        for bad in [
            "/",
            "/private",
            "/privateer/x",
            "/private/../admin",
            "/private/%2e%2e/admin",
            "/private/%2E./admin",
            "/private/..%2fadmin",
            "/private/..\\admin",
            "/private//../x",
            "//evil.example/private/",
            "private/x",
            "/private/x%00",
            "/private/..;/admin",
            "/private/..;x=y/admin",
            "/private/.;/..;/admin",
            "/private/;/admin",
            "/private/%2e%2e;/admin",
            "/private/..%3b/admin",
            "/private/%252e%252e/admin",
            "/private/%25252e%25252e/admin",
            "/private/%2525252525252e%2525252525252e/admin",
            "/private/..%252fadmin",
            "/private/%255c../admin",
            "/private/%c0%ae%c0%ae/..%20/admin",
            "/private/.../admin",
        ] {
            assert!(!upstream.has(bad), "{bad}");
        }
        upstream.name("/files/a.whl");
        upstream.name("/files/../../etc");
        assert!(upstream.has("/files/a.whl") && !upstream.has("/files/b.whl"));
        assert!(!upstream.has("/files/../../etc"));
    }

    #[test]
    fn a_redirect_by_a_path_stays_at_the_registry() {
        let upstream = upstream("https://npm.example.com/private");
        let path_of = |link| {
            let url = upstream.resolved("/private/a/b?x=1", link).unwrap();
            upstream.path_at_origin(&url)
        };
        assert_eq!(
            path_of("/repo/files/x?y#z").as_deref(),
            Some("/repo/files/x?y#z")
        );
        assert_eq!(path_of("c").as_deref(), Some("/private/a/c"));
        assert_eq!(path_of("//npm.example.com/x").as_deref(), Some("/x"));
        assert_eq!(path_of("https://npm.example.com/x").as_deref(), Some("/x"));
        assert_eq!(path_of("//elsewhere.example/x"), None);
        assert_eq!(path_of("https://npm.example.com:8443/x"), None);
    }

    #[test]
    fn a_credential_is_sent_as_its_registry_wants_it() {
        let of = authorization;
        assert_eq!(of(RegistryKind::Npm, "abc"), "Bearer abc");
        assert_eq!(of(RegistryKind::Maven, "u:p"), "Basic dTpw");
        assert_eq!(of(RegistryKind::Pypi, "t"), "Basic X190b2tlbl9fOnQ=");
        assert_eq!(of(RegistryKind::Cargo, "Bearer x"), "Bearer x");
    }
}
