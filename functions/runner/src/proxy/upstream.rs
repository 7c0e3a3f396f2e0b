//! The model providers: their addresses, and what each is called with.

use std::time::Duration;

use awo_domain::control::bedrock::BedrockAccess;
use awo_domain::control::{ModelEndpoint, ModelKey, Provider};
use awo_domain::environment::EgressHosts;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use reqwest::Client;

use super::answer::{Answer, NoAnswer};
use super::bedrock::{Bedrock, CredentialIssuer, Invocation};
use super::refusal::Refusal;
use crate::http_client;

/// For a connection to a provider.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest silence of a provider; models think for minutes before their first token.
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

/// Where providers are: their own places, or those that an operator has set.
#[derive(Debug, Clone)]
struct BaseUrls {
    anthropic: String,
    openai: String,
}

impl BaseUrls {
    fn of(endpoints: &[ModelEndpoint]) -> BaseUrls {
        let base = |provider: Provider, own: &str| {
            let mut endpoints = endpoints.iter();
            let set = endpoints.find(|endpoint| endpoint.provider == provider);
            set.map_or(own, |set| set.base_url.as_str()).to_owned()
        };
        BaseUrls {
            anthropic: base(Provider::Anthropic, "https://api.anthropic.com"),
            openai: base(Provider::Openai, "https://api.openai.com"),
        }
    }

    fn get(&self, provider: Provider) -> &str {
        match provider {
            Provider::Openai => &self.openai,
            Provider::Anthropic | Provider::Bedrock => &self.anthropic,
        }
    }
}

/// What a run calls models with.
pub(crate) struct ModelAccess {
    pub(crate) keys: Vec<ModelKey>,
    pub(crate) endpoints: Vec<ModelEndpoint>,
    /// Bedrock, where it answers Messages, and the issuer of its credentials.
    pub(crate) bedrock: Option<(BedrockAccess, CredentialIssuer)>,
    /// Hosts that providers may reach for a call; all where absent.
    pub(crate) hosts: Option<EgressHosts>,
}

impl ModelAccess {
    /// The providers whose protocols the agent can speak.
    pub(crate) fn providers(keys: &[ModelKey], has_bedrock: bool) -> Vec<Provider> {
        let has_key = |provider| keys.iter().any(|key| key.provider == provider);
        let speaks = |provider: &Provider| {
            has_key(*provider) || (has_bedrock && *provider == Provider::Anthropic)
        };
        Provider::KEYED.into_iter().filter(speaks).collect()
    }
}

/// The line to the providers.
pub(super) struct Upstream {
    http: Client,
    bases: BaseUrls,
    keys: Vec<ModelKey>,
    bedrock: Option<Bedrock>,
}

/// A call as its provider gets it.
pub(super) enum Outgoing {
    /// With the organization's key; path and query, and the body.
    Keyed(Method, String, Vec<u8>),
    /// With the run's credentials.
    Bedrock(Invocation),
}

impl Upstream {
    /// # Errors
    /// A sentence, if there is no HTTP client to be had.
    pub(super) fn new(access: ModelAccess) -> Result<Upstream, String> {
        let bases = BaseUrls::of(&access.endpoints);
        let of_bedrock = access.bedrock.as_ref();
        let of_bedrock = of_bedrock.map(|(bedrock, _)| bedrock.base_url.as_str());
        let keyed = access.keys.iter().map(|key| bases.get(key.provider));
        let called: Vec<&str> = keyed.chain(of_bedrock).collect();
        let is_plain = |url: &&str| url.starts_with("http:");
        let builder = if called.iter().all(is_plain) {
            http_client::builder_of_one_server(true)
        } else {
            http_client::builder(called.iter().any(is_plain))
        };
        let http = http_client::build(
            builder
                .connect_timeout(CONNECT_TIMEOUT)
                .read_timeout(SILENCE),
        )?;
        let bedrock = access.bedrock;
        Ok(Upstream {
            bases,
            keys: access.keys,
            bedrock: bedrock.map(|(access, issuer)| Bedrock::new(access, issuer, http.clone())),
            http,
        })
    }

    /// The providers whose protocols agents can speak.
    pub(super) fn providers(&self) -> Vec<Provider> {
        ModelAccess::providers(&self.keys, self.bedrock.is_some())
    }

    /// The provider that answers calls in a provider's protocol.
    pub(super) fn answering(&self, provider: Provider) -> Provider {
        match (provider, &self.bedrock) {
            (Provider::Anthropic, Some(_)) => Provider::Bedrock,
            _ => provider,
        }
    }

    /// Bedrock, where it answers a provider's calls.
    pub(super) fn bedrock(&self, provider: Provider) -> Option<&Bedrock> {
        let bedrock = self.bedrock.as_ref();
        bedrock.filter(|_| self.answering(provider) == Provider::Bedrock)
    }

    fn key(&self, provider: Provider) -> Option<&str> {
        let mut keys = self.keys.iter();
        let found = keys.find(|key| key.provider == provider);
        found.map(|key| key.key.as_str())
    }

    /// Sends a call in the organization's name.
    ///
    /// # Errors
    /// Why it was not answered.
    pub(super) async fn send(
        &self,
        provider: Provider,
        call: Outgoing,
        headers: &HeaderMap,
    ) -> Result<Answer, NoAnswer> {
        match (call, &self.bedrock) {
            (Outgoing::Keyed(method, target, body), _) => {
                let call = (method, target.as_str());
                let sent = self.send_with_key(provider, call, headers, body).await;
                sent.map(Answer::of).map_err(NoAnswer::Outage)
            }
            (Outgoing::Bedrock(call), Some(bedrock)) => bedrock.send(&call, headers).await,
            (Outgoing::Bedrock(_), None) => {
                let why = "this run does not call bedrock";
                Err(NoAnswer::Refused(Refusal::new(StatusCode::NOT_FOUND, why)))
            }
        }
    }

    async fn send_with_key(
        &self,
        provider: Provider,
        (method, target): (Method, &str),
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Result<reqwest::Response, String> {
        let url = format!("{}{target}", self.bases.get(provider));
        let mut sent = HeaderMap::new();
        for name in HEADERS {
            if let Some(value) = headers.get(name) {
                sent.insert(HeaderName::from_static(name), value.clone());
            }
        }
        let key = self.key(provider).unwrap_or_default();
        let (name, value) = match provider {
            Provider::Anthropic | Provider::Bedrock => ("x-api-key", key.to_owned()),
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
    use awo_domain::control::BaseUrl;

    use super::*;

    #[test]
    fn a_provider_is_called_where_the_operator_says_or_at_its_own() {
        let endpoints = [ModelEndpoint {
            provider: Provider::Openai,
            base_url: BaseUrl::parse("https://gateway.example/x/").unwrap(),
        }];
        let bases = BaseUrls::of(&endpoints);
        assert_eq!(bases.get(Provider::Openai), "https://gateway.example/x");
        assert_eq!(bases.get(Provider::Anthropic), "https://api.anthropic.com");
    }

    #[test]
    fn messages_can_be_spoken_with_a_key_or_with_bedrock() {
        let openai = ModelKey {
            provider: Provider::Openai,
            key: "k".to_owned(),
        };
        let of = ModelAccess::providers;
        assert_eq!(of(&[], false), []);
        assert_eq!(of(&[], true), [Provider::Anthropic]);
        let keys = [openai];
        assert_eq!(of(&keys, false), [Provider::Openai]);
        let both = [Provider::Anthropic, Provider::Openai];
        assert_eq!(of(&keys, true), both);
    }
}
