//! The seam: every forge by its kind, and which of them serves a repository.

use awo_domain::forge::{ApiUrl, ForgeKind, ForgeSetting};
use http::StatusCode;
use url::Url;

use crate::gitea::Gitea;
use crate::github::{self, Github};
use crate::gitlab::Gitlab;
use crate::{
    Api, ExistingPullRequest, Fault, HostedRepository, Hosts, Proposal, PullRequestState,
    StateAnswer, gitea, gitlab,
};

/// One forge, at one repository, with one token.
pub enum Forge {
    /// GitHub.
    Github(Github),
    /// GitLab.
    Gitlab(Gitlab),
    /// Gitea or Forgejo.
    Gitea(Gitea),
}

/// Calls the same method of whichever forge it is.
macro_rules! each {
    ($forge:expr, $one:ident => $call:expr) => {
        match $forge {
            Forge::Github($one) => $call,
            Forge::Gitlab($one) => $call,
            Forge::Gitea($one) => $call,
        }
    };
}

impl Forge {
    /// The API of a repository: of the forge that the operator has set for the host, else of the one
    /// whose host it is, else of a GitHub that may be there. None if the path is no repository there.
    #[must_use]
    pub fn api(
        repository: &HostedRepository,
        setting: Option<&ForgeSetting>,
        hosts: &Hosts,
    ) -> Option<Api> {
        let setting = setting.filter(|setting| setting.host.as_str() == repository.host);
        let known = ForgeKind::of_known_host(&repository.host);
        let kind = setting.map(|setting| setting.kind).or(known);
        let set = setting.and_then(|setting| setting.api_url.as_ref());
        let set = set.map(ApiUrl::as_str);
        let (url, is_known) = match (kind, set) {
            (Some(_), Some(url)) => (url.to_owned(), true),
            (None | Some(ForgeKind::Github), _) => github::api(repository, kind.is_some(), hosts),
            (Some(ForgeKind::Gitlab), None) => (gitlab::api(repository), true),
            (Some(ForgeKind::Gitea), None) => (gitea::api(repository), true),
        };
        let kind = kind.unwrap_or(ForgeKind::Github);
        let path = below(&url, kind, &repository.path);
        let is_there = match kind {
            ForgeKind::Gitlab => path.len() >= 2,
            ForgeKind::Github | ForgeKind::Gitea => path.len() == 2,
        };
        is_there.then_some(Api {
            kind,
            url,
            is_known,
            path,
        })
    }

    /// # Errors
    /// A sentence, if there is no HTTP client to be had, or the token is none.
    pub fn connect(api: Api, hosts: &Hosts, token: &str) -> Result<Forge, String> {
        Ok(match api.kind {
            ForgeKind::Github => Forge::Github(Github::connect(api, hosts, token)?),
            ForgeKind::Gitlab => Forge::Gitlab(Gitlab::connect(&api, hosts, token)?),
            ForgeKind::Gitea => Forge::Gitea(Gitea::connect(api, hosts, token)?),
        })
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Forge::Github(_) => "GitHub",
            Forge::Gitlab(_) => "GitLab",
            Forge::Gitea(_) => "Gitea",
        }
    }

    /// Rights that a token needs, in the forge's own terms: "it needs … for this repository".
    #[must_use]
    pub fn permissions(&self) -> &'static str {
        match self {
            Forge::Github(_) => "contents and pull requests, read and write,",
            Forge::Gitlab(_) => "the scopes api and write_repository, and the role Developer",
            Forge::Gitea(_) => {
                "the scopes write:repository, write:issue and read:organization, and write access"
            }
        }
    }

    /// The open pull request of a branch.
    ///
    /// # Errors
    /// A [`Fault`] of the call.
    pub async fn find(&self, branch: &str) -> Result<Option<ExistingPullRequest>, Fault> {
        each!(self, forge => forge.find(branch).await)
    }

    /// Opens one.
    ///
    /// # Errors
    /// A [`Fault`] of the call; one that is there already is [`Fault::Again`].
    pub async fn create(&self, proposal: &Proposal<'_>) -> Result<ExistingPullRequest, Fault> {
        each!(self, forge => forge.create(proposal).await)
    }

    /// Gives an open one another text and target; a draft stays one.
    ///
    /// # Errors
    /// A [`Fault`] of the call.
    pub async fn update(
        &self,
        existing: &ExistingPullRequest,
        proposal: &Proposal<'_>,
    ) -> Result<(), Fault> {
        each!(self, forge => forge.update(existing, proposal).await)
    }

    /// Adds labels, and leaves those that are there.
    ///
    /// # Errors
    /// A [`Fault`] of a call, or [`Fault::Refused`] with labels that the forge does not have.
    pub async fn label(&self, number: u64, labels: &[String]) -> Result<(), Fault> {
        each!(self, forge => forge.label(number, labels).await)
    }

    /// Asks users and teams, as the profile writes them, and leaves who is asked already.
    ///
    /// # Errors
    /// A [`Fault`] of a call, or [`Fault::Refused`] with reviewers that the forge does not have.
    pub async fn request_reviews(&self, number: u64, reviewers: &[String]) -> Result<(), Fault> {
        each!(self, forge => forge.request_reviews(number, reviewers).await)
    }

    /// The state of a pull request.
    ///
    /// # Errors
    /// A [`Fault`] of the call.
    pub async fn state(&self, number: u64) -> Result<PullRequestState, Fault> {
        each!(self, forge => forge.state(number).await)
    }

    /// The state of a pull request, if it has changed since an answer with this mark. A forge without marks
    /// answers each request in full.
    ///
    /// # Errors
    /// A [`Fault`] of the call.
    pub async fn state_since(&self, number: u64, etag: Option<&str>) -> Result<StateAnswer, Fault> {
        each!(self, forge => forge.state_since(number, etag).await)
    }

    /// True if a refused pull request could be opened if it were no draft.
    #[must_use]
    pub fn is_about_drafts(&self, status: StatusCode, why: &str) -> bool {
        match self {
            Forge::Github(_) => github::is_about_drafts(status, why),
            // There a draft is a title.
            Forge::Gitlab(_) | Forge::Gitea(_) => false,
        }
    }
}

/// The path of a repository at a forge that is itself below a path of its host, as its API's address
/// shows: what comes before `/api/v…`.
fn below(api: &str, kind: ForgeKind, path: &[String]) -> Vec<String> {
    let url = Url::parse(api).ok().filter(|_| kind != ForgeKind::Github);
    let root: Vec<String> = url
        .iter()
        .flat_map(|url| url.path().trim_matches('/').split('/'))
        .take_while(|name| *name != "api")
        .map(str::to_owned)
        .collect();
    path.strip_prefix(root.as_slice()).unwrap_or(path).to_vec()
}

#[cfg(test)]
mod tests {
    use awo_domain::forge::GitHostName;

    use super::*;

    fn api(repository: &str, setting: Option<(&str, ForgeKind, Option<&str>)>) -> Option<Api> {
        let setting = setting.map(|(host, kind, url)| ForgeSetting {
            host: GitHostName::parse(host).unwrap(),
            kind,
            api_url: url.map(|url| ApiUrl::parse(url).unwrap()),
        });
        let repository = HostedRepository::parse(repository)?;
        Forge::api(&repository, setting.as_ref(), &Hosts::default())
    }

    #[test]
    fn the_operators_word_on_a_host_comes_before_what_is_known_of_it() {
        for (repository, setting, kind, url) in [
            (
                "https://gitlab.com/a/b/c.git",
                None,
                ForgeKind::Gitlab,
                "https://gitlab.com/api/v4",
            ),
            (
                "https://codeberg.org/a/b",
                None,
                ForgeKind::Gitea,
                "https://codeberg.org/api/v1",
            ),
            (
                "https://git.corp:8443/a/b",
                Some(("git.corp:8443", ForgeKind::Gitea, None)),
                ForgeKind::Gitea,
                "https://git.corp:8443/api/v1",
            ),
            (
                "https://git.corp/gitlab/a/b",
                Some((
                    "git.corp",
                    ForgeKind::Gitlab,
                    Some("https://git.corp/gitlab/api/v4"),
                )),
                ForgeKind::Gitlab,
                "https://git.corp/gitlab/api/v4",
            ),
        ] {
            let api = api(repository, setting).unwrap();
            assert_eq!((api.kind, &*api.url, api.is_known), (kind, url, true));
        }
    }

    #[test]
    fn a_setting_of_another_host_counts_for_nothing() {
        let other = Some(("git.other", ForgeKind::Gitlab, None));
        let api = api("https://git.corp/a/b", other).unwrap();
        assert_eq!((api.kind, api.is_known), (ForgeKind::Github, false));
    }

    #[test]
    fn a_forge_below_a_path_of_its_host_has_its_repositories_below_it() {
        let url = Some("https://git.corp/gitlab/api/v4");
        let setting = Some(("git.corp", ForgeKind::Gitlab, url));
        let api = api("https://git.corp/gitlab/group/sub/app.git", setting).unwrap();
        assert_eq!(api.path, ["group", "sub", "app"]);
    }

    #[test]
    fn subgroups_are_gitlabs_alone() {
        let path = "https://git.corp/a/b/c";
        assert!(api(path, Some(("git.corp", ForgeKind::Gitlab, None))).is_some());
        for kind in [ForgeKind::Github, ForgeKind::Gitea] {
            assert!(api(path, Some(("git.corp", kind, None))).is_none());
        }
        assert!(api(path, None).is_none());
    }
}
