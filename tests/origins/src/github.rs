//! GitHub's REST API, as far as pull requests need it, with the shapes and messages of its
//! responses.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::forge_double::{Answers, ForgeDouble};
pub use crate::forge_double::{Call, Turn};
use crate::forge_reports::{ForgeReports, ReportCall};
use crate::github_app::{Admission, App};

/// The user who is no collaborator anywhere.
pub const STRANGER: &str = "stranger";

/// What a GitHub has stored.
#[derive(Debug, Default)]
pub struct GithubState {
    pulls: Vec<Value>,
    /// The App that is known here.
    pub app: Option<App>,
    /// Check Runs, statuses and comments.
    pub reports: ForgeReports,
    /// The login of the App whose token asks; empty for the double's own token.
    acting: String,
    /// Roles of collaborators by their logins.
    pub roles: BTreeMap<String, String>,
}

/// The login of the token's account.
pub const OWN_LOGIN: &str = "awo-machine";

/// An API for one token.
pub type Github = ForgeDouble<GithubState>;

impl ForgeDouble<GithubState> {
    /// Gives an account a role on every repository.
    pub fn give(&self, login: &str, role: &str) {
        self.change(|github| github.roles.insert(login.to_owned(), role.to_owned()));
    }

    /// Moves the head of a pull request to a commit.
    pub fn push(&self, number: usize, commit: &str) {
        self.change(|github| github.pulls[number - 1]["head"]["sha"] = json!(commit));
    }

    /// An open pull request that somebody made before.
    pub fn add(&self, repository: &str, head: &str, base: &str, title: &str) {
        let body = json!({"title": title, "head": head, "base": base});
        self.change(|github| github.create(repository, &body));
    }
}

impl Answers for GithubState {
    const HEADERS: &'static [(&'static str, &'static str)] = &[
        ("x-github-request-id", "C0DE:1F2E:3D4C"),
        ("x-github-media-type", "github.v3; format=json"),
        ("x-ratelimit-remaining", "4987"),
    ];

    fn answer(&mut self, call: &Call) -> (u16, Value) {
        let parts = call.parts();
        if (call.method.as_str(), parts.as_slice()) == ("GET", &["user"]) {
            return (200, json!({"login": OWN_LOGIN, "id": 1, "type": "User"}));
        }
        let ["repos", owner, name, rest @ ..] = parts.as_slice() else {
            return (404, refusal("Not Found", 404));
        };
        let repository = format!("{owner}/{name}");
        let is_app = !self.acting.is_empty();
        let called = ReportCall {
            call,
            rest,
            login: if is_app { &self.acting } else { OWN_LOGIN },
            is_app,
        };
        if let Some(answer) = self.reports.github(&called) {
            return answer;
        }
        match (call.method.as_str(), rest) {
            ("GET", ["pulls"]) => self.list(owner, call),
            ("GET", ["pulls", number]) => match self.pull(number) {
                Some(pull) => (200, pull.clone()),
                None => (404, refusal("Not Found", 404)),
            },
            ("GET", ["collaborators", login, "permission"]) => self.permission(login),
            ("POST", ["pulls"]) => self.create(&repository, &call.body),
            ("PATCH", ["pulls", number]) => self.update(number, &call.body),
            ("POST", ["pulls", number, "requested_reviewers"]) => self.ask(number, &call.body),
            ("POST", ["issues", number, "labels"]) => self.label(number, &call.body),
            _ => (404, refusal("Not Found", 404)),
        }
    }

    fn unauthorized() -> (u16, Value) {
        (401, refusal("Bad credentials", 401))
    }

    /// A statement of the App, or a token of its installation.
    fn answer_other(&mut self, bearer: &str, call: &Call) -> (u16, Value) {
        let Some(app) = &mut self.app else {
            return Self::unauthorized();
        };
        if App::is_asked(call) {
            return app.answer(bearer, call);
        }
        let repository = call.parts().get(1..3).unwrap_or_default().join("/");
        let writes = call.method != "GET";
        let permission = permission(&call.parts());
        match app.admits(bearer, &repository, (permission, writes)) {
            Admission::Admitted => {
                self.acting = "agent[bot]".to_owned();
                let answer = self.answer(call);
                self.acting.clear();
                answer
            }
            Admission::Unknown => Self::unauthorized(),
            Admission::Elsewhere => (404, refusal("Not Found", 404)),
            Admission::Less => (403, refusal("Resource not accessible by integration", 403)),
        }
    }

    fn pulls(&self) -> Vec<Value> {
        self.pulls.clone()
    }
}

impl GithubState {
    fn list(&self, owner: &str, call: &Call) -> (u16, Value) {
        let head = call.parameter("head").unwrap_or_default();
        let head = head.strip_prefix(&format!("{owner}:")).unwrap_or_default();
        let state = call.parameter("state").unwrap_or("open");
        let found = self.pulls.iter().filter(|pull| {
            pull["head"]["ref"] == head && (state == "all" || pull["state"] == state)
        });
        (200, found.cloned().collect())
    }

    fn create(&mut self, repository: &str, body: &Value) -> (u16, Value) {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let (head, base, title) = (text("head"), text("base"), text("title"));
        let owner = repository.split('/').next().unwrap_or_default();
        if head.is_empty() || base.is_empty() || title.is_empty() {
            let missing = json!([{"resource": "PullRequest", "code": "missing_field"}]);
            return (422, invalid(missing));
        }
        if self.pulls.iter().any(|pull| pull["head"]["ref"] == head) {
            let message = format!("A pull request already exists for {owner}:{head}.");
            let error = json!({"resource": "PullRequest", "code": "custom", "message": message});
            return (422, invalid(json!([error])));
        }
        let number = self.pulls.len() + 1;
        let url = format!("https://github.example/{repository}/pull/{number}");
        let side = |name: &str| {
            json!({"label": format!("{owner}:{name}"), "ref": name, "sha": "6dcb09b5b57875f3",
                "user": {"login": owner, "type": "Organization"},
                "repo": {"id": 1, "full_name": repository, "private": true}})
        };
        let pull = json!({
            "id": 1_000 + number, "node_id": "MDExOlB1bGxSZXF1ZXN0MQ==", "number": number,
            "html_url": url, "diff_url": format!("{url}.diff"), "state": "open", "locked": false,
            "title": title, "body": text("body"), "draft": body["draft"] == true,
            "user": {"login": "agent[bot]", "type": "Bot"}, "labels": [], "milestone": null,
            "requested_reviewers": [], "requested_teams": [], "head": side(&head),
            "base": side(&base), "created_at": "2026-11-20T08:00:00Z", "merged_at": null,
            "author_association": "MEMBER", "maintainer_can_modify": false,
        });
        self.pulls.push(pull.clone());
        (201, pull)
    }

    fn permission(&self, login: &str) -> (u16, Value) {
        let login = login.replace("%5B", "[").replace("%5D", "]");
        let role = self.roles.get(&login).map_or("read", String::as_str);
        // The permission has no names for what lies between.
        let permission = match role {
            "maintain" => "write",
            "triage" => "read",
            role => role,
        };
        let shown = json!({"permission": permission, "role_name": role, "user": {"login": login}});
        (200, shown)
    }

    fn pull(&mut self, number: &str) -> Option<&mut Value> {
        self.pulls
            .get_mut(number.parse::<usize>().ok()?.checked_sub(1)?)
    }

    fn update(&mut self, number: &str, body: &Value) -> (u16, Value) {
        let Some(pull) = self.pull(number) else {
            return (404, refusal("Not Found", 404));
        };
        for name in ["title", "body"] {
            pull[name] = body[name].clone();
        }
        pull["base"]["ref"] = body["base"].clone();
        (200, pull.clone())
    }

    fn ask(&mut self, number: &str, body: &Value) -> (u16, Value) {
        let Some(pull) = self.pull(number) else {
            return (404, refusal("Not Found", 404));
        };
        let list = |name: &str| body[name].as_array().cloned().unwrap_or_default();
        let (users, teams) = (list("reviewers"), list("team_reviewers"));
        if users.iter().any(|user| user == STRANGER) {
            let message = "Reviews may only be requested from collaborators. One or more of the \
                           users or teams you specified is not a collaborator of the repository.";
            return (422, refusal(message, 422));
        }
        let users = users.iter().map(|user| json!({"login": user}));
        let teams = teams.iter().map(|team| json!({"slug": team}));
        pull["requested_reviewers"] = users.collect();
        pull["requested_teams"] = teams.collect();
        (201, pull.clone())
    }

    fn label(&mut self, number: &str, body: &Value) -> (u16, Value) {
        let Some(pull) = self.pull(number) else {
            return (404, refusal("Not Found", 404));
        };
        let labels = body["labels"].as_array().cloned().unwrap_or_default();
        let labels = labels
            .iter()
            .map(|name| json!({"name": name, "default": false}));
        pull["labels"] = labels.collect();
        (200, pull["labels"].clone())
    }
}

/// The permission that a call of a repository needs.
fn permission(parts: &[&str]) -> &'static str {
    match parts.get(3..).unwrap_or_default() {
        ["check-runs", ..] | ["commits", _, "check-runs"] => "checks",
        ["statuses", ..] | ["commits", _, "statuses"] => "statuses",
        ["issues", "comments", ..] | ["issues", _, "comments"] => "issues",
        _ => "pull_requests",
    }
}

/// A refusal in GitHub's shape.
#[must_use]
pub fn refusal(message: &str, status: u16) -> Value {
    json!({"message": message, "status": status.to_string(),
        "documentation_url": "https://docs.github.com/rest/pulls/pulls"})
}

fn invalid(errors: Value) -> Value {
    let mut body = refusal("Validation Failed", 422);
    body["errors"] = errors;
    body
}
