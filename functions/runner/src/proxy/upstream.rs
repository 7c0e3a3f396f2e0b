//! The model providers: their addresses, and the organization's key for each.

use std::time::Duration;

use awo_domain::control::{ModelKey, Provider};
use http::Method;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Client;
use url::Url;

use crate::http_client;

/// For a connection to a provider.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest silence of a provider; models think for minutes before they say the first word.
const SILENCE: Duration = Duration::from_secs(600);
/// What of a request a provider gets to see.
const HEADERS: [&str; 6] = [
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "openai-beta",
    "user-agent",
];

/// Where providers are; other places than their own are for tests.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrls {
    anthropic: String,
    openai: String,
    /// True if one of them is spoken to in plain HTTP: only on loopback.
    plain_http: bool,
}

impl BaseUrls {
    /// Reads the environment; `is_loopback` says of a URL that it does not leave this machine.
    ///
    /// # Errors
    /// A sentence that names the variable.
    pub(crate) fn from_env(
        text: impl Fn(&str) -> Option<String>,
        is_loopback: impl Fn(&Url) -> bool,
    ) -> Result<BaseUrls, String> {
        let mut plain_http = false;
        let mut read = |name: &str, default: &str| {
            let Some(given) = text(name) else {
                return Ok(default.to_owned());
            };
            let url = Url::parse(&given).map_err(|why| format!("{name} is not a URL: {why}"))?;
            match url.scheme() {
                "https" => {}
                "http" if is_loopback(&url) => plain_http = true,
                _ => {
                    return Err(format!(
                        "{name} must be https:// (http:// on loopback only)"
                    ));
                }
            }
            Ok(given.trim_end_matches('/').to_owned())
        };
        let anthropic = read("AWO_ANTHROPIC_BASE_URL", "https://api.anthropic.com")?;
        let openai = read("AWO_OPENAI_BASE_URL", "https://api.openai.com")?;
        Ok(BaseUrls {
            anthropic,
            openai,
            plain_http,
        })
    }

    fn of(&self, provider: Provider) -> &str {
        match provider {
            Provider::Anthropic => &self.anthropic,
            Provider::Openai => &self.openai,
        }
    }
}

/// The line to the providers.
pub(super) struct Upstream {
    http: Client,
    bases: BaseUrls,
    keys: Vec<ModelKey>,
}

impl Upstream {
    /// # Errors
    /// A sentence, if there is no HTTP client to be had.
    pub(super) fn new(bases: BaseUrls, keys: Vec<ModelKey>) -> Result<Upstream, String> {
        let builder = http_client::builder_of_one_server(bases.plain_http);
        let http = http_client::build(
            builder
                .connect_timeout(CONNECT_TIMEOUT)
                .read_timeout(SILENCE),
        )?;
        Ok(Upstream { http, bases, keys })
    }

    /// True if the organization has a key for it.
    pub(super) fn has_key(&self, provider: Provider) -> bool {
        self.key(provider).is_some()
    }

    fn key(&self, provider: Provider) -> Option<&str> {
        let mut keys = self.keys.iter();
        let found = keys.find(|key| key.provider == provider);
        found.map(|key| key.key.as_str())
    }

    /// Sends a call in the organization's name; `target` is path and query.
    ///
    /// # Errors
    /// A sentence without addresses and keys.
    pub(super) async fn send(
        &self,
        provider: Provider,
        (method, target): (Method, &str),
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Result<reqwest::Response, String> {
        let url = format!("{}{target}", self.bases.of(provider));
        let mut sent = HeaderMap::new();
        for name in HEADERS {
            if let Some(value) = headers.get(name) {
                sent.insert(HeaderName::from_static(name), value.clone());
            }
        }
        let key = self.key(provider).unwrap_or_default();
        let (name, value) = match provider {
            Provider::Anthropic => ("x-api-key", key.to_owned()),
            Provider::Openai => ("authorization", format!("Bearer {key}")),
        };
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| "the organization's key contains invalid characters".to_owned())?;
        value.set_sensitive(true);
        sent.insert(HeaderName::from_static(name), value);
        let request = self.http.request(method, url).headers(sent).body(body);
        request.send().await.map_err(|why| {
            let why = why.without_url();
            format!("{} could not be reached: {why}", provider.as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<BaseUrls, String> {
        let text = |name: &str| (name == "AWO_OPENAI_BASE_URL").then(|| value.to_owned());
        BaseUrls::from_env(text, |url| url.host_str() == Some("127.0.0.1"))
    }

    #[test]
    fn keys_travel_by_https_or_do_not_leave_the_machine() {
        let loopback = read("http://127.0.0.1:1/").unwrap();
        assert_eq!(loopback.of(Provider::Openai), "http://127.0.0.1:1");
        let theirs = loopback.of(Provider::Anthropic);
        assert_eq!(theirs, "https://api.anthropic.com");
        for bad in ["http://a.example", "ftp://127.0.0.1", "nonsense"] {
            assert!(read(bad).unwrap_err().contains("AWO_OPENAI_BASE_URL"));
        }
    }
}
