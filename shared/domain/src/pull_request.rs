//! Pull requests: their URL, from an untrusted source, and what is known of their state.

mod event;
mod state;
mod tracked;

pub use event::{OutcomeCost, PULL_REQUEST_CLOSED, PULL_REQUEST_MERGED, PullRequestChangedData};
pub use state::{PullRequestState, PullRequestStatus};
pub use tracked::{ASKED_EACH_MS, ASKED_FOR_MS, KnownPullRequest, PullRequest};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
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

    /// The number of the pull request in its repository, if this is the address of its page.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        let mut names = self.0.trim_end_matches('/').rsplit('/');
        let number = names.next()?.parse().ok()?;
        let is_page = matches!(names.next()?, "pull" | "pulls" | "merge_requests");
        is_page.then_some(number)
    }

    /// A name of bounded length that differs for each pull request: the hash of its page's address, without a
    /// slash at its end.
    #[must_use]
    pub fn digest(&self) -> String {
        hex::encode(Sha256::digest(self.0.trim_end_matches('/')))
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
    fn the_page_of_a_pull_request_names_its_number_at_each_forge() {
        for (url, number) in [
            ("https://github.com/a/b/pull/7", Some(7)),
            ("https://codeberg.org/a/b/pulls/8/", Some(8)),
            ("https://gitlab.com/a/b/c/-/merge_requests/9", Some(9)),
            ("https://gitlab.com/a/b/-/issues/9", None),
            ("https://github.com/a/b/pull/x", None),
        ] {
            let url = PullRequestUrl::parse(url).unwrap();
            assert_eq!(url.number(), number, "{}", url.as_str());
        }
    }

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
