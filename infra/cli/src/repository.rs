//! The repository that `--repo` names: a URL, or a folder of this machine. A service on this
//! machine clones the folder itself; any other clones the folder's `origin`.

use std::path::{Path, PathBuf};

use reqwest::Url;

use crate::failure::Failure;
use crate::local_repository::{git, refusal};
use crate::paint::clean_line;

/// A repository as a work order's source names it.
#[derive(Debug, Default, PartialEq)]
pub struct RepositorySource {
    /// Its URL.
    pub url: String,
    /// The branch that the folder is on, where the service does not see the folder.
    pub branch: Option<String>,
    /// The folder, if it is one.
    pub folder: Option<PathBuf>,
    /// Remarks for the person.
    pub notes: Vec<String>,
}

/// Reads `--repo`; without it, the folder one is in.
pub fn named(given: Option<&str>, is_local_service: bool) -> Result<RepositorySource, Failure> {
    let text = given.unwrap_or(".");
    if text.contains("://") {
        let folder = Url::parse(text).ok().filter(|url| url.scheme() == "file");
        return Ok(RepositorySource {
            url: text.to_owned(),
            folder: folder.and_then(|url| url.to_file_path().ok()),
            ..RepositorySource::default()
        });
    }
    if !Path::new(text).exists()
        && let Some(url) = https_of(text)
    {
        return Ok(RepositorySource {
            notes: vec![format!("the service clones over https: {url}")],
            url,
            ..RepositorySource::default()
        });
    }
    let refused = |why: &str| {
        let missing = given.is_none().then_some(", and --repo is not given");
        let missing = missing.unwrap_or_default();
        Failure::Usage(format!(
            "--repo {}: {why}{missing}\n  what to do: use an https:// URL, or a folder with a git \
             repository",
            clean_line(text)
        ))
    };
    let folder = std::fs::canonicalize(text).map_err(|e| refused(&e.to_string()))?;
    let top = ["--show-toplevel", "--absolute-git-dir"];
    let top = top
        .iter()
        .find_map(|what| git(&folder, &["rev-parse", what]));
    let top = top.map(|path| PathBuf::from(path.trim_end_matches('\n')));
    let top = top.ok_or_else(|| match refusal(&folder) {
        // What to do stands in git's own words.
        Some(reason) => Failure::Usage(format!(
            "--repo {}: git refuses this folder: {}",
            clean_line(text),
            clean_line(&reason)
        )),
        None => refused("is not a git repository"),
    })?;
    if is_local_service {
        of_folder(top).ok_or_else(|| refused("its path is not UTF-8"))
    } else {
        of_origin(top).ok_or_else(|| {
            refused(
                "the service is on another machine, and this repository has no remote `origin` \
             that the service can clone",
            )
        })
    }
}

fn of_folder(top: PathBuf) -> Option<RepositorySource> {
    Some(RepositorySource {
        url: Url::from_file_path(&top).ok()?.to_string(),
        folder: Some(top),
        ..RepositorySource::default()
    })
}

fn of_origin(top: PathBuf) -> Option<RepositorySource> {
    let remote = git(&top, &["remote", "get-url", "origin"])?;
    let url = https_of(remote.trim_end())?;
    let mut notes = vec![format!("the service clones {url}, which is `origin` here")];
    let unpushed = ["rev-list", "--count", "HEAD", "--not", "--remotes=origin"];
    let unpushed = git(&top, &unpushed).and_then(|count| count.trim().parse::<u32>().ok());
    if let Some(count @ 1..) = unpushed {
        let commits = if count == 1 {
            "commit is"
        } else {
            "commits are"
        };
        notes.push(format!(
            "{count} {commits} not pushed, and not part of this run"
        ));
    }
    let upstream = git(&top, &["rev-parse", "--abbrev-ref", "@{upstream}"]);
    let branch = upstream.and_then(|name| Some(name.trim().strip_prefix("origin/")?.to_owned()));
    Some(RepositorySource {
        url,
        branch,
        folder: Some(top),
        notes,
    })
}

/// An address of git as an https URL without user info: `git@host:path`, `ssh://…`, `https://…`.
fn https_of(address: &str) -> Option<String> {
    let (host, path) = match address.split_once("://") {
        Some(("https", _)) => {
            let mut url = Url::parse(address).ok()?;
            url.set_username("").ok()?;
            url.set_password(None).ok()?;
            return Some(url.to_string());
        }
        Some(("ssh", _)) => {
            let url = Url::parse(address).ok()?;
            (
                url.host_str()?.to_owned(),
                url.path().trim_start_matches('/').to_owned(),
            )
        }
        Some(_) => return None,
        None => {
            let (host, path) = address.split_once(':')?;
            let host = host.rsplit('@').next()?;
            (host.to_owned(), path.trim_start_matches('/').to_owned())
        }
    };
    let is_host = !host.is_empty() && !host.contains('/') && !path.is_empty();
    is_host.then(|| format!("https://{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_user_is_refused_with_the_reason_of_git() {
        if !std::process::Command::new("id")
            .arg("-u")
            .output()
            .is_ok_and(|id| id.stdout == b"0\n")
        {
            println!("skipped: only root can give a folder to another user");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("theirs");
        std::fs::create_dir(&top).unwrap();
        git(&top, &["init", "-q"]).unwrap();
        for path in [top.join(".git"), top.clone()] {
            std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).unwrap();
        }
        let Err(Failure::Usage(why)) = named(top.to_str(), true) else {
            // The configuration of this machine trusts every folder.
            println!("skipped: git trusts folders of other users here");
            return;
        };
        assert!(
            why.contains("dubious ownership") && why.contains("safe.directory"),
            "{why}"
        );
        assert!(!why.contains("is not a git repository"), "{why}");
    }

    #[test]
    fn addresses_of_git_become_https() {
        for (address, url) in [
            ("git@github.com:team/a.git", "https://github.com/team/a.git"),
            (
                "ssh://git@git.example.com:2222/team/a",
                "https://git.example.com/team/a",
            ),
            ("https://user:pw@example.com/a", "https://example.com/a"),
        ] {
            assert_eq!(https_of(address).as_deref(), Some(url));
        }
        for none in [
            "/srv/git/a.git",
            "../a",
            "file:///a",
            "a/b:c",
            ":x",
            "host:",
        ] {
            assert_eq!(https_of(none), None, "{none}");
        }
    }

    #[test]
    fn a_folder_is_cloned_itself_by_a_service_of_this_machine_and_by_its_origin_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("a b");
        std::fs::create_dir_all(top.join("src")).unwrap();
        let inside = top.join("src");
        let inside = inside.to_str();
        assert!(matches!(named(inside, true), Err(Failure::Usage(_))));
        git(&top, &["init", "-q"]).unwrap();
        let local = named(inside, true).unwrap();
        assert_eq!(
            local.url,
            format!("file://{}", top.display()).replace(' ', "%20")
        );
        assert_eq!(local.folder.as_ref(), Some(&top));
        assert!(matches!(named(inside, false), Err(Failure::Usage(_))));
        git(
            &top,
            &["remote", "add", "origin", "git@example.com:t/a.git"],
        )
        .unwrap();
        assert_eq!(
            named(inside, false).unwrap().url,
            "https://example.com/t/a.git"
        );
        let url = named(Some(&local.url), true).unwrap();
        assert_eq!((url.url, url.folder), (local.url, Some(top)));
    }
}
