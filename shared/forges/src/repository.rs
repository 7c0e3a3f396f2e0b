//! A repository by its URL, before it is known which forge serves it.

use url::Url;

/// A repository on a host that is reached by HTTPS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedRepository {
    /// The host without its port.
    pub domain: String,
    /// The git host, with its port where that is not 443; its credential has this name.
    pub host: String,
    /// Where it is on the host, without `.git`: at least one name, each fit for a URL as it is.
    pub path: Vec<String>,
}

impl HostedRepository {
    /// Reads the URL of a repository; nothing if no forge can serve it.
    pub fn parse(url: &str) -> Option<HostedRepository> {
        let url = Url::parse(url).ok()?;
        let domain = url.host_str().filter(|_| url.scheme() == "https")?;
        let host = match url.port() {
            Some(port) => format!("{domain}:{port}"),
            None => domain.to_owned(),
        };
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let path: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
        let is_named = !path.is_empty() && path.iter().all(|name| is_name(name));
        is_named.then(|| HostedRepository {
            domain: domain.to_owned(),
            host,
            path,
        })
    }
}

/// What stands in a path as it is.
fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text != "." && text != ".." && text.bytes().all(plain)
}
