//! The REST API for a repository's pull requests: its host's, in GitHub's form. A token is sent
//! only to its own host, and to that host's known API.

use std::path::{Path, PathBuf};

use url::Url;

/// Where git hosts and their APIs are, as far as the environment says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts {
    github_api: Option<Url>,
    /// True if that is spoken to in plain HTTP: only on loopback.
    plain_http: bool,
    ca_file: Option<PathBuf>,
}

impl Hosts {
    /// Reads the environment; `is_loopback` says of a URL that it does not leave this machine.
    ///
    /// # Errors
    /// A sentence that names the variable.
    pub(crate) fn from_env(
        text: impl Fn(&str) -> Option<String>,
        is_loopback: impl Fn(&Url) -> bool,
    ) -> Result<Hosts, String> {
        const API: &str = "AWO_GITHUB_API_URL";
        const CA: &str = "AWO_GIT_CA_FILE";
        let mut hosts = Hosts::default();
        if let Some(given) = text(API) {
            let url = Url::parse(&given).map_err(|why| format!("{API} is not a URL: {why}"))?;
            match url.scheme() {
                "https" => {}
                "http" if is_loopback(&url) => hosts.plain_http = true,
                _ => return Err(format!("{API} must be https:// (http:// on loopback only)")),
            }
            hosts.github_api = Some(url);
        }
        if let Some(given) = text(CA) {
            let file = PathBuf::from(given);
            if !file.is_absolute() {
                return Err(format!("{CA} must be an absolute path"));
            }
            hosts.ca_file = Some(file);
        }
        Ok(hosts)
    }

    /// True if an API may be spoken to in plain HTTP.
    pub(crate) fn plain_http(&self) -> bool {
        self.plain_http
    }

    /// The only authorities that git hosts are believed, if not the system's.
    pub(crate) fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }
}

/// A repository at an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForgeRepository {
    /// The git host, with its port where that is not 443.
    pub(crate) host: String,
    /// Without a slash at its end.
    pub(crate) api: String,
    /// False if only an answer can tell whether there is a GitHub.
    pub(crate) is_known: bool,
    pub(crate) owner: String,
    pub(crate) name: String,
}

impl ForgeRepository {
    /// Where the pull requests of a repository are.
    ///
    /// # Errors
    /// Why it can have none.
    pub(crate) fn of(repository: &str, hosts: &Hosts) -> Result<ForgeRepository, String> {
        let no_github = || format!("{repository} is not a repository on a GitHub host");
        let url = Url::parse(repository).map_err(|_| no_github())?;
        let domain = url.host_str().filter(|_| url.scheme() == "https");
        let domain = domain.ok_or_else(no_github)?;
        let host = match url.port() {
            Some(port) => format!("{domain}:{port}"),
            None => domain.to_owned(),
        };
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let mut parts = path.split('/').skip(1);
        let (owner, name) = match (parts.next(), parts.next(), parts.next()) {
            (Some(owner), Some(name), None) if is_name(owner) && is_name(name) => (owner, name),
            _ => return Err(no_github()),
        };
        let (api, is_known) = api(domain, &host, hosts.github_api.as_ref());
        Ok(ForgeRepository {
            host,
            api,
            is_known,
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// The API of a host, and whether it is known to be GitHub's. One that the environment names is
/// github.com's and its own host's: no other host's token may go there.
fn api(domain: &str, host: &str, named: Option<&Url>) -> (String, bool) {
    let is_github = domain == "github.com" || domain == "www.github.com";
    match named {
        Some(api) if is_github || api.host_str() == Some(domain) => {
            (api.as_str().trim_end_matches('/').to_owned(), true)
        }
        _ if is_github => ("https://api.github.com".to_owned(), true),
        _ if domain.ends_with(".ghe.com") => (format!("https://api.{domain}"), true),
        _ => (format!("https://{host}/api/v3"), false),
    }
}

/// What stands in a path as it is.
fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text != "." && text != ".." && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(api: &str) -> Result<Hosts, String> {
        let text = |name: &str| (name == "AWO_GITHUB_API_URL").then(|| api.to_owned());
        Hosts::from_env(text, |url| url.host_str() == Some("127.0.0.1"))
    }

    fn of(repository: &str, hosts: &Hosts) -> [String; 3] {
        let place = ForgeRepository::of(repository, hosts).unwrap();
        let name = format!("{}/{}", place.owner, place.name);
        [place.host, place.api, name]
    }

    #[test]
    fn each_github_has_its_api_and_a_repository_its_name_there() {
        for (repository, wanted) in [
            (
                "https://github.com/a/b",
                ["github.com", "https://api.github.com", "a/b"],
            ),
            (
                "https://GitHub.com/A-1/b.c.git/",
                ["github.com", "https://api.github.com", "A-1/b.c"],
            ),
            (
                "https://acme.ghe.com/a/b",
                ["acme.ghe.com", "https://api.acme.ghe.com", "a/b"],
            ),
            (
                "https://git.corp:8443/a/b_.git",
                ["git.corp:8443", "https://git.corp:8443/api/v3", "a/b_"],
            ),
        ] {
            assert_eq!(of(repository, &Hosts::default()), wanted);
        }
        for bad in [
            "file:///tmp/a/b",
            "https://github.com/a",
            "https://github.com/a/b/c",
            "https://github.com/a/..git",
            "https://github.com/a/%2e%2e%2f",
            "https://github.com/a/b%3fx",
            "https://github.com//b",
        ] {
            let why = ForgeRepository::of(bad, &Hosts::default()).unwrap_err();
            assert!(why.contains("not a repository on a GitHub"), "{bad}: {why}");
        }
    }

    #[test]
    fn a_named_api_gets_the_tokens_of_its_own_host_and_of_github_only() {
        let hosts = named("https://git.corp/api/v3/").unwrap();
        assert!(!hosts.plain_http());
        let api = |repository| of(repository, &hosts)[1].clone();
        assert_eq!(api("https://git.corp:8443/a/b"), "https://git.corp/api/v3");
        assert_eq!(api("https://github.com/a/b"), "https://git.corp/api/v3");
        assert_eq!(api("https://gitlab.com/a/b"), "https://gitlab.com/api/v3");
    }

    #[test]
    fn an_api_is_spoken_to_by_https_or_does_not_leave_the_machine() {
        assert!(named("http://127.0.0.1:1/").unwrap().plain_http());
        for bad in ["http://api.example", "ftp://127.0.0.1", "nonsense"] {
            assert!(named(bad).unwrap_err().contains("AWO_GITHUB_API_URL"));
        }
        let text = |name: &str| (name == "AWO_GIT_CA_FILE").then(|| "ca.pem".to_owned());
        let why = Hosts::from_env(text, |_| false).unwrap_err();
        assert!(why.contains("absolute"), "{why}");
    }
}
