//! From an issue to a green pull request: whole runs that events of a forge start, on one branch.

use serde_json::{Value, json};

use super::{Stage, with};
use crate::reports::sweep_reports;

const MAKEFILE: &str = "test:\n\t@grep -q right answer.txt && echo '1 passed in 0.1s' || { echo 'not right'; exit 1; }\n";
/// Writes what its task says last.
const AGENT: &str = "grep -q 'make it better' \"$AWO_PROMPT\" && echo better > better.txt; \
    grep -q 'ci / test: failure' \"$AWO_PROMPT\" && echo fixed > fixed.txt; echo right > answer.txt; \
    date +%N > time.txt";

impl Stage {
    async fn loop_stage() -> Stage {
        let stage =
            Stage::without_token(&[("Makefile", MAKEFILE), ("answer.txt", "wrong\n")]).await;
        stage.set_token().await;
        let profile = json!({
            "name": "opens", "description": "",
            "gitOps": { "mode": "pull_request", "checks": "check", "comment": "sticky" },
        });
        let made = stage
            .service
            .client
            .post("/api/v1/profiles", &profile)
            .await;
        assert_eq!(made.status, 201, "{}", made.text);
        stage
    }

    fn by_agent(&self, prompt: &str) -> Value {
        json!({
            "taskPrompt": prompt, "harness": "opens", "limits": { "maxCredits": 100 },
            "agent": { "type": "command", "command": ["sh", "-c", AGENT] },
        })
    }

    /// Delivers an event, and waits for the run of the work order that its trigger makes.
    async fn runs(&self, event: &str, body: &Value) -> (Value, Value) {
        let id = self.deliver(event, body).await;
        self.sweep().await;
        let delivery = self.logged(&id).await;
        let results = delivery["triggers"].as_array().unwrap();
        let made = results
            .iter()
            .find(|result| result["workOrderId"].is_string());
        let made = made.unwrap_or_else(|| panic!("{delivery:#}"));
        let id = made["workOrderId"].as_str().unwrap();
        let client = &self.service.client;
        let order = client.get(&format!("/v1/work-orders/{id}")).await.body;
        let run = client.finished_run(&order).await;
        assert_eq!(run["status"], "succeeded", "{run:#}");
        sweep_reports(&self.service).await;
        (order, run)
    }

    /// The state of the check that the service has posted of a commit.
    fn verdict(&self, commit: &str) -> Value {
        let statuses = self
            .host
            .github
            .change(|github| github.reports.statuses.clone());
        let mut statuses = statuses.iter().filter(|status| status["sha"] == commit);
        let (status, more) = (statuses.next(), statuses.count());
        assert_eq!(more, 0, "one status of {commit}");
        status.map_or(Value::Null, |status| status["state"].clone())
    }

    /// The comments at the pull request and at the issue, which have one text.
    fn comment(&self) -> String {
        let comments = self
            .host
            .github
            .change(|github| github.reports.comments.clone());
        let places: Vec<&Value> = comments.iter().map(|comment| &comment["place"]).collect();
        assert_eq!(places, ["1", "7"]);
        assert_eq!(comments[0]["body"], comments[1]["body"]);
        comments[0]["body"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_a_red_check_and_a_review_are_turns_of_one_thread_on_one_branch() {
    let stage = Stage::loop_stage().await;
    let mut first = stage.label(&json!({}));
    first["workOrder"] = stage.by_agent("Resolve this.\n{{issue.title}}");
    stage.trigger(&first).await;
    let mut next = stage.label(&json!({
        "events": ["check.failed", "review.submitted"], "filter": {}, "action": "follow_up",
        "settleSeconds": 0, "limits": { "perSubject": 1 },
    }));
    let prompt = "Repair what is red, and do what the review says.\n{{checks}}\n{{review}}";
    next["workOrder"] = json!({ "taskPrompt": prompt });
    let next = stage.trigger(&next).await;

    let (order, run) = stage.runs("issues", &stage.labeled(7)).await;
    let thread = &order["threadId"];
    let head = |run: &Value| {
        let text = |name: &str| run[name].as_str().unwrap().to_owned();
        let (branch, commit) = (text("branch"), text("commit"));
        stage.host.github.push(1, &commit);
        (branch, commit)
    };
    let (branch, commit) = head(&run);
    assert_eq!(stage.verdict(&commit), "success");
    let body = stage.failed_check(&branch, &commit, 1);
    let (second, run) = stage.runs("check_run", &body).await;
    assert_eq!((&second["threadId"], &second["turn"]), (thread, &json!(2)));
    assert_eq!(head(&run).0, branch);
    // A check of a head that is no longer the branch's is none.
    let stale = with(body, &[("/check_run/id", json!(2))]);
    assert_eq!(
        stage.judged_by(&next, "check_run", &stale).await.0,
        "refused"
    );
    let review = stage.review(&branch, "make it better");
    let (third, run) = stage.runs("pull_request_review", &review).await;
    assert_eq!((&third["threadId"], &third["turn"]), (thread, &json!(3)));
    let (same, commit) = head(&run);
    assert_eq!(same, branch);
    assert_eq!(stage.verdict(&commit), "success");
    assert!(stage.comment().contains("\n| 3 | "), "{}", stage.comment());
    assert_eq!(stage.host.github.pulls().len(), 1);
    // No further attempt is allowed before a person acts, and the comment says so once.
    for check in [11, 12] {
        let red = stage.failed_check(&branch, &commit, check);
        let (result, reason) = stage.judged_by(&next, "check_run", &red).await;
        let refused = ("refused", Some("limit:perSubject"));
        assert_eq!((result.as_str(), reason.as_deref()), refused);
        sweep_reports(&stage.service).await;
        assert!(stage.comment().contains("No further attempts"));
    }
    let bare = stage.host.repository("acme/app.git");
    let files = std::process::Command::new("git")
        .args(["ls-tree", "--name-only", &branch])
        .current_dir(bare)
        .output()
        .unwrap();
    let files = String::from_utf8(files.stdout).unwrap();
    assert!(
        files.contains("fixed.txt") && files.contains("better.txt"),
        "{files}"
    );
    // The push of a run is the service's own act.
    let pushed = stage.pull_request("synchronize", &branch);
    let pushed = with(pushed, &[("/pull_request/head/sha", json!(commit))]);
    assert_eq!(
        stage.judged_by(&next, "pull_request", &pushed).await.0,
        "ignored"
    );
    assert_eq!(stage.orders(&next).await.len(), 2);
}

#[tokio::test]
async fn what_no_thread_owns_is_foreign_or_adopted_and_red_three_times_is_enough() {
    let stage = Stage::new().await;
    stage.host.github.add("acme/app", "total", "main", "Total");
    let commit = super::COMMIT;
    stage.host.github.push(1, commit);
    stage.host.github.give("agent[bot]", "write");
    let changes = json!({
        "events": ["check.failed"], "filter": {}, "action": "follow_up", "settleSeconds": 0,
        "workOrder": { "taskPrompt": "Repair.\n{{checks}}", "limits": { "maxCredits": 5 } },
    });
    let trigger = stage.trigger(&stage.label(&changes)).await;
    let check = |run: u64| stage.failed_check("total", commit, run);
    let outcome = stage.judged("check_run", &check(1)).await;
    assert_eq!(outcome, ("ignored".to_owned(), Some("foreign".to_owned())));
    let path = format!("/v1/triggers/{}", trigger["id"].as_str().unwrap());
    let adopts = with(stage.label(&changes), &[("/onForeign", json!("adopt"))]);
    let json = [("content-type", "application/json")];
    let put = stage
        .service
        .client
        .send("PUT", &path, &json, adopts.to_string().into_bytes());
    assert_eq!(put.await.status, 200);
    for (run, outcome) in [
        (2, ("created", None)),
        (3, ("followed_up", None)),
        (4, ("followed_up", None)),
        (5, ("refused", Some("limit:perSubject"))),
    ] {
        let (result, reason) = stage.judged("check_run", &check(run)).await;
        assert_eq!((result.as_str(), reason.as_deref()), outcome, "{run}");
    }
    let orders = stage.orders(&trigger).await;
    assert_eq!(orders.len(), 3);
    assert_eq!(orders[2]["resultBranch"], "total");
    assert!(
        orders
            .iter()
            .all(|order| order["threadId"] == orders[2]["id"])
    );
    // A person looks at it, and it goes on.
    let comment = json!({ "body": "go on", "user": { "login": "ann" } });
    let comment = with(
        stage.pull_request("created", "total"),
        &[("/comment", comment)],
    );
    stage.judged("pull_request_review_comment", &comment).await;
    assert_eq!(stage.judged("check_run", &check(6)).await.0, "followed_up");
}
