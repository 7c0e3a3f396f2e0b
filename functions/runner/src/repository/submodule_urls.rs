//! URLs of submodules, as `.gitmodules` writes them.

use url::Url;

/// The URL of a submodule of the repository at `parent`: a relative one follows the parent's, and
/// those of SSH are read as HTTPS. None if it cannot be fetched.
pub(super) fn resolved(parent: &str, url: &str) -> Option<String> {
    if url.starts_with("./") || url.starts_with("../") {
        return relative(parent, url);
    }
    match url.split_once("://") {
        Some(("ssh" | "git+ssh" | "ssh+git", _)) => {
            let ssh = Url::parse(url).ok()?;
            let path = ssh.path().trim_start_matches('/');
            https(ssh.host_str()?, path)
        }
        Some(("https" | "file", _)) => Some(url.to_owned()),
        Some(_) => None,
        None => {
            // `user@host:path`; a `:` after a slash belongs to a path of this machine.
            let (host, path) = url.split_once(':')?;
            if host.contains('/') || path.starts_with(':') {
                return None;
            }
            https(host.rsplit('@').next()?, path.trim_start_matches('/'))
        }
    }
}

fn https(host: &str, path: &str) -> Option<String> {
    (!host.is_empty() && !path.is_empty()).then(|| format!("https://{host}/{path}"))
}

/// Git takes one part off the parent's path for each `../`.
fn relative(parent: &str, url: &str) -> Option<String> {
    let (scheme, rest) = parent.split_once("://")?;
    let (host, path) = rest.split_once('/')?;
    let mut parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let mut left = url;
    loop {
        if let Some(more) = left.strip_prefix("../") {
            parts.pop()?;
            left = more;
        } else if let Some(more) = left.strip_prefix("./") {
            left = more;
        } else {
            break;
        }
    }
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let left = left.trim_end_matches('/');
    if !left.split('/').all(is_plain) {
        return None;
    }
    parts.push(left);
    Some(format!("{scheme}://{host}/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_submodules_follow_git() {
        let parent = "https://example.com/team/app.git";
        for (url, resolved_url) in [
            ("../lib.git", "https://example.com/team/lib.git"),
            ("../../other/lib", "https://example.com/other/lib"),
            ("./sub", "https://example.com/team/app.git/sub"),
            (
                "git@example.com:team/lib.git",
                "https://example.com/team/lib.git",
            ),
            (
                "ssh://git@example.com:22/team/lib",
                "https://example.com/team/lib",
            ),
            ("https://other.example/lib", "https://other.example/lib"),
            ("file:///srv/lib", "file:///srv/lib"),
        ] {
            assert_eq!(
                resolved(parent, url).as_deref(),
                Some(resolved_url),
                "{url}"
            );
        }
        for refused in [
            "ext::sh -c id",
            "http://example.com/a",
            "git://example.com/a",
            "/srv/lib",
            "lib",
            "../../../../etc",
            "../a/../../b",
            "-uid",
            "",
        ] {
            assert_eq!(resolved(parent, refused), None, "{refused}");
        }
        let local = resolved("file:///srv/git/app", "../lib");
        assert_eq!(local.as_deref(), Some("file:///srv/git/lib"));
    }
}
