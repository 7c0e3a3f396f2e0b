//! GitHub: github.com, Enterprise Cloud with data residency, and Enterprise Server.

mod judgement;

use awo_domain::Timestamp;
use awo_domain::pull_request::PullRequestUrl;
use http::header::{ACCEPT, HeaderMap, HeaderName};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::accounts::reading;
use crate::rest::{Call, Rest};
use crate::{
    Api, ExistingPullRequest, Fault, HostedRepository, Hosts, Proposal, PullRequestState,
    PullRequestStatus, StateAnswer, unreadable,
};

/// How many pull requests of one branch it is asked for.
const PER_PAGE: &str = "10";

/// Names another API than GitHub's own, for repositories of github.com and of its own host.
pub(crate) const API_VARIABLE: &str = "AWO_GITHUB_API_URL";

/// GitHub's API for one repository.
pub struct Github {
    rest: Rest,
    /// The whole API.
    root: Rest,
    owner: String,
    /// False if only an answer can show whether there is a GitHub.
    is_known: bool,
}

impl Github {
    pub(crate) fn connect(api: Api, hosts: &Hosts, token: &str) -> Result<Github, String> {
        let url = format!("{}/repos/{}", api.url, api.path.join("/"));
        Ok(Github {
            rest: Rest::new(hosts, url, token, headers())?,
            root: Rest::new(hosts, api.url.clone(), token, headers())?,
            owner: api.path.into_iter().next().unwrap_or_default(),
            is_known: api.is_known,
        })
    }

    /// Reads something of the repository.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Fault> {
        self.call(reading(path)).await
    }

    /// Reads something of the API beside the repository.
    pub(crate) async fn get_root(&self, path: &str) -> Result<Value, Fault> {
        let judge = |status, headers: &_, body: &[u8]| {
            judgement::judge(status, headers, body, self.is_known)
        };
        self.root.call(&reading(path), judge).await
    }

    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Value, Fault> {
        self.rest
            .call(&call, |status, headers, body| {
                judgement::judge(status, headers, body, self.is_known)
            })
            .await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Value, Fault> {
        self.call(Call {
            method,
            path,
            query: &[],
            body: Some(body),
        })
        .await
    }

    pub(crate) async fn find(&self, branch: &str) -> Result<Option<ExistingPullRequest>, Fault> {
        let head = format!("{}:{branch}", self.owner);
        let query = [("state", "open"), ("head", &*head), ("per_page", PER_PAGE)];
        let list = self
            .call(Call {
                method: Method::GET,
                path: "pulls",
                query: &query,
                body: None,
            })
            .await?;
        let list = list.as_array().ok_or_else(unreadable)?;
        let mut ours = list.iter().filter(|one| one["head"]["ref"] == branch);
        let ours = ours.next().map(|one| read(one).ok_or_else(unreadable));
        ours.transpose()
    }

    pub(crate) async fn create(
        &self,
        proposal: &Proposal<'_>,
    ) -> Result<ExistingPullRequest, Fault> {
        let mut body = texts(proposal);
        body["head"] = json!(proposal.branch);
        body["draft"] = json!(proposal.draft);
        match self.send(Method::POST, "pulls", &body).await {
            Ok(made) => read(&made).ok_or_else(unreadable),
            // Made by a call whose answer was lost, and not in the list yet.
            Err(Fault::Refused(status, why)) if is_there_already(status, &why) => {
                Err(Fault::Again(why, None))
            }
            Err(fault) => Err(fault),
        }
    }

    pub(crate) async fn update(
        &self,
        existing: &ExistingPullRequest,
        proposal: &Proposal<'_>,
    ) -> Result<(), Fault> {
        let path = format!("pulls/{}", existing.number);
        let body = texts(proposal);
        self.send(Method::PATCH, &path, &body).await.map(|_| ())
    }

    pub(crate) async fn label(&self, number: u64, labels: &[String]) -> Result<(), Fault> {
        let path = format!("issues/{number}/labels");
        let body = json!({ "labels": labels });
        self.send(Method::POST, &path, &body).await.map(|_| ())
    }

    pub(crate) async fn request_reviews(
        &self,
        number: u64,
        reviewers: &[String],
    ) -> Result<(), Fault> {
        let path = format!("pulls/{number}/requested_reviewers");
        let body = reviewer_lists(reviewers);
        self.send(Method::POST, &path, &body).await.map(|_| ())
    }

    pub(crate) async fn state(&self, number: u64) -> Result<PullRequestState, Fault> {
        let path = format!("pulls/{number}");
        let shown = self.call(Call {
            method: Method::GET,
            path: &path,
            query: &[],
            body: None,
        });
        state(&shown.await?).ok_or_else(unreadable)
    }

    pub(crate) async fn state_since(
        &self,
        number: u64,
        etag: Option<&str>,
    ) -> Result<StateAnswer, Fault> {
        let path = format!("pulls/{number}");
        let judge = |status, headers: &_, body: &[u8]| {
            judgement::judge(status, headers, body, self.is_known)
        };
        let changed = self.rest.read_since(&path, etag, judge).await?;
        StateAnswer::of(changed, state)
    }
}

/// Headers of every call beside token and user agent.
pub(crate) fn headers() -> [(HeaderName, &'static str); 2] {
    let version = HeaderName::from_static("x-github-api-version");
    [
        (ACCEPT, "application/vnd.github+json"),
        (version, "2022-11-28"),
    ]
}

/// The meaning of an answer of a host that is known to be GitHub's.
pub(crate) fn judge(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Result<Value, Fault> {
    judgement::judge(status, headers, body, true)
}

/// Some plans know no drafts in private repositories.
pub(crate) fn is_about_drafts(status: StatusCode, why: &str) -> bool {
    status == StatusCode::UNPROCESSABLE_ENTITY && why.to_ascii_lowercase().contains("draft")
}

/// The API of a host, and whether it is known to be GitHub's, which `is_set` says as well. One that
/// the environment names is github.com's and its own host's: no other host's token may go there.
pub(crate) fn api(repository: &HostedRepository, is_set: bool, hosts: &Hosts) -> (String, bool) {
    let domain = repository.domain.as_str();
    let named = hosts.api(API_VARIABLE);
    let is_github = domain == "github.com" || domain == "www.github.com";
    match named {
        Some(api) if is_github || api.host_str() == Some(domain) => {
            (api.as_str().trim_end_matches('/').to_owned(), true)
        }
        _ if is_github => ("https://api.github.com".to_owned(), true),
        _ if domain.ends_with(".ghe.com") => (format!("https://api.{domain}"), true),
        _ => (format!("https://{}/api/v3", repository.host), is_set),
    }
}

/// What a new pull request and a changed one have in common.
fn texts(proposal: &Proposal<'_>) -> Value {
    json!({ "title": proposal.title, "body": proposal.body, "base": proposal.target })
}

fn is_there_already(status: StatusCode, why: &str) -> bool {
    status == StatusCode::UNPROCESSABLE_ENTITY && why.contains("already exists")
}

fn read(pull_request: &Value) -> Option<ExistingPullRequest> {
    let url = pull_request["html_url"].as_str()?;
    Some(ExistingPullRequest {
        number: pull_request["number"].as_u64()?,
        url: PullRequestUrl::parse(url).ok()?,
        draft: pull_request["draft"] == true,
    })
}

/// The state of a pull request, which Gitea writes in the same way.
pub(crate) fn state(pull_request: &Value) -> Option<PullRequestState> {
    let is_merged = pull_request["merged"] == true || pull_request["merged_at"].is_string();
    let status = match pull_request["state"].as_str()? {
        _ if is_merged => PullRequestStatus::Merged,
        "open" => PullRequestStatus::Open,
        "closed" => PullRequestStatus::Closed,
        _ => return None,
    };
    let commit = pull_request["merge_commit_sha"].as_str();
    Some(PullRequestState {
        status,
        merged_at: time(&pull_request["merged_at"]),
        closed_at: time(&pull_request["closed_at"]).filter(|_| status == PullRequestStatus::Closed),
        // An open one has the commit of a trial.
        merged_commit: commit.filter(|_| is_merged).map(str::to_owned),
        head: pull_request["head"]["sha"].as_str().map(str::to_owned),
        updated_at: time(&pull_request["updated_at"]),
    })
}

/// A time of a forge, which may have an offset.
pub(crate) fn time(text: &Value) -> Option<Timestamp> {
    Timestamp::parse(text.as_str()?).ok()
}

#[derive(Debug, PartialEq, Eq)]
struct Reviewer<'a> {
    name: &'a str,
    is_team: bool,
}

/// `login`, or a team as `team:slug` or as `organization/slug`; either with an `@` before it.
fn reviewer(text: &str) -> Reviewer<'_> {
    let text = text.trim().trim_start_matches('@');
    let team = text.strip_prefix("team:");
    let team = team.or_else(|| text.contains('/').then_some(text));
    let name = team.and_then(|team| team.rsplit('/').next());
    Reviewer {
        name: name.unwrap_or(text),
        is_team: team.is_some(),
    }
}

/// Users and teams, as a request for reviews lists them.
pub(crate) fn reviewer_lists(reviewers: &[String]) -> Value {
    let reviewers = reviewers.iter().map(|text| reviewer(text));
    let names = |teams: bool| -> Vec<&str> {
        let of_kind = reviewers.clone().filter(|one| one.is_team == teams);
        of_kind.map(|one| one.name).collect()
    };
    json!({ "reviewers": names(false), "team_reviewers": names(true) })
}

#[cfg(test)]
mod tests;
