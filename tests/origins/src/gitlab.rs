//! GitLab's REST API, as far as merge requests need it, with the shapes and messages of its
//! responses.

use serde_json::{Value, json};

use crate::forge_double::{Answers, Call, ForgeDouble};
use crate::forge_reports::ForgeReports;

/// What a GitLab has stored.
#[derive(Debug, Default)]
pub struct GitlabState {
    merge_requests: Vec<Value>,
    /// Statuses and notes.
    pub reports: ForgeReports,
}

/// The name of the token's account.
pub const OWN_LOGIN: &str = "awo-bot";

/// An API for one token.
pub type Gitlab = ForgeDouble<GitlabState>;

/// The users that there are, by id.
const USERS: [(u64, &str); 2] = [(7, "octocat"), (8, "hubot")];

impl ForgeDouble<GitlabState> {
    /// An open merge request that somebody made before; its number.
    pub fn add(&self, branch: &str, target: &str, title: &str) -> u64 {
        let body = json!({"title": title, "source_branch": branch, "target_branch": target});
        let made = self.change(|gitlab| gitlab.create("acme/app", &body));
        made.1["iid"].as_u64().expect("a number")
    }

    /// Changes one.
    ///
    /// # Panics
    /// If there is none of this number.
    pub fn set(&self, number: u64, name: &str, value: Value) {
        let number = number.to_string();
        self.change(|gitlab| {
            gitlab.merge_request(&number).expect("a merge request")[name] = value;
        });
    }
}

impl Answers for GitlabState {
    const HEADERS: &'static [(&'static str, &'static str)] = &[
        ("x-request-id", "01JD3V5YQ0000000000000000"),
        (
            "x-gitlab-meta",
            r#"{"correlation_id":"01JD3V5YQ0","version":"1"}"#,
        ),
        ("ratelimit-remaining", "1987"),
    ];

    fn answer(&mut self, call: &Call) -> (u16, Value) {
        let parts = call.parts();
        if let ["projects", _, rest @ ..] = parts.as_slice()
            && let Some(answer) = self.reports.gitlab(call, rest, OWN_LOGIN)
        {
            return answer;
        }
        match (call.method.as_str(), parts.as_slice()) {
            ("GET", ["user"]) => (200, json!({"id": 1, "username": OWN_LOGIN})),
            ("GET", ["users"]) => users(call),
            (method, ["projects", project, "merge_requests", rest @ ..]) => {
                // A project is named by its whole path, encoded as one name.
                if !project.contains("%2F") {
                    return (404, json!({"message": "404 Project Not Found"}));
                }
                let project = project.replace("%2F", "/");
                match (method, rest) {
                    ("GET", []) => self.list(call),
                    ("POST", []) => self.create(&project, &call.body),
                    ("GET", [number]) => self.shown(number),
                    ("PUT", [number]) => self.update(number, &call.body),
                    _ => not_found(),
                }
            }
            _ => not_found(),
        }
    }

    fn unauthorized() -> (u16, Value) {
        (401, json!({"message": "401 Unauthorized"}))
    }

    fn pulls(&self) -> Vec<Value> {
        self.merge_requests.clone()
    }
}

fn not_found() -> (u16, Value) {
    (404, json!({"error": "404 Not Found"}))
}

fn users(call: &Call) -> (u16, Value) {
    let username = call.parameter("username").unwrap_or_default();
    let named = USERS.iter().filter(|(_, name)| *name == username);
    (200, named.map(|(id, name)| user(*id, name)).collect())
}

fn user(id: u64, name: &str) -> Value {
    json!({"id": id, "username": name, "name": name, "state": "active",
        "web_url": format!("https://gitlab.example/{name}")})
}

impl GitlabState {
    fn list(&self, call: &Call) -> (u16, Value) {
        let state = call.parameter("state").unwrap_or("all");
        let branch = call.parameter("source_branch");
        let listed = self.merge_requests.iter().filter(|one| {
            (state == "all" || one["state"] == state)
                && branch.is_none_or(|branch| one["source_branch"] == branch)
        });
        (200, listed.cloned().collect())
    }

    fn create(&mut self, project: &str, body: &Value) -> (u16, Value) {
        for name in ["source_branch", "target_branch", "title"] {
            if body[name].as_str().unwrap_or_default().is_empty() {
                return (400, json!({"error": format!("{name} is missing")}));
            }
        }
        let same = |one: &&Value| {
            one["source_branch"] == body["source_branch"]
                && one["state"] == "opened"
                && one["source_project_id"] == one["target_project_id"]
        };
        if let Some(one) = self.merge_requests.iter().find(same) {
            let iid = &one["iid"];
            let message =
                format!("Another open merge request already exists for this source branch: !{iid}");
            return (409, json!({"message": [message]}));
        }
        let iid = self.merge_requests.len() + 1;
        let title = body["title"].as_str().unwrap_or_default();
        let mut made = json!({
            "id": 1_000 + iid, "iid": iid, "project_id": 3, "state": "opened", "title": title,
            "description": body["description"], "source_branch": body["source_branch"],
            "target_branch": body["target_branch"], "source_project_id": 3,
            "target_project_id": 3, "labels": [], "reviewers": [], "assignees": [],
            "author": user(9, "project_3_bot"), "created_at": "2026-11-20T08:00:00.000Z",
            "updated_at": "2026-11-20T08:00:00.000Z", "merged_at": null, "closed_at": null,
            "merge_commit_sha": null, "squash_commit_sha": null, "squash": false,
            "force_remove_source_branch": true, "sha": "8888888888888888888888888888888888888888",
            "detailed_merge_status": "mergeable",
            "web_url": format!("https://gitlab.example/{project}/-/merge_requests/{iid}"),
        });
        note_draft(&mut made);
        self.merge_requests.push(made.clone());
        (201, made)
    }

    fn merge_request(&mut self, number: &str) -> Option<&mut Value> {
        let at = number.parse::<usize>().ok()?.checked_sub(1)?;
        self.merge_requests.get_mut(at)
    }

    fn shown(&mut self, number: &str) -> (u16, Value) {
        match self.merge_request(number) {
            Some(one) => (200, one.clone()),
            None => not_found(),
        }
    }

    fn update(&mut self, number: &str, body: &Value) -> (u16, Value) {
        let Some(one) = self.merge_request(number) else {
            return not_found();
        };
        for name in ["title", "description", "target_branch"] {
            if !body[name].is_null() {
                one[name] = body[name].clone();
            }
        }
        if let Some(added) = body["add_labels"].as_str() {
            let labels = one["labels"].as_array_mut().expect("labels");
            labels.extend(added.split(',').map(|label| json!(label.trim())));
        }
        if let Some(ids) = body["reviewer_ids"].as_array() {
            let named = USERS.iter().filter(|(id, _)| ids.contains(&json!(id)));
            one["reviewers"] = named.map(|(id, name)| user(*id, name)).collect();
        }
        note_draft(one);
        (200, one.clone())
    }
}

/// A draft is one by its title.
fn note_draft(one: &mut Value) {
    let title = one["title"]
        .as_str()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let marks = ["draft:", "[draft]", "(draft)"];
    let draft = marks.iter().any(|mark| title.starts_with(mark));
    one["draft"] = json!(draft);
    one["work_in_progress"] = json!(draft);
}
