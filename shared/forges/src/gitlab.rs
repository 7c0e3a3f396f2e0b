//! GitLab: gitlab.com and self-managed ones. Its pull requests are merge requests; a draft is one by its title.

use awo_domain::pull_request::PullRequestUrl;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::judgement::{judge, too_many};
use crate::rest::{Call, Rest};
use crate::{
    Api, ExistingPullRequest, Fault, HostedRepository, Hosts, Proposal, PullRequestState,
    PullRequestStatus, StateAnswer, github, unreadable,
};

/// Beginning of the title of a draft.
const DRAFT: &str = "Draft: ";
/// How many merge requests of one branch it is asked for.
const PER_PAGE: &str = "20";

/// GitLab's API for one project.
pub struct Gitlab {
    rest: Rest,
    /// `projects/` and the project's path, encoded as one name.
    pub(crate) project: String,
}

/// The API of a host.
pub(crate) fn api(repository: &HostedRepository) -> String {
    format!("https://{}/api/v4", repository.host)
}

impl Gitlab {
    pub(crate) fn connect(api: &Api, hosts: &Hosts, token: &str) -> Result<Gitlab, String> {
        Ok(Gitlab {
            // The names of a repository are fit for a URL as they are.
            project: format!("projects/{}", api.path.join("%2F")),
            rest: Rest::new(hosts, api.url.clone(), token, [])?,
        })
    }

    async fn call(&self, call: Call<'_>) -> Result<Value, Fault> {
        let judge =
            |status: StatusCode, headers: &_, body: &[u8]| judge(status, headers, body, too_many);
        self.rest.call(&call, judge).await
    }

    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, Fault> {
        let method = Method::GET;
        let body = None;
        self.call(Call {
            method,
            path,
            query,
            body,
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

    async fn put(&self, number: u64, body: &Value) -> Result<Value, Fault> {
        self.send(Method::PUT, &self.merge_request(number), body)
            .await
    }

    pub(crate) fn merge_request(&self, number: u64) -> String {
        format!("{}/merge_requests/{number}", self.project)
    }

    pub(crate) async fn find(&self, branch: &str) -> Result<Option<ExistingPullRequest>, Fault> {
        let path = format!("{}/merge_requests", self.project);
        let query = [
            ("state", "opened"),
            ("source_branch", branch),
            ("per_page", PER_PAGE),
        ];
        let list = self.get(&path, &query).await?;
        let list = list.as_array().ok_or_else(unreadable)?;
        // A fork may have a branch of that name.
        let mut ours = list.iter().filter(|one| {
            one["source_branch"] == branch && one["source_project_id"] == one["target_project_id"]
        });
        let ours = ours.next().map(|one| read(one).ok_or_else(unreadable));
        ours.transpose()
    }

    pub(crate) async fn create(
        &self,
        proposal: &Proposal<'_>,
    ) -> Result<ExistingPullRequest, Fault> {
        let mut body = texts(proposal, proposal.draft);
        body["source_branch"] = json!(proposal.branch);
        let path = format!("{}/merge_requests", self.project);
        let made = self.call(Call {
            method: Method::POST,
            path: &path,
            query: &[],
            body: Some(&body),
        });
        match made.await {
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
        let body = texts(proposal, existing.draft);
        self.put(existing.number, &body).await.map(|_| ())
    }

    pub(crate) async fn label(&self, number: u64, labels: &[String]) -> Result<(), Fault> {
        let body = json!({ "add_labels": labels.join(",") });
        self.put(number, &body).await.map(|_| ())
    }

    /// The list is replaced as a whole, so those who are in it are named again.
    pub(crate) async fn request_reviews(
        &self,
        number: u64,
        reviewers: &[String],
    ) -> Result<(), Fault> {
        let shown = self.get(&self.merge_request(number), &[]).await?;
        let present = shown["reviewers"].as_array().into_iter().flatten();
        let mut ids: Vec<u64> = present.filter_map(|user| user["id"].as_u64()).collect();
        let mut unknown = Vec::new();
        for reviewer in reviewers {
            let name = reviewer.trim().trim_start_matches('@');
            match self.user(name).await? {
                Some(id) if ids.contains(&id) => {}
                Some(id) => ids.push(id),
                None => unknown.push(name),
            }
        }
        self.put(number, &json!({ "reviewer_ids": ids })).await?;
        if unknown.is_empty() {
            return Ok(());
        }
        let why = format!("GitLab has no user {}", unknown.join(", "));
        Err(Fault::Refused(StatusCode::NOT_FOUND, why))
    }

    pub(crate) async fn user(&self, name: &str) -> Result<Option<u64>, Fault> {
        let list = self.get("users", &[("username", name)]).await?;
        let mut users = list.as_array().into_iter().flatten();
        let is_named = |user: &&Value| {
            let username = user["username"].as_str();
            username.is_some_and(|username| username.eq_ignore_ascii_case(name))
        };
        Ok(users.find(is_named).and_then(|user| user["id"].as_u64()))
    }

    pub(crate) async fn state(&self, number: u64) -> Result<PullRequestState, Fault> {
        let shown = self.get(&self.merge_request(number), &[]).await?;
        state(&shown).ok_or_else(unreadable)
    }

    pub(crate) async fn state_since(
        &self,
        number: u64,
        etag: Option<&str>,
    ) -> Result<StateAnswer, Fault> {
        let judge =
            |status: StatusCode, headers: &_, body: &[u8]| judge(status, headers, body, too_many);
        let path = self.merge_request(number);
        let changed = self.rest.read_since(&path, etag, judge).await?;
        StateAnswer::of(changed, state)
    }
}

/// What a new merge request and a changed one have in common.
fn texts(proposal: &Proposal<'_>, draft: bool) -> Value {
    let mark = if draft { DRAFT } else { "" };
    json!({
        "title": format!("{mark}{}", proposal.title),
        "description": proposal.body,
        "target_branch": proposal.target,
    })
}

fn read(merge_request: &Value) -> Option<ExistingPullRequest> {
    let url = merge_request["web_url"].as_str()?;
    // Older ones have the second name alone.
    let draft = [&merge_request["draft"], &merge_request["work_in_progress"]];
    Some(ExistingPullRequest {
        number: merge_request["iid"].as_u64()?,
        url: PullRequestUrl::parse(url).ok()?,
        draft: draft.iter().any(|draft| **draft == true),
    })
}

fn state(merge_request: &Value) -> Option<PullRequestState> {
    let status = match merge_request["state"].as_str()? {
        "merged" => PullRequestStatus::Merged,
        "closed" => PullRequestStatus::Closed,
        // One that is `locked` is being merged.
        "opened" | "locked" => PullRequestStatus::Open,
        _ => return None,
    };
    let text = |name: &str| merge_request[name].as_str().map(str::to_owned);
    // A merge without a commit of its own leads to that of the squash, or to the head.
    let commit = text("merge_commit_sha").or(text("squash_commit_sha"));
    let merged_commit = commit.or(text("sha"));
    Some(PullRequestState {
        status,
        merged_at: github::time(&merge_request["merged_at"]),
        closed_at: github::time(&merge_request["closed_at"])
            .filter(|_| status == PullRequestStatus::Closed),
        merged_commit: merged_commit.filter(|_| status == PullRequestStatus::Merged),
        head: text("sha"),
        updated_at: github::time(&merge_request["updated_at"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_request_is_read_as_each_release_writes_it() {
        let of = |more: Value| {
            let mut shown =
                json!({"iid": 5, "web_url": "https://gitlab.com/a/b/c/-/merge_requests/5"});
            for (name, value) in more.as_object().unwrap() {
                shown[name] = value.clone();
            }
            read(&shown)
        };
        assert!(of(json!({"draft": true})).unwrap().draft);
        assert!(of(json!({"work_in_progress": true})).unwrap().draft);
        assert!(!of(json!({"draft": false})).unwrap().draft);
        assert_eq!(of(json!({"web_url": "http://gitlab.com/a"})), None);
        assert_eq!(of(json!({"iid": "5"})), None);
    }

    #[test]
    fn a_merge_without_a_commit_of_its_own_is_known_by_the_squash_or_the_head() {
        let merged = json!({"state": "merged", "merged_at": "2026-11-20T09:00:00.000Z",
            "merge_commit_sha": null, "squash_commit_sha": "5c", "sha": "ab", "closed_at": null});
        let read = state(&merged).unwrap();
        assert_eq!(read.status, PullRequestStatus::Merged);
        assert_eq!(read.merged_commit.as_deref(), Some("5c"));
        assert!(read.merged_at.is_some());
        let open = state(&json!({"state": "locked", "sha": "ab"})).unwrap();
        assert_eq!(
            (open.status, open.merged_commit),
            (PullRequestStatus::Open, None)
        );
        assert_eq!(state(&json!({"state": "strange"})), None);
    }
}
