//! Check Runs, statuses and comments that a forge has stored, with the shapes of each forge.

use serde_json::{Value, json};

use crate::forge_double::Call;

/// Most annotations of one call at GitHub.
const MAX_ANNOTATIONS: usize = 50;
/// Most bytes of a summary at GitHub.
const MAX_SUMMARY: usize = 65_535;
const STATES: [&str; 4] = ["pending", "success", "failure", "error"];
const GITLAB_STATES: [&str; 5] = ["pending", "running", "success", "failed", "canceled"];
const CONCLUSIONS: [&str; 4] = ["success", "failure", "neutral", "cancelled"];

/// The reports that a forge has stored.
#[derive(Debug, Default)]
pub struct ForgeReports {
    /// Check Runs, oldest first.
    pub check_runs: Vec<Value>,
    /// Statuses with their commit as `sha`, oldest first.
    pub statuses: Vec<Value>,
    /// Comments with their place as `place`, oldest first.
    pub comments: Vec<Value>,
}

/// A call of a GitHub or a Gitea.
pub(crate) struct ReportCall<'a> {
    pub call: &'a Call,
    /// The path below the repository.
    pub rest: &'a [&'a str],
    /// The login of the token's account.
    pub login: &'a str,
    pub is_app: bool,
}

type Answer = (u16, Value);

impl ForgeReports {
    /// GitHub's answer; none to a call that is about no report.
    pub(crate) fn github(&mut self, called: &ReportCall<'_>) -> Option<Answer> {
        Some(match (called.call.method.as_str(), called.rest) {
            ("GET", ["commits", sha, "check-runs"]) => {
                let name = called.call.parameter("check_name").unwrap_or_default();
                let runs = self.check_runs.iter();
                let runs = runs.filter(|run| run["head_sha"] == *sha && run["name"] == name);
                let runs: Vec<Value> = runs.cloned().collect();
                (200, json!({"total_count": runs.len(), "check_runs": runs}))
            }
            ("POST", ["check-runs"]) => self.create_check_run(called),
            ("PATCH", ["check-runs", id]) => self.update_check_run(id, called),
            _ => return self.plain(called),
        })
    }

    /// The answer of a Gitea, whose statuses have their state as `status`.
    pub(crate) fn gitea(&mut self, called: &ReportCall<'_>) -> Option<Answer> {
        let (status, mut answer) = self.plain(called)?;
        let is_of_statuses = called.rest.contains(&"statuses");
        let as_gitea = |shown: &mut Value| shown["status"] = shown["state"].clone();
        match &mut answer {
            Value::Array(all) if is_of_statuses => {
                // An empty page ends the list.
                if called
                    .call
                    .parameter("page")
                    .is_some_and(|page| page != "1")
                {
                    all.clear();
                }
                all.iter_mut().for_each(as_gitea);
            }
            shown if is_of_statuses => as_gitea(shown),
            _ => {}
        }
        Some((status, answer))
    }

    fn plain(&mut self, called: &ReportCall<'_>) -> Option<Answer> {
        let body = &called.call.body;
        Some(match (called.call.method.as_str(), called.rest) {
            ("GET", ["commits", sha, "statuses"]) => {
                let statuses = self.statuses.iter().rev();
                (
                    200,
                    statuses.filter(|one| one["sha"] == *sha).cloned().collect(),
                )
            }
            ("POST", ["statuses", sha]) => {
                let state = body["state"].as_str().unwrap_or_default();
                let long = body["description"].as_str().unwrap_or_default();
                if !STATES.contains(&state) || long.chars().count() > 140 {
                    return Some((422, json!({"message": "Validation Failed"})));
                }
                let mut stored = body.clone();
                stored["sha"] = json!(sha);
                self.statuses.push(stored.clone());
                (201, stored)
            }
            ("GET", ["issues", number, "comments"]) => {
                let comments = self.comments.iter();
                let comments = comments.filter(|one| one["place"] == *number);
                (200, comments.cloned().collect())
            }
            ("POST", ["issues", number, "comments"]) => {
                let id = self.comments.len() + 1;
                let stored = json!({
                    "id": id, "place": number, "body": body["body"], "user": {"login": called.login},
                    "html_url": format!("https://forge.example/issues/{number}#comment-{id}"),
                });
                self.comments.push(stored.clone());
                (201, stored)
            }
            ("PATCH", ["issues", "comments", id]) => self.edit(id, &body["body"]),
            _ => return None,
        })
    }

    /// The answer of a GitLab, below the project.
    pub(crate) fn gitlab(&mut self, call: &Call, rest: &[&str], login: &str) -> Option<Answer> {
        Some(match (call.method.as_str(), rest) {
            ("GET", ["repository", "commits", sha, "statuses"]) => {
                let name = call.parameter("name").unwrap_or_default();
                let statuses = self.statuses.iter();
                let statuses = statuses.filter(|one| one["sha"] == *sha && one["name"] == name);
                (200, statuses.cloned().collect())
            }
            ("POST", ["statuses", sha]) => self.set_gitlab_status(sha, &call.body),
            ("GET", [kind, number, "notes"]) => {
                let place = format!("{kind}/{number}");
                let notes = self.comments.iter().filter(|one| one["place"] == *place);
                (200, notes.cloned().collect())
            }
            ("POST", [kind, number, "notes"]) => {
                let id = self.comments.len() + 1;
                let note = json!({
                    "id": id, "place": format!("{kind}/{number}"), "body": call.body["body"],
                    "author": {"username": login}, "system": false,
                });
                self.comments.push(note.clone());
                (201, note)
            }
            ("PUT", [_, _, "notes", id]) => self.edit(id, &call.body["body"]),
            _ => return None,
        })
    }

    /// The status of a name and a commit, which moves from state to state.
    fn set_gitlab_status(&mut self, sha: &str, body: &Value) -> Answer {
        let state = body["state"].as_str().unwrap_or_default();
        if !GITLAB_STATES.contains(&state) {
            return (400, json!({"message": "state does not have a valid value"}));
        }
        let mut stored = body.clone();
        stored["status"] = json!(state);
        stored["sha"] = json!(sha);
        let mut statuses = self.statuses.iter_mut();
        let existing = statuses.find(|one| one["sha"] == sha && one["name"] == body["name"]);
        match existing {
            Some(existing) if existing["status"] == state => {
                let why = format!("Cannot transition status via :enqueue from :{state}");
                (400, json!({"message": why}))
            }
            Some(existing) => {
                *existing = stored.clone();
                (201, stored)
            }
            None => {
                self.statuses.push(stored.clone());
                (201, stored)
            }
        }
    }

    fn edit(&mut self, id: &str, body: &Value) -> Answer {
        let mut comments = self.comments.iter_mut();
        match comments.find(|one| one["id"].as_u64() == id.parse().ok()) {
            Some(comment) => {
                comment["body"] = body.clone();
                (200, comment.clone())
            }
            None => (404, json!({"message": "Not Found"})),
        }
    }

    fn create_check_run(&mut self, called: &ReportCall<'_>) -> Answer {
        if !called.is_app {
            let why = "You must authenticate via a GitHub App.";
            return (403, json!({"message": why, "status": "403"}));
        }
        if let Err(refused) = check_run_faults(&called.call.body) {
            return refused;
        }
        let id = self.check_runs.len() + 1;
        let mut run = called.call.body.clone();
        run["id"] = json!(id);
        run["html_url"] = json!(format!("https://github.example/acme/app/runs/{id}"));
        run["app"] = json!({"slug": "agent"});
        self.check_runs.push(run.clone());
        (201, run)
    }

    fn update_check_run(&mut self, id: &str, called: &ReportCall<'_>) -> Answer {
        if let Err(refused) = check_run_faults(&called.call.body) {
            return refused;
        }
        let mut runs = self.check_runs.iter_mut();
        let Some(run) = runs.find(|run| run["id"].as_u64() == id.parse().ok()) else {
            return (404, json!({"message": "Not Found"}));
        };
        for (name, value) in called.call.body.as_object().into_iter().flatten() {
            run[name] = value.clone();
        }
        (200, run.clone())
    }
}

fn check_run_faults(body: &Value) -> Result<(), Answer> {
    let annotations = body["output"]["annotations"].as_array();
    let summary = body["output"]["summary"].as_str().unwrap_or_default();
    let conclusion = body["conclusion"].as_str();
    let is_valid = body["name"].is_string()
        && body["head_sha"].is_string()
        && annotations.is_none_or(|all| all.len() <= MAX_ANNOTATIONS)
        && summary.len() <= MAX_SUMMARY
        && (body["status"] == "completed") == conclusion.is_some()
        && conclusion.is_none_or(|word| CONCLUSIONS.contains(&word));
    if is_valid {
        Ok(())
    } else {
        Err((422, json!({"message": "Invalid request.", "status": "422"})))
    }
}
