//! Where models are: base URLs of the deployment and of an organization instead of the providers'
//! own, and which provider answers Messages.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::Provider;

/// Longest base URL, in bytes.
const MAX_BASE_URL: usize = 2_048;

/// The base URL of a provider: `https`, or `http` on loopback, without a slash at its end. The
/// organization's key goes there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl(String);

impl BaseUrl {
    /// Reads one.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<BaseUrl, String> {
        let url = Url::parse(text).map_err(|why| format!("is not a URL: {why}"))?;
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            _ => return Err("must begin with https:// (http:// on loopback only)".to_owned()),
        }
        if text.len() > MAX_BASE_URL || text.chars().any(char::is_control) {
            return Err(format!(
                "must have at most {MAX_BASE_URL} printable characters"
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not contain a user or a password: keys are secrets".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must end with its path, without ? and #".to_owned());
        }
        let text = text.trim_end_matches('/');
        if text.ends_with("/v1") {
            Err("must not end in /v1, which is part of each call's path".to_owned())
        } else {
            Ok(BaseUrl(text.to_owned()))
        }
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if calls do not leave the machine: agents of this machine may listen there, too.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|url| is_loopback(&url))
    }
}

impl TryFrom<String> for BaseUrl {
    type Error = String;

    fn try_from(text: String) -> Result<BaseUrl, String> {
        BaseUrl::parse(&text)
    }
}

impl From<BaseUrl> for String {
    fn from(url: BaseUrl) -> String {
        url.0
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Where a provider is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelEndpoint {
    /// The provider of the models.
    pub provider: Provider,
    /// Where.
    pub base_url: BaseUrl,
}

/// What an operator has set about the providers of an organization, or of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSettings {
    /// What answers Messages: Anthropic or Bedrock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_provider: Option<Provider>,
    /// Instead of Anthropic's own base URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anthropic_base_url: Option<BaseUrl>,
    /// Instead of OpenAI's own base URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openai_base_url: Option<BaseUrl>,
}

impl ProviderSettings {
    /// These, and where they have none, the others.
    #[must_use]
    pub fn or(self, others: &ProviderSettings) -> ProviderSettings {
        let or = |own: Option<BaseUrl>, other: &Option<BaseUrl>| own.or_else(|| other.clone());
        ProviderSettings {
            messages_provider: self.messages_provider.or(others.messages_provider),
            anthropic_base_url: or(self.anthropic_base_url, &others.anthropic_base_url),
            openai_base_url: or(self.openai_base_url, &others.openai_base_url),
        }
    }

    /// The base URLs that are not the providers' own.
    #[must_use]
    pub fn endpoints(self) -> Vec<ModelEndpoint> {
        let all = [
            (Provider::Anthropic, self.anthropic_base_url),
            (Provider::Openai, self.openai_base_url),
        ];
        let all = all.into_iter();
        all.filter_map(|(provider, base_url)| {
            Some(ModelEndpoint {
                provider,
                base_url: base_url?,
            })
        })
        .collect()
    }

    /// True if Bedrock answers Messages: where it was chosen, or where nothing was and there is no
    /// key of Anthropic's.
    #[must_use]
    pub fn uses_bedrock(&self, has_anthropic_key: bool) -> bool {
        match self.messages_provider {
            Some(provider) => provider == Provider::Bedrock,
            None => !has_anthropic_key,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_https_or_on_loopback_and_holds_neither_keys_nor_a_query() {
        for good in [
            "https://gateway.example.com",
            "https://gateway.example.com/anthropic/",
            "https://10.0.0.7:8443",
            "http://127.0.0.1:9",
            "http://[::1]:9/x",
            "http://localhost:9",
        ] {
            let read = BaseUrl::parse(good).unwrap();
            assert_eq!(read.as_str(), good.trim_end_matches('/'));
            assert_eq!(read.is_loopback(), good.starts_with("http:"), "{good}");
        }
        for (bad, word) in [
            ("http://gateway.example.com", "https"),
            ("ftp://127.0.0.1", "https"),
            ("gateway", "not a URL"),
            ("https://user@gateway.example.com", "user"),
            ("https://:key@gateway.example.com", "user"),
            ("https://gateway.example.com/?key=1", "?"),
            ("https://gateway.example.com/#x", "#"),
            ("https://gateway.example.com/v1/", "/v1"),
        ] {
            let why = BaseUrl::parse(bad).unwrap_err();
            assert!(why.contains(word), "{bad}: {why}");
        }
        assert!(serde_json::from_str::<BaseUrl>(r#""http://a.example""#).is_err());
    }

    #[test]
    fn an_organizations_settings_come_before_the_deployments() {
        let url = |text: &str| Some(BaseUrl::parse(text).unwrap());
        let deployment = ProviderSettings {
            anthropic_base_url: url("https://a.example"),
            openai_base_url: url("https://b.example"),
            ..ProviderSettings::default()
        };
        let own = ProviderSettings {
            openai_base_url: url("https://c.example"),
            ..ProviderSettings::default()
        };
        let endpoints = own.or(&deployment).endpoints();
        let urls: Vec<&str> = endpoints.iter().map(|one| one.base_url.as_str()).collect();
        assert_eq!(urls, ["https://a.example", "https://c.example"]);
    }

    #[test]
    fn bedrock_answers_where_it_was_chosen_or_where_there_is_no_key() {
        let chosen = |messages_provider| ProviderSettings {
            messages_provider,
            ..ProviderSettings::default()
        };
        for (provider, with_key, without) in [
            (None, false, true),
            (Some(Provider::Anthropic), false, false),
            (Some(Provider::Bedrock), true, true),
        ] {
            let settings = chosen(provider);
            assert_eq!(settings.uses_bedrock(true), with_key, "{provider:?}");
            assert_eq!(settings.uses_bedrock(false), without, "{provider:?}");
        }
    }
}
