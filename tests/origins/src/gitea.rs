//! Gitea's REST API, which Forgejo has as well, as far as pull requests need it, with the shapes and
//! messages of its responses.

use serde_json::{Value, json};

use crate::forge_double::{Answers, Call, ForgeDouble};
use crate::forge_reports::{ForgeReports, ReportCall};

/// Longest page that the server gives, whatever is asked for.
const PAGE: usize = 3;

/// What a Gitea has stored.
#[derive(Debug, Default)]
pub struct GiteaState {
    pulls: Vec<Value>,
    /// Statuses and comments.
    pub reports: ForgeReports,
}

/// The login of the token's account.
pub const OWN_LOGIN: &str = "awo-bot";

/// An API for one token.
pub type Gitea = ForgeDouble<GiteaState>;

impl ForgeDouble<GiteaState> {
    /// An open pull request that somebody made before; its number.
    pub fn add(&self, branch: &str, target: &str, title: &str) -> u64 {
        let body = json!({"title": title, "head": branch, "base": target});
        let made = self.change(|gitea| gitea.create("acme/app", &body));
        made.1["number"].as_u64().expect("a number")
    }

    /// Changes one.
    ///
    /// # Panics
    /// If there is none of this number.
    pub fn set(&self, number: u64, pointer: &str, value: Value) {
        let number = number.to_string();
        self.change(|gitea| {
            let pull = gitea.pull(&number).expect("a pull request");
            *pull.pointer_mut(pointer).expect("a member") = value;
        });
    }
}

impl Answers for GiteaState {
    const HEADERS: &'static [(&'static str, &'static str)] = &[(
        "cache-control",
        "max-age=0, private, must-revalidate, no-transform",
    )];

    fn answer(&mut self, call: &Call) -> (u16, Value) {
        let parts = call.parts();
        if let ["repos", _, _, rest @ ..] = parts.as_slice() {
            let called = ReportCall {
                call,
                rest,
                login: OWN_LOGIN,
                is_app: false,
            };
            if let Some(answer) = self.reports.gitea(&called) {
                return answer;
            }
        }
        match (call.method.as_str(), parts.as_slice()) {
            ("GET", ["user"]) => (200, json!({"id": 1, "login": OWN_LOGIN})),
            ("GET", ["orgs", "acme", "labels"]) => page(call, &[label(2, "needs review")]),
            ("GET", ["repos", _, _, "labels"]) => page(
                call,
                &[
                    label(1, "agent"),
                    label(5, "bug"),
                    label(6, "docs"),
                    label(9, "late"),
                ],
            ),
            ("GET", ["repos", _, _, "pulls"]) => {
                let state = call.parameter("state").unwrap_or("open");
                let listed = self.pulls.iter().rev();
                let listed = listed.filter(|pull| state == "all" || pull["state"] == state);
                page(call, &listed.cloned().collect::<Vec<_>>())
            }
            ("POST", ["repos", owner, name, "pulls"]) => {
                self.create(&format!("{owner}/{name}"), &call.body)
            }
            ("GET", ["repos", _, _, "pulls", number]) => match self.pull(number) {
                Some(pull) => (200, pull.clone()),
                None => not_found(),
            },
            ("PATCH", ["repos", _, _, "pulls", number]) => self.update(number, &call.body),
            ("POST", ["repos", _, _, "pulls", number, "requested_reviewers"]) => {
                self.ask(number, &call.body)
            }
            ("POST", ["repos", _, _, "issues", number, "labels"]) => self.label(number, &call.body),
            _ => not_found(),
        }
    }

    fn unauthorized() -> (u16, Value) {
        (401, refusal("user does not exist [uid: 0, name: ]"))
    }

    fn pulls(&self) -> Vec<Value> {
        self.pulls.clone()
    }
}

fn refusal(message: &str) -> Value {
    json!({"message": message, "url": "https://gitea.example/api/swagger"})
}

fn not_found() -> (u16, Value) {
    let mut body = refusal("The target couldn't be found.");
    body["errors"] = json!([]);
    (404, body)
}

fn label(id: u64, name: &str) -> Value {
    json!({"id": id, "name": name, "color": "00aabb", "description": "", "exclusive": false})
}

/// A page, which is shorter than the caller may want it.
fn page(call: &Call, all: &[Value]) -> (u16, Value) {
    let number = |name: &str| call.parameter(name).and_then(|value| value.parse().ok());
    let page: usize = number("page").unwrap_or(1);
    let limit: usize = number("limit").unwrap_or(PAGE);
    let limit = limit.min(PAGE);
    let listed = all.iter().skip((page - 1) * limit).take(limit);
    (200, listed.cloned().collect())
}

impl GiteaState {
    fn create(&mut self, repository: &str, body: &Value) -> (u16, Value) {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let (head, base, title) = (text("head"), text("base"), text("title"));
        if head.is_empty() || base.is_empty() || title.is_empty() {
            return (422, refusal("[Title]: Required"));
        }
        let same = |pull: &&Value| {
            pull["head"]["ref"] == head && pull["state"] == "open" && pull["head"]["repo_id"] == 3
        };
        if let Some(pull) = self.pulls.iter().find(same) {
            let id = &pull["id"];
            return (
                409,
                refusal(&format!(
                    "pull request already exists for these targets [id: {id}, issue_id: {id}, \
                 head_repo_id: 3, base_repo_id: 3, head_branch: {head}, base_branch: {base}]"
                )),
            );
        }
        let number = self.pulls.len() + 1;
        let url = format!("https://gitea.example/{repository}/pulls/{number}");
        let side = |name: &str| {
            json!({"label": name, "ref": name, "sha": "6dcb09b5b57875f3", "repo_id": 3,
                "repo": {"id": 3, "full_name": repository}})
        };
        let mut pull = json!({
            "id": 1_000 + number, "number": number, "url": url, "html_url": url,
            "diff_url": format!("{url}.diff"), "state": "open", "is_locked": false,
            "title": title, "body": text("body"), "labels": [], "milestone": null,
            "requested_reviewers": [], "requested_reviewers_teams": [], "head": side(&head),
            "base": side(&base), "merged": false, "merged_at": null, "merge_commit_sha": null,
            "merge_base": "6dcb09b5b57875f3", "mergeable": true, "closed_at": null,
            "created_at": "2026-11-20T09:00:00+01:00", "user": {"id": 9, "login": "agent"},
        });
        note_draft(&mut pull);
        self.pulls.push(pull.clone());
        (201, pull)
    }

    fn pull(&mut self, number: &str) -> Option<&mut Value> {
        let at = number.parse::<usize>().ok()?.checked_sub(1)?;
        self.pulls.get_mut(at)
    }

    fn update(&mut self, number: &str, body: &Value) -> (u16, Value) {
        let Some(pull) = self.pull(number) else {
            return not_found();
        };
        for name in ["title", "body"] {
            pull[name] = body[name].clone();
        }
        pull["base"]["ref"] = body["base"].clone();
        note_draft(pull);
        (201, pull.clone())
    }

    fn ask(&mut self, number: &str, body: &Value) -> (u16, Value) {
        let list = |name: &str| body[name].as_array().cloned().unwrap_or_default();
        let (users, teams) = (list("reviewers"), list("team_reviewers"));
        let Some(pull) = self.pull(number) else {
            return not_found();
        };
        if users.iter().any(|user| user == "stranger") {
            return (404, refusal("user does not exist [uid: 0, name: stranger]"));
        }
        let users = users.iter().map(|user| json!({"login": user}));
        let teams = teams.iter().map(|team| json!({"name": team}));
        pull["requested_reviewers"] = users.collect();
        pull["requested_reviewers_teams"] = teams.collect();
        (201, json!([]))
    }

    fn label(&mut self, number: &str, body: &Value) -> (u16, Value) {
        let Some(pull) = self.pull(number) else {
            return not_found();
        };
        let ids = body["labels"].as_array().cloned().unwrap_or_default();
        if !ids.iter().all(Value::is_u64) {
            return (422, refusal("labels must be ids"));
        }
        pull["labels"] = ids.iter().map(|id| json!({"id": id})).collect();
        (200, pull["labels"].clone())
    }
}

/// A draft is one by its title.
fn note_draft(pull: &mut Value) {
    let title = pull["title"]
        .as_str()
        .unwrap_or_default()
        .to_ascii_lowercase();
    pull["draft"] = json!(title.starts_with("wip:") || title.starts_with("[wip]"));
}
