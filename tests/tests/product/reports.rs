//! Reports of runs to a forge: checks of commits, and sticky comments.

mod checks;
mod comments;
mod crashes;
mod faults;

use std::sync::Arc;

use awo_domain::forge::{AppSetting, ForgeKind, GitHostName, app_secret};
use awo_origins::github::Github;
use awo_origins::github_app::App;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use awo_workers::sweep::{self, Tick};
use serde_json::{Value, json};

use crate::http_api::quiet_service;
use crate::outcomes::{HOST, PULL_REQUEST, TOKEN, create, set_forge, task};

/// A test that fails, at a line, with a text that would do something in Markdown.
const RED: &str = "@everyone closes #1\n```\n/merge";

/// A GitHub at which the organization has a token.
struct Stage {
    service: TestService,
    forge: Github,
    _server: Box<dyn std::any::Any>,
}

impl Stage {
    async fn new(git_ops: &Value) -> Stage {
        let service = quiet_service().await;
        let forge = Github::new(TOKEN);
        let (url, server) = forge.start();
        set_forge(&service, ForgeKind::Github, &url).await;
        let profile = json!({ "name": "reporting", "gitOps": git_ops });
        let made = service.client.post("/api/v1/profiles", &profile).await;
        assert_eq!(made.status, 201, "{}", made.text);
        Stage {
            service,
            forge,
            _server: Box::new(server),
        }
    }

    /// Connects an App, whose tokens come before the organization's own.
    async fn connect_app(&self) {
        let (app, key) = App::made(7, &["acme/app"]);
        self.forge.change(|github| github.app = Some(app));
        let cloud = &self.service.service.cloud;
        let (store, secrets) = (cloud.store().unwrap(), cloud.secrets().unwrap());
        let host = GitHostName::parse(HOST).unwrap();
        let setting = AppSetting {
            app_id: 7,
            installation_id: None,
        };
        let set = store.set_app(&self.service.org, &host, Some(setting)).await;
        set.unwrap();
        let name = app_secret(&host);
        secrets.set(&self.service.org, &name, &key).await.unwrap();
    }

    async fn order(&self, changes: &Value) -> Value {
        let mut body = task();
        body["harness"] = json!("reporting");
        for (name, value) in changes.as_object().unwrap() {
            body[name] = value.clone();
        }
        create(&self.service, &body).await
    }

    /// A run of a new work order that delivers a commit, green or not verified.
    async fn delivers(&self, commit: &str, verified: bool) -> Value {
        let order = self.order(&json!({})).await;
        self.delivers_of(&order, commit, verified).await;
        order
    }

    async fn delivers_of(&self, order: &Value, commit: &str, verified: bool) {
        let mut run = DrivenRun::of(&self.service, order).await;
        run.iterate(1).await;
        run.report(verification("passed", verified)).await;
        let branch = format!("awo/{}", run.run_id);
        let outcome = json!({ "type": "succeeded", "commit": commit, "branch": branch, "prUrl": PULL_REQUEST });
        assert_eq!(run.send_last(outcome).await.status, 200);
        run.free_slot().await;
    }

    async fn sweep(&self) {
        sweep_reports(&self.service).await;
    }

    fn advance(&self, seconds: i64) {
        (self.service.service.cloud.clock).advance(seconds * 1_000 + 1);
    }

    /// The reports that the run of a work order shows.
    async fn reports(&self, order: &Value) -> Value {
        reports_of(&self.service, order).await
    }

    fn check_runs(&self) -> Vec<Value> {
        self.forge
            .change(|github| github.reports.check_runs.clone())
    }

    fn statuses(&self) -> Vec<Value> {
        self.forge.change(|github| github.reports.statuses.clone())
    }

    fn comments(&self) -> Vec<Value> {
        self.forge.change(|github| github.reports.comments.clone())
    }
}

/// The part of a sweep that posts reports.
pub async fn sweep_reports(service: &TestService) {
    let state = sweep::state(&service.service.cloud.of_function("sweep")).unwrap();
    let tick: Tick = serde_json::from_value(json!({ "part": "reports" })).unwrap();
    let swept = sweep::handle(Arc::new(state), tick).await.unwrap();
    assert_eq!(swept.failed, 0);
}

async fn reports_of(service: &TestService, order: &Value) -> Value {
    let path = format!("/v1/runs/{}", order["runId"].as_str().unwrap());
    let run = service.client.get(&path).await;
    assert_eq!(run.status, 200, "{}", run.text);
    run.body["reports"].clone()
}

/// The end of a verification with two tests, of which one fails at a line unless all passed.
fn verification(status: &str, verified: bool) -> Value {
    let mut checks = vec![json!({ "name": "unit", "status": "passed", "message": "" })];
    if status == "failed" {
        checks.push(json!({
            "name": "unit: t `adds` | @team", "status": "failed", "message": RED,
            "location": { "path": "src/sum.py", "line": 7 },
        }));
    }
    let mut event = json!({
        "type": "verificationFinished", "iteration": 1, "levels": ["L1"], "verified": verified,
        "overallStatus": status, "summary": "2 tests", "planHash": "p1an",
        "results": [{
            "pluginId": "built-in:tests", "status": status, "level": "L1", "summary": "2 tests",
            "checks": checks, "durationMs": 5,
        }],
    });
    if verified || status == "failed" {
        let failed = u8::from(status == "failed");
        event["evidence"] = json!("counted");
        event["tests"] = json!({ "passed": 2 - failed, "failed": failed, "skipped": 0 });
    }
    event
}
