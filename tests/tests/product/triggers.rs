//! Triggers: work orders that the service creates for events of a forge.

mod actors;
mod bodies;
mod crashes;
mod firings;
mod loops;

use std::sync::Arc;

use awo_origins::git_host::{Access, GitHost};
use awo_tests::client::Answer;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use awo_workers::sweep::{self, Tick};
use serde_json::{Value, json};

use crate::inboxes::{MadeInbox, made, send_github};

const TOKEN: &str = "github_pat_0wn";
/// The only repository of the forge.
const NAME: &str = "acme/app";
/// A commit that nobody has.
pub const COMMIT: &str = "1234567890123456789012345678901234567890";

/// A service whose organization has an inbox of a GitHub with a repository.
struct Stage {
    service: TestService,
    host: GitHost,
    inbox: MadeInbox,
    url: String,
}

impl Stage {
    /// A stage whose organization has a token for the forge; ann may push there, and others may not.
    async fn new() -> Stage {
        let stage = Stage::without_token(&[("a.txt", "a\n")]).await;
        stage.set_token().await;
        stage
    }

    async fn without_token(files: &[(&str, &str)]) -> Stage {
        let host = GitHost::start(TOKEN, Access::All);
        let url = host.add("acme/app.git", &Repository::with(files).url());
        host.github.give("ann", "write");
        let ca = host.ca_file().display().to_string();
        let service = TestService::unswept(1_000_000, &[("AWO_GIT_CA_FILE", &ca)]).await;
        let body = json!({ "name": "Forge", "kind": "github", "host": host.host() });
        let inbox = made(&service, &body).await;
        Stage {
            service,
            host,
            inbox,
            url,
        }
    }

    async fn set_token(&self) {
        let secrets = self.service.service.cloud.secrets().unwrap();
        let name = format!("git:{}", self.host.host());
        secrets.set(&self.service.org, &name, TOKEN).await.unwrap();
    }

    /// The body of a trigger for a label, with changes.
    fn label(&self, changes: &Value) -> Value {
        let mut body = json!({
            "name": "Label", "inboxId": self.inbox.id, "events": ["issue.labeled"],
            "repositories": [format!("{}/acme/*", self.host.host())],
            "filter": { "labels": ["agent"] }, "action": "create",
            "workOrder": {
                "taskPrompt": "Resolve this.\n{{issue.title}}\n{{issue.body}}",
                "metadata": { "issue": "{{issue.url}}" }, "limits": { "maxCredits": 10 },
            },
        });
        for (name, value) in changes.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    }

    async fn trigger(&self, body: &Value) -> Value {
        let made = self.service.client.post("/v1/triggers", body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.body
    }

    /// Posts an event as GitHub does; the delivery's id.
    async fn deliver(&self, event: &str, body: &Value) -> String {
        let bytes = body.to_string().into_bytes();
        let stored = send_github(&self.service, &self.inbox, event, &bytes).await;
        assert_eq!(stored.status, 202, "{}", stored.text);
        stored.body["deliveryId"].as_str().unwrap().to_owned()
    }

    /// The part of a sweep that processes deliveries.
    async fn sweep(&self) {
        sweep(&self.service).await;
    }

    /// The delivery as the log shows it.
    async fn logged(&self, id: &str) -> Value {
        let path = format!("/v1/inboxes/{}/deliveries?limit=100", self.inbox.id);
        let log = self.service.client.get(&path).await.body;
        let all = log["deliveries"].as_array().unwrap();
        let delivery = all.iter().find(|delivery| delivery["id"] == id);
        delivery.unwrap_or_else(|| panic!("{log:#}")).clone()
    }

    /// Delivers an event and processes it; the result of the only trigger and its reason.
    async fn judged(&self, event: &str, body: &Value) -> (String, Option<String>) {
        let id = self.deliver(event, body).await;
        self.sweep().await;
        let delivery = self.logged(&id).await;
        let [result] = &delivery["triggers"].as_array().unwrap()[..] else {
            panic!("{delivery:#}")
        };
        let text = |name: &str| result[name].as_str().map(str::to_owned);
        (text("result").unwrap(), text("reason"))
    }

    /// Delivers an event and processes it; the result of a trigger and its reason.
    async fn judged_by(
        &self,
        trigger: &Value,
        event: &str,
        body: &Value,
    ) -> (String, Option<String>) {
        let id = self.deliver(event, body).await;
        self.sweep().await;
        let delivery = self.logged(&id).await;
        let results = delivery["triggers"].as_array().unwrap();
        let result = results
            .iter()
            .find(|result| result["triggerId"] == trigger["id"]);
        let result = result.unwrap_or_else(|| panic!("{delivery:#}"));
        let text = |name: &str| result[name].as_str().map(str::to_owned);
        (text("result").unwrap(), text("reason"))
    }

    async fn orders(&self, trigger: &Value) -> Vec<Value> {
        let id = trigger["id"].as_str().unwrap();
        let path = format!("/v1/work-orders?triggerId={id}&limit=100");
        let listed: Answer = self.service.client.get(&path).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        listed.body["workOrders"].as_array().unwrap().clone()
    }

    fn advance(&self, seconds: i64) {
        self.service
            .service
            .cloud
            .clock
            .advance(seconds * 1_000 + 1);
    }
}

async fn sweep(service: &TestService) {
    let state = sweep::state(&service.service.cloud.of_function("sweep")).unwrap();
    let tick: Tick = serde_json::from_value(json!({ "part": "inboxes" })).unwrap();
    let swept = sweep::handle(Arc::new(state), tick).await.unwrap();
    assert_eq!(swept.failed, 0);
}

fn with(mut body: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[name] = value.clone();
    }
    body
}

impl Stage {
    fn repository(&self) -> Value {
        json!({ "full_name": NAME, "clone_url": self.url })
    }

    /// An issue that ann labels.
    fn labeled(&self, number: u64) -> Value {
        json!({
            "action": "labeled",
            "issue": {
                "number": number, "html_url": format!("https://git.example/acme/app/issues/{number}"),
                "title": "Wrong total", "body": "It says 3.", "user": { "login": "bob" },
                "labels": [{ "name": "agent" }],
            },
            "label": { "name": "agent" },
            "repository": self.repository(),
            "sender": { "login": "ann", "type": "User" },
        })
    }

    /// A pull request of a branch, on which ann acts.
    fn pull_request(&self, action: &str, head: &str) -> Value {
        let side = |name: &str| json!({ "ref": name, "sha": COMMIT, "repo": { "id": 1 } });
        json!({
            "action": action,
            "pull_request": {
                "number": 1, "html_url": "https://git.example/acme/app/pull/1", "title": "Total",
                "body": "Adds up.", "user": { "login": "ann" }, "labels": [], "draft": false,
                "merged": false, "head": side(head), "base": side("main"),
            },
            "repository": self.repository(),
            "sender": { "login": "ann", "type": "User" },
        })
    }

    /// A review of ann that asks for changes.
    fn review(&self, head: &str, text: &str) -> Value {
        let body = self.pull_request("submitted", head);
        let review =
            json!({ "state": "changes_requested", "body": text, "user": { "login": "ann" } });
        with(body, &[("/review", review)])
    }

    /// A check of a head that failed.
    fn failed_check(&self, head: &str, commit: &str, run: u64) -> Value {
        json!({
            "action": "completed",
            "check_run": {
                "id": run, "name": "ci / test", "head_sha": commit, "conclusion": "failure",
                "output": { "title": "1 failed", "summary": "test_total failed", "text": null },
                "check_suite": { "head_branch": head }, "app": { "id": 9 },
                "pull_requests": [{
                    "number": 1, "head": { "ref": head, "sha": commit, "repo": { "id": 1 } },
                    "base": { "ref": "main", "sha": commit, "repo": { "id": 1 } },
                }],
            },
            "repository": self.repository(),
            "sender": { "login": "github-actions[bot]", "type": "Bot" },
        })
    }
}
