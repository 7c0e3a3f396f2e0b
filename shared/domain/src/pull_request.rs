//! The URL of a pull request, from an untrusted source.

use serde::{Deserialize, Serialize};
use url::Url;

/// Longest URL, in bytes.
pub const MAX_PULL_REQUEST_URL: usize = 2_048;

/// An `https://` URL of bounded length, without user info, that is shown to clients as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PullRequestUrl(String);

impl PullRequestUrl {
    /// Reads a URL from outside.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<PullRequestUrl, String> {
        if text.len() > MAX_PULL_REQUEST_URL {
            return Err(format!(
                "must not be longer than {MAX_PULL_REQUEST_URL} bytes"
            ));
        }
        let refused = || "must be an https:// URL without user info".to_owned();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.contains('\\') {
            return Err(refused());
        }
        let url = Url::parse(text).map_err(|_| refused())?;
        let is_named =
            text.starts_with("https://") && url.host_str().is_some_and(|h| !h.is_empty());
        let is_bare = url.username().is_empty() && url.password().is_none();
        if is_named && is_bare {
            Ok(PullRequestUrl(text.to_owned()))
        } else {
            Err(refused())
        }
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for PullRequestUrl {
    type Error = String;

    fn try_from(text: String) -> Result<PullRequestUrl, String> {
        PullRequestUrl::parse(&text)
    }
}

impl From<PullRequestUrl> for String {
    fn from(url: PullRequestUrl) -> String {
        url.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_https_url_of_bounded_length_is_where_a_pull_request_is() {
        let good = "https://github.com/octocat/Hello-World/pull/1347";
        assert_eq!(PullRequestUrl::parse(good).unwrap().as_str(), good);
        let long = format!("https://a.example/{}", "x".repeat(MAX_PULL_REQUEST_URL));
        for bad in [
            "",
            "http://github.com/a/b/pull/1",
            "javascript:alert(1)",
            "https://",
            "https:/github.com/a",
            "https://me:pw@github.com/a",
            "https://github.com@evil.example/a",
            "https://github.com/a b",
            "https://github.com/a\n",
            "https:\\\\github.com\\a",
            long.as_str(),
        ] {
            assert!(PullRequestUrl::parse(bad).is_err(), "{bad:?}");
            let json = serde_json::to_value(bad).unwrap();
            assert!(serde_json::from_value::<PullRequestUrl>(json).is_err());
        }
    }
}
