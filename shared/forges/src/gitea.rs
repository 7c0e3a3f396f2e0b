//! Gitea and Forgejo, whose APIs are one here. A draft is one by its title.

use awo_domain::pull_request::PullRequestUrl;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::accounts::reading;
use crate::judgement::{judge, too_many};
use crate::rest::{Call, Rest};
use crate::{
    Api, ExistingPullRequest, Fault, HostedRepository, Hosts, Proposal, PullRequestState,
    StateAnswer, github, unreadable,
};

/// Beginning of the title of a draft: the first of those that a server has by default.
const DRAFT: &str = "WIP: ";
/// How titles of drafts begin by default, in lower case.
const DRAFTS: [&str; 2] = ["wip:", "[wip]"];
/// Length of a page, which a server may shorten.
const PER_PAGE: usize = 50;
/// Most pages of a list.
const MAX_PAGES: usize = 20;

/// Gitea's API for one repository.
pub struct Gitea {
    rest: Rest,
    owner: String,
    /// `repos/` and the repository's path.
    repository: String,
}

/// The API of a host.
pub(crate) fn api(repository: &HostedRepository) -> String {
    format!("https://{}/api/v1", repository.host)
}

impl Gitea {
    pub(crate) fn connect(api: Api, hosts: &Hosts, token: &str) -> Result<Gitea, String> {
        Ok(Gitea {
            repository: format!("repos/{}", api.path.join("/")),
            owner: api.path.into_iter().next().unwrap_or_default(),
            rest: Rest::new(hosts, api.url, token, [])?,
        })
    }

    /// The path of something of the repository.
    pub(crate) fn own(&self, path: &str) -> String {
        format!("{}/{path}", self.repository)
    }

    async fn call(&self, call: Call<'_>) -> Result<Value, Fault> {
        let judge =
            |status: StatusCode, headers: &_, body: &[u8]| judge(status, headers, body, too_many);
        self.rest.call(&call, judge).await
    }

    /// Reads something of the API.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Fault> {
        self.call(reading(path)).await
    }

    /// Reads something of the repository.
    pub(crate) async fn get_own(&self, path: &str) -> Result<Value, Fault> {
        self.get(&self.own(path)).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Value, Fault> {
        let path = self.own(path);
        self.call(Call {
            method,
            path: &path,
            query: &[],
            body: Some(body),
        })
        .await
    }

    /// Reads a list page by page until `take` has all that it is for.
    pub(crate) async fn pages(
        &self,
        path: &str,
        query: &[(&str, &str)],
        mut take: impl FnMut(&Value) -> bool,
    ) -> Result<(), Fault> {
        for page in 1..=MAX_PAGES {
            let (page, limit) = (page.to_string(), PER_PAGE.to_string());
            let paging = [("page", &*page), ("limit", &*limit)];
            let query = [query, &paging].concat();
            let list = self.call(Call {
                method: Method::GET,
                path,
                query: &query,
                body: None,
            });
            let list = list.await?;
            let list = list.as_array().ok_or_else(unreadable)?;
            // A server may have shorter pages, so that only an empty one is the last.
            if list.is_empty() || list.iter().any(&mut take) {
                break;
            }
        }
        Ok(())
    }

    pub(crate) async fn find(&self, branch: &str) -> Result<Option<ExistingPullRequest>, Fault> {
        let path = format!("{}/pulls", self.repository);
        let query = [("state", "open"), ("sort", "recentupdate")];
        let mut ours = None;
        self.pages(&path, &query, |pull| {
            // A fork may have a branch of that name.
            let is_ours =
                pull["head"]["ref"] == branch && pull["head"]["repo_id"] == pull["base"]["repo_id"];
            if is_ours {
                ours = Some(read(pull).ok_or_else(unreadable));
            }
            is_ours
        })
        .await?;
        ours.transpose()
    }

    pub(crate) async fn create(
        &self,
        proposal: &Proposal<'_>,
    ) -> Result<ExistingPullRequest, Fault> {
        let mut body = texts(proposal, proposal.draft);
        body["head"] = json!(proposal.branch);
        match self.send(Method::POST, "pulls", &body).await {
            Ok(made) => read(&made).ok_or_else(unreadable),
            // Made by a call whose answer was lost, and not in the list yet.
            Err(Fault::Refused(StatusCode::CONFLICT, why)) => Err(Fault::Again(why, None)),
            Err(fault) => Err(fault),
        }
    }

    pub(crate) async fn update(
        &self,
        existing: &ExistingPullRequest,
        proposal: &Proposal<'_>,
    ) -> Result<(), Fault> {
        let path = format!("pulls/{}", existing.number);
        let body = texts(proposal, existing.draft);
        self.send(Method::PATCH, &path, &body).await.map(|_| ())
    }

    /// Labels have ids, in the repository or in its organization.
    pub(crate) async fn label(&self, number: u64, labels: &[String]) -> Result<(), Fault> {
        let mut missing: Vec<&str> = labels.iter().map(String::as_str).collect();
        let mut ids = Vec::new();
        let own = format!("{}/labels", self.repository);
        let organizations = format!("orgs/{}/labels", self.owner);
        for path in [own, organizations] {
            if missing.is_empty() {
                break;
            }
            let listed = self.pages(&path, &[], |label| {
                let at = missing.iter().position(|name| label["name"] == *name);
                if let (Some(at), Some(id)) = (at, label["id"].as_u64()) {
                    missing.swap_remove(at);
                    ids.push(id);
                }
                missing.is_empty()
            });
            match listed.await {
                // An owner who is no organization has none, nor does a token that may not ask.
                Err(Fault::Refused(StatusCode::NOT_FOUND | StatusCode::FORBIDDEN, _))
                    if path.starts_with("orgs/") => {}
                listed => listed?,
            }
        }
        if !ids.is_empty() {
            let path = format!("issues/{number}/labels");
            let body = json!({ "labels": ids });
            self.send(Method::POST, &path, &body).await?;
        }
        if missing.is_empty() {
            return Ok(());
        }
        let why = format!(
            "neither the repository nor its organization has the label {}",
            missing.join(", ")
        );
        Err(Fault::Refused(StatusCode::NOT_FOUND, why))
    }

    pub(crate) async fn request_reviews(
        &self,
        number: u64,
        reviewers: &[String],
    ) -> Result<(), Fault> {
        let path = format!("pulls/{number}/requested_reviewers");
        let body = github::reviewer_lists(reviewers);
        self.send(Method::POST, &path, &body).await.map(|_| ())
    }

    pub(crate) async fn state(&self, number: u64) -> Result<PullRequestState, Fault> {
        let path = format!("{}/pulls/{number}", self.repository);
        let shown = self.call(Call {
            method: Method::GET,
            path: &path,
            query: &[],
            body: None,
        });
        github::state(&shown.await?).ok_or_else(unreadable)
    }

    pub(crate) async fn state_since(
        &self,
        number: u64,
        etag: Option<&str>,
    ) -> Result<StateAnswer, Fault> {
        let judge =
            |status: StatusCode, headers: &_, body: &[u8]| judge(status, headers, body, too_many);
        let path = format!("{}/pulls/{number}", self.repository);
        let changed = self.rest.read_since(&path, etag, judge).await?;
        StateAnswer::of(changed, github::state)
    }
}

/// What a new pull request and a changed one have in common.
fn texts(proposal: &Proposal<'_>, draft: bool) -> Value {
    let mark = if draft { DRAFT } else { "" };
    json!({
        "title": format!("{mark}{}", proposal.title),
        "body": proposal.body,
        "base": proposal.target,
    })
}

fn read(pull: &Value) -> Option<ExistingPullRequest> {
    let url = pull["html_url"].as_str()?;
    let title = pull["title"].as_str().unwrap_or_default();
    let title = title.trim_start().to_ascii_lowercase();
    // Older ones do not say it, and show it by the title alone.
    let draft = pull["draft"].as_bool();
    Some(ExistingPullRequest {
        number: pull["number"].as_u64()?,
        url: PullRequestUrl::parse(url).ok()?,
        draft: draft.unwrap_or_else(|| DRAFTS.iter().any(|mark| title.starts_with(mark))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_known_by_its_title_where_a_release_does_not_say_it() {
        let draft = |title: &str, more: Value| {
            let mut pull = json!({"number": 7, "html_url": "https://codeberg.org/a/b/pulls/7",
                "title": title});
            if !more.is_null() {
                pull["draft"] = more;
            }
            read(&pull).unwrap().draft
        };
        assert!(draft("WIP: x", Value::Null) && draft("[wip] x", Value::Null));
        assert!(!draft("Wipe x", Value::Null));
        assert!(draft("x", json!(true)) && !draft("WIP: x", json!(false)));
    }
}
