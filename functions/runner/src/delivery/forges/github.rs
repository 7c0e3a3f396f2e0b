//! GitHub: github.com, Enterprise Cloud with data residency, and Enterprise Server.

mod judgement;

use awo_domain::pull_request::PullRequestUrl;
use http::header::{ACCEPT, HeaderName};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use crate::delivery::forge::rest::{Call, Rest};
use crate::delivery::forge::{
    Address, ExistingPullRequest, Fault, Forge, HostedRepository, Hosts, Proposal,
};

/// How many pull requests of one branch it is asked for.
const PER_PAGE: &str = "10";

/// GitHub's API for one repository.
pub(super) struct Github {
    rest: Rest,
    owner: String,
    /// False if only an answer can show whether there is a GitHub.
    is_known: bool,
}

impl Github {
    /// Names another API than GitHub's own, for repositories of github.com and of its own host.
    pub(super) const API_VARIABLE: &'static str = "AWO_GITHUB_API_URL";

    async fn call(&self, call: Call<'_>) -> Result<Value, Fault> {
        self.rest
            .call(&call, |status, headers, body| {
                judgement::judge(status, headers, body, self.is_known)
            })
            .await
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Result<Value, Fault> {
        self.call(Call {
            method,
            path,
            query: &[],
            body: Some(body),
        })
        .await
    }
}

impl Forge for Github {
    const NAME: &'static str = "GitHub";
    const PERMISSIONS: &'static str = "contents and pull requests, read and write,";

    fn address(repository: &HostedRepository, hosts: &Hosts) -> Option<Address> {
        let [owner, name] = repository.path.as_slice() else {
            return None;
        };
        let (api, is_known) = api(repository, hosts.api(Github::API_VARIABLE));
        Some(Address {
            url: format!("{api}/repos/{owner}/{name}"),
            is_known,
        })
    }

    fn connect(
        repository: &HostedRepository,
        address: Address,
        hosts: &Hosts,
        token: &str,
    ) -> Result<Github, String> {
        let version = HeaderName::from_static("x-github-api-version");
        let headers = [
            (ACCEPT, "application/vnd.github+json"),
            (version, "2022-11-28"),
        ];
        Ok(Github {
            rest: Rest::new(hosts, address.url, token, headers)?,
            owner: repository.path.first().cloned().unwrap_or_default(),
            is_known: address.is_known,
        })
    }

    async fn find(&self, branch: &str) -> Result<Option<ExistingPullRequest>, Fault> {
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

    async fn create(&self, proposal: &Proposal<'_>) -> Result<ExistingPullRequest, Fault> {
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

    async fn update(&self, number: u64, proposal: &Proposal<'_>) -> Result<(), Fault> {
        let path = format!("pulls/{number}");
        let body = texts(proposal);
        self.send(Method::PATCH, &path, &body).await.map(|_| ())
    }

    async fn label(&self, number: u64, labels: &[String]) -> Result<(), Fault> {
        let path = format!("issues/{number}/labels");
        let body = json!({ "labels": labels });
        self.send(Method::POST, &path, &body).await.map(|_| ())
    }

    async fn request_reviews(&self, number: u64, reviewers: &[String]) -> Result<(), Fault> {
        let reviewers = reviewers.iter().map(|one| reviewer(one));
        let names = |teams: bool| -> Vec<&str> {
            let wanted = reviewers.clone().filter(|one| one.is_team == teams);
            wanted.map(|one| one.name).collect()
        };
        let path = format!("pulls/{number}/requested_reviewers");
        let body = json!({ "reviewers": names(false), "team_reviewers": names(true) });
        self.send(Method::POST, &path, &body).await.map(|_| ())
    }

    /// Some plans know no drafts in private repositories.
    fn is_about_drafts(status: StatusCode, why: &str) -> bool {
        status == StatusCode::UNPROCESSABLE_ENTITY && why.to_ascii_lowercase().contains("draft")
    }
}

/// The API of a host, and whether it is known to be GitHub's. One that the environment names is
/// github.com's and its own host's: no other host's token may go there.
fn api(repository: &HostedRepository, named: Option<&Url>) -> (String, bool) {
    let domain = repository.domain.as_str();
    let is_github = domain == "github.com" || domain == "www.github.com";
    match named {
        Some(api) if is_github || api.host_str() == Some(domain) => {
            (api.as_str().trim_end_matches('/').to_owned(), true)
        }
        _ if is_github => ("https://api.github.com".to_owned(), true),
        _ if domain.ends_with(".ghe.com") => (format!("https://api.{domain}"), true),
        _ => (format!("https://{}/api/v3", repository.host), false),
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
    })
}

fn unreadable() -> Fault {
    let why = "its answer is not a pull request with a number and an https URL";
    Fault::Refused(StatusCode::OK, why.to_owned())
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

#[cfg(test)]
mod tests;
