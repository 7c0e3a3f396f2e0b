//! Forges: services around git hosts that have pull requests, as operators name them.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use url::{Host, Url};

use crate::webhook::private_hosts::PrivateHosts;

/// Longest address of an API, in bytes.
const MAX_API_URL: usize = 2_048;
/// Longest name of a git host with its port, in bytes.
const MAX_HOST: usize = 200;

/// Kind of a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ForgeKind {
    /// GitHub, Enterprise Server included.
    Github,
    /// GitLab, self-managed included.
    Gitlab,
    /// Gitea and Forgejo.
    Gitea,
}

impl ForgeKind {
    /// Kind of a host that is known without a setting.
    #[must_use]
    pub fn of_known_host(host: &str) -> Option<ForgeKind> {
        match host {
            "github.com" | "www.github.com" => Some(ForgeKind::Github),
            "gitlab.com" => Some(ForgeKind::Gitlab),
            "codeberg.org" => Some(ForgeKind::Gitea),
            _ if host.ends_with(".ghe.com") => Some(ForgeKind::Github),
            _ => None,
        }
    }
}

/// The permission of a user on a repository, as a forge names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForgePermission {
    /// No more than everybody.
    None,
    /// May read it.
    Read,
    /// May label and close issues.
    Triage,
    /// May push.
    Write,
    /// May change settings, some excepted.
    Maintain,
    /// May do everything.
    Admin,
}

/// A git host: a name in lower case, with its port where that is not 443. The organization's token
/// for it is the secret `git:<host>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GitHostName(String);

impl GitHostName {
    /// Reads one.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<GitHostName, String> {
        let refused = || {
            "must be a host in lower case, such as git.example.com or git.example.com:8443, \
             without https:// and a path"
                .to_owned()
        };
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        };
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-');
        let begins = name
            .as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphanumeric);
        let has_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port != 0));
        if begins && name.bytes().all(fits) && has_port && text.len() <= MAX_HOST {
            Ok(GitHostName(text.to_owned()))
        } else {
            Err(refused())
        }
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for GitHostName {
    type Error = String;

    fn try_from(text: String) -> Result<GitHostName, String> {
        GitHostName::parse(&text)
    }
}

impl From<GitHostName> for String {
    fn from(host: GitHostName) -> String {
        host.0
    }
}

/// Address of a forge's API: `https`, or `http` on loopback, without a slash at its end. The
/// organization's token for the host goes there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApiUrl(String);

impl ApiUrl {
    /// Reads one.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<ApiUrl, String> {
        let url = Url::parse(text).map_err(|why| format!("is not a URL: {why}"))?;
        let is_loopback = host_address(&url).is_some_and(|address| address.is_loopback());
        if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback) {
            return Err("must begin with https:// (http:// on loopback only)".to_owned());
        }
        if text.len() > MAX_API_URL || text.chars().any(char::is_control) {
            return Err(format!(
                "must have at most {MAX_API_URL} printable characters"
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not contain a user or a password: tokens are secrets".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must end with its path, without ? and #".to_owned());
        }
        Ok(ApiUrl(url.as_str().trim_end_matches('/').to_owned()))
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks that calls stay off special addresses (private, loopback, link-local) that the operator has not
    /// listed: the service is inside a network that organizations are not. What a name resolves to is its own
    /// network's matter.
    ///
    /// # Errors
    /// A sentence that names the address.
    pub fn check_reach(&self, hosts: &PrivateHosts) -> Result<(), String> {
        let url = Url::parse(&self.0).map_err(|why| why.to_string())?;
        hosts.judge(&url).map_err(|why| why.to_string())
    }
}

/// The address that a URL names without a name server.
fn host_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        Host::Domain("localhost") => Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)),
        Host::Domain(_) => None,
    }
}

impl TryFrom<String> for ApiUrl {
    type Error = String;

    fn try_from(text: String) -> Result<ApiUrl, String> {
        ApiUrl::parse(&text)
    }
}

impl From<ApiUrl> for String {
    fn from(url: ApiUrl) -> String {
        url.0
    }
}

/// A git host as an operator has set it for an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForgeSetting {
    /// The host.
    pub host: GitHostName,
    /// Kind of its forge.
    pub kind: ForgeKind,
    /// Address of its API, where it is not at its usual place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_url: Option<ApiUrl>,
}

/// GitHub App of an organization on a host; its key is the secret `app:<host>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppSetting {
    /// Its id.
    pub app_id: u64,
    /// Its installation, where it is not looked up by the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installation_id: Option<u64>,
}

/// Name of the secret that is the key of the App on a host.
#[must_use]
pub fn app_secret(host: &GitHostName) -> String {
    format!("app:{}", host.as_str())
}

/// All that an operator has set about a git host for an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostSettings {
    /// The host.
    pub host: GitHostName,
    /// Kind of its forge, unless it is known without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ForgeKind>,
    /// Address of its API, where it is not at its usual place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_url: Option<ApiUrl>,
    /// The App on it.
    #[serde(flatten)]
    pub app: Option<AppSetting>,
}

impl HostSettings {
    /// The forge, if one is set.
    #[must_use]
    pub fn forge(&self) -> Option<ForgeSetting> {
        Some(ForgeSetting {
            host: self.host.clone(),
            kind: self.kind?,
            api_url: self.api_url.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::address::Reach;

    #[test]
    fn public_hosts_are_known_without_a_setting_and_others_are_not() {
        for (host, kind) in [
            ("github.com", Some(ForgeKind::Github)),
            ("acme.ghe.com", Some(ForgeKind::Github)),
            ("gitlab.com", Some(ForgeKind::Gitlab)),
            ("codeberg.org", Some(ForgeKind::Gitea)),
            ("ghe.com", None),
            ("github.com.example", None),
            ("git.example.com:8443", None),
        ] {
            assert_eq!(ForgeKind::of_known_host(host), kind, "{host}");
        }
    }

    #[test]
    fn a_host_is_a_name_in_lower_case_with_its_port() {
        for good in ["git.example.com", "git.example.com:8443", "10.0.0.7", "g"] {
            assert!(GitHostName::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "Git.example",
            "https://git.example",
            "git.example/x",
            "git.example:0",
            "git.example:99999",
            "u@git.example",
            ".example",
        ] {
            assert!(GitHostName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_api_is_reached_by_https_and_its_address_holds_no_secret() {
        for good in [
            "https://git.example.com/api/v1/",
            "https://git.example.com:8443/gitlab/api/v4",
            "http://127.0.0.1:9/api/v3",
        ] {
            let read = ApiUrl::parse(good).unwrap();
            assert_eq!(read.as_str(), good.trim_end_matches('/'));
        }
        for (bad, word) in [
            ("http://git.example.com/api/v4", "https"),
            ("git.example.com", "not a URL"),
            ("https://u@git.example.com", "user"),
            ("https://git.example.com/?a=1", "?"),
            ("https://git.example.com/#a", "#"),
        ] {
            let why = ApiUrl::parse(bad).unwrap_err();
            assert!(why.contains(word), "{bad}: {why}");
        }
    }

    #[test]
    fn an_api_at_a_special_address_needs_the_operators_list() {
        let none = PrivateHosts::none(Reach::Public);
        for special in [
            "https://10.0.0.7/api/v4",
            "https://169.254.169.254/api/v4",
            "http://localhost:9/api/v4",
            "https://[::1]/api/v4",
        ] {
            let url = ApiUrl::parse(special).unwrap();
            assert!(url.check_reach(&none).is_err(), "{special}");
        }
        let listed = PrivateHosts::parse(["10.0.0.0/8".to_owned()], Reach::Public).unwrap();
        let private = ApiUrl::parse("https://10.0.0.7/api/v4").unwrap();
        assert_eq!(private.check_reach(&listed), Ok(()));
        let public = ApiUrl::parse("https://93.184.216.34/api/v4").unwrap();
        assert!(public.check_reach(&none).is_ok());
    }
}
