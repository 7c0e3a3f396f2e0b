//! GitHub's REST API, as far as pull requests need it, with the shapes and messages of its
//! responses. Prescribed responses for the next calls take precedence over its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use serde_json::{Value, json};

use crate::serve::{Server, serve};

/// The user who is no collaborator anywhere.
pub const STRANGER: &str = "stranger";

/// What becomes of a call instead of its own answer.
#[derive(Debug, Clone)]
pub enum Turn {
    /// This answer: status, a header, body.
    Answer(u16, Option<(&'static str, String)>, String),
    /// This status, by somebody who is no GitHub.
    Foreign(u16),
    /// It is done, and its answer is a 502.
    Lost,
    /// It is never answered.
    Hang,
}

/// A call as it came.
#[derive(Debug, Clone)]
pub struct Call {
    /// `GET` and so on.
    pub method: String,
    /// Below the API's base.
    pub path: String,
    /// As it was sent, decoded.
    pub query: Vec<(String, String)>,
    /// Null where there was none.
    pub body: Value,
    /// All headers.
    pub headers: HeaderMap,
}

#[derive(Debug, Default)]
struct ApiState {
    calls: Vec<Call>,
    pulls: Vec<Value>,
    turns: Vec<(&'static str, &'static str, Turn)>,
}

/// An API for one token.
#[derive(Debug, Clone)]
pub struct Github {
    token: String,
    stored: Arc<Mutex<ApiState>>,
}

impl Github {
    /// # Panics
    /// Never.
    #[must_use]
    pub fn new(token: &str) -> Github {
        Github {
            token: token.to_owned(),
            stored: Arc::default(),
        }
    }

    /// Serves it by itself, in plain HTTP; its URL, without a slash at its end, for as long as the
    /// second part is kept.
    #[must_use]
    pub fn start(&self) -> (String, impl Sized + use<>) {
        let server: Server = serve(self.router(), None);
        (format!("http://127.0.0.1:{}", server.port), server)
    }

    /// What happens to the next call of this method whose path ends so; several take turns.
    pub fn next(&self, method: &'static str, path_end: &'static str, turn: Turn) {
        self.stored().turns.push((method, path_end, turn));
    }

    /// The calls so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.stored().calls.clone()
    }

    /// The pull requests that there are.
    #[must_use]
    pub fn pulls(&self) -> Vec<Value> {
        self.stored().pulls.clone()
    }

    /// An open pull request that somebody made before.
    pub fn add(&self, repository: &str, head: &str, base: &str, title: &str) {
        let body = json!({"title": title, "head": head, "base": base});
        self.stored().create(repository, &body);
    }

    pub(crate) fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        Router::new().fallback(handle).with_state(self.clone())
    }

    fn stored(&self) -> MutexGuard<'_, ApiState> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn handle(
    State(github): State<Github>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let query = uri.query().unwrap_or_default();
    let call = Call {
        method: method.to_string(),
        path: uri.path().to_owned(),
        query: url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        headers,
    };
    let turn = {
        let stored = &mut *github.stored();
        stored.calls.push(call.clone());
        let ours = |(method, end, _): &(&str, &str, Turn)| {
            *method == call.method && call.path.ends_with(end)
        };
        let at = stored.turns.iter().position(ours);
        at.map(|at| stored.turns.remove(at).2)
    };
    match turn {
        None => {
            let (status, body) = github.answer(&call);
            response(status, None, body.to_string())
        }
        Some(Turn::Answer(status, header, body)) => response(status, header, body),
        Some(Turn::Foreign(status)) => {
            let response = Response::builder().status(status);
            response.body(Body::empty()).expect("a response")
        }
        Some(Turn::Lost) => {
            github.answer(&call);
            response(502, None, "<html>Unicorn!</html>".to_owned())
        }
        Some(Turn::Hang) => std::future::pending().await,
    }
}

fn response(status: u16, header: Option<(&str, String)>, body: String) -> Response<Body> {
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json; charset=utf-8")
        .header("x-github-request-id", "C0DE:1F2E:3D4C")
        .header("x-github-media-type", "github.v3; format=json")
        .header("x-ratelimit-remaining", "4987");
    if let Some((name, value)) = header {
        response = response.header(name, value);
    }
    response.body(Body::from(body)).expect("a response")
}

impl Github {
    fn answer(&self, call: &Call) -> (u16, Value) {
        let given = call.headers.get("authorization");
        let given = given.and_then(|value| value.to_str().ok());
        if given != Some(&format!("Bearer {}", self.token)) {
            return (401, refusal("Bad credentials", 401));
        }
        let parts: Vec<&str> = call.path.trim_start_matches('/').split('/').collect();
        let ["repos", owner, name, rest @ ..] = parts.as_slice() else {
            return (404, refusal("Not Found", 404));
        };
        let repository = format!("{owner}/{name}");
        let stored = &mut *self.stored();
        match (call.method.as_str(), rest) {
            ("GET", ["pulls"]) => stored.list(owner, call),
            ("POST", ["pulls"]) => stored.create(&repository, &call.body),
            ("PATCH", ["pulls", number]) => stored.update(number, &call.body),
            ("POST", ["pulls", number, "requested_reviewers"]) => stored.ask(number, &call.body),
            ("POST", ["issues", number, "labels"]) => stored.label(number, &call.body),
            _ => (404, refusal("Not Found", 404)),
        }
    }
}

impl ApiState {
    fn list(&self, owner: &str, call: &Call) -> (u16, Value) {
        let asked = |name: &str| call.query.iter().find(|(n, _)| n == name).map(|(_, v)| v);
        let head = asked("head").cloned().unwrap_or_default();
        let head = head.strip_prefix(&format!("{owner}:")).unwrap_or_default();
        let state = asked("state").map_or("open", String::as_str);
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
                "repo": {"full_name": repository, "private": true}})
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
