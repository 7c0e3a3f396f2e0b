//! The source of a workspace: a git repository, named in a way that git cannot misread.

use serde::{Deserialize, Serialize};
use url::Url;

/// Longest repository URL.
pub const MAX_REPOSITORY: usize = 2_048;
/// Longest branch name.
pub const MAX_BRANCH: usize = 255;

/// A repository that may be cloned: `https://` without user info, or `file:///` where the
/// deployment allows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Repository(String);

impl Repository {
    /// Reads a repository URL from outside.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str, allow_file: bool) -> Result<Self, String> {
        let refused = || {
            let file = if allow_file { " or a file:/// URL" } else { "" };
            format!("must be an https:// URL without user info{file}")
        };
        if text.len() > MAX_REPOSITORY {
            return Err(format!(
                "must not be longer than {MAX_REPOSITORY} characters"
            ));
        }
        if text
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
        {
            return Err("must not contain white space, control characters or \
             backslashes"
                .to_owned());
        }
        let url = Url::parse(text).map_err(|_| refused())?;
        let named = match url.scheme() {
            "https" => {
                text.starts_with("https://") && url.host_str().is_some_and(|h| !h.is_empty())
            }
            "file" => allow_file && text.starts_with("file:///"),
            _ => false,
        };
        let bare = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if named && bare && url.path().len() > 1 {
            Ok(Self(text.to_owned()))
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

/// A branch name that git accepts and that no program takes for an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Branch(String);

impl Branch {
    /// Reads a branch name from outside, by the rules of `git check-ref-format --branch`.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
        let bad_part =
            |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
        let bad = text.is_empty()
            || text.len() > MAX_BRANCH
            || text.starts_with('-')
            || text.ends_with('.')
            || text == "@"
            || text.contains("..")
            || text.contains("@{")
            || text.chars().any(forbidden)
            || text.split('/').any(bad_part);
        if bad {
            Err("is not a branch name that git accepts".to_owned())
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// The name, without `refs/heads/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The id of a commit: 40 hexadecimal digits, or 64 where the repository uses SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(String);

impl CommitId {
    /// Reads a whole id, in lower case afterwards.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex && COMMIT_DIGITS.contains(&text.len()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err("must be the whole id of a commit: 40 or 64 hexadecimal digits".to_owned())
        }
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Lengths of a commit's id, in digits.
pub const COMMIT_DIGITS: [usize; 2] = [40, 64];

/// A git repository and the branch to start from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// Its URL.
    pub repository: Repository,
    /// The branch; the remote's default branch where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The commit that a `verify` order is about; the branch's head where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_https_repositories_are_cloned() {
        for good in [
            "https://example.com/a/b.git",
            "https://example.com:8443/a",
            "https://[::1]/a",
        ] {
            assert!(Repository::parse(good, false).is_ok(), "{good}");
        }
        let bad = [
            "",
            "http://example.com/a",
            "HTTPS://example.com",
            "ext::sh -c id",
            "EXT::sh",
            "file:///tmp/a",
            "-uhttps://example.com",
            "--upload-pack=id",
            "git@example.com:a/b.git",
            "ssh://example.com/a",
            "https://user@example.com/a",
            "https://user:pw@example.com/a",
            "https://example.com/a\n",
            "https://",
            "https://example.com/a b",
            "https:/example.com/a",
            "https://example.com/a\0",
            "https:\\\\example.com\\a",
        ];
        for bad in bad {
            assert!(Repository::parse(bad, false).is_err(), "{bad:?}");
        }
        assert!(Repository::parse("file:///tmp/a", true).is_ok());
        assert!(Repository::parse("file://host/tmp/a", true).is_err());
    }

    #[test]
    fn a_commit_is_named_by_its_whole_id() {
        for length in COMMIT_DIGITS {
            let id = "Ab".repeat(length / 2);
            let commit = CommitId::parse(&id).unwrap();
            assert_eq!(commit.as_str(), id.to_lowercase());
        }
        for bad in [
            "",
            "abc",
            "main",
            &"g".repeat(40),
            &"a".repeat(41),
            &"-".repeat(40),
        ] {
            assert!(CommitId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn branch_names_follow_git() {
        for good in ["main", "feature/x-1", "v1.2", "ü"] {
            assert!(Branch::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-x",
            "--upload-pack=x",
            "a..b",
            "a b",
            "a~1",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a.lock",
            "@",
            "a@{1}",
            "a\n",
            "a.",
        ] {
            assert!(Branch::parse(bad).is_err(), "{bad:?}");
        }
    }
}
