//! `verify` orders over the API: a commit is verified without an agent, and compute alone is paid.

use awo_tests::agents::submit;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

const PLAN: &str = "tests: [{name: unit, run: \"sh t.sh && echo '1 passed in 0.1s'\"}]\n";

fn body(repository: &Repository) -> Value {
    json!({
        "workspaceSource": { "type": "git", "repository": repository.url() },
        "agent": { "type": "verify" },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_is_verified_without_an_agent_and_pays_for_compute_alone() {
    let service = TestService::start(1_000_000, &[]).await;
    let client = &service.client;
    for (test, code) in [
        ("exit 0\n", None),
        ("exit 1\n", Some("VERIFICATION_FAILED")),
    ] {
        let repository = Repository::with(&[("verify.yaml", PLAN), ("t.sh", test)]);
        let mut order = body(&repository);
        order["verifyBase"] = json!("main");
        order["protect"] = json!(true);
        let order = submit(client, &order).await;
        assert_eq!(order["taskPrompt"], "", "{order:#}");
        assert_eq!(
            (
                &order["agent"]["type"],
                &order["verifyBase"],
                &order["protect"]
            ),
            (&json!("verify"), &json!("main"), &json!(true)),
            "{order:#}"
        );
        assert_eq!(order["maxIterations"], 1, "{order:#}");
        let run = client.finished_run(&order).await;
        assert_eq!(run["error"]["code"].as_str(), code, "{run:#}");
        assert_eq!(run["verified"], code.is_none(), "{run:#}");
        assert_eq!(run["behind"], 0, "{run:#}");
        assert!(
            run["commit"].is_string() && run.get("branch").is_none(),
            "{run:#}"
        );
        if code.is_some() {
            assert_eq!(run["error"]["category"], "verification", "{run:#}");
            assert_eq!(run["error"]["retryable"], false, "{run:#}");
        }
        let path = "/v1/credits/usage?type=deduction&limit=1";
        let entry = client.get(path).await.body["transactions"][0].clone();
        assert_eq!(entry["breakdown"]["modelCredits"], 0, "{entry:#}");
        assert!(entry["amount"].as_f64().unwrap() > 0.0, "{entry:#}");
        assert_eq!(repository.branches(), ["main"], "nothing is delivered");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_verification_cannot_have_and_what_only_it_can_have_is_400_by_name() {
    let service = TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", "0")]).await;
    let client = &service.client;
    let repository = Repository::with(&[("a", "a\n")]);
    let verify = body(&repository);
    let mut agents = body(&repository);
    agents["taskPrompt"] = json!("work");
    agents["agent"] = json!({ "type": "patch" });
    let id = "a".repeat(40);
    let cases: [(&Value, &str, Value); 9] = [
        (&verify, "/maxIterations", json!(2)),
        (&verify, "/agent/model", json!("gpt-5")),
        (&verify, "/agent/command", json!(["true"])),
        (&verify, "/workspaceSource/commit", json!("abc")),
        (&verify, "/verifyBase", json!("-x")),
        (&agents, "/workspaceSource/commit", json!(id)),
        (&agents, "/verifyBase", json!("main")),
        (&agents, "/protect", json!(true)),
        (&agents, "/taskPrompt", json!("")),
    ];
    for (base, pointer, value) in cases {
        let mut body = base.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[name] = value;
        let refused = client.post("/v1/work-orders", &body).await;
        assert_eq!(refused.status, 400, "{pointer}: {}", refused.text);
        assert!(
            refused.text.contains(&format!("\"{pointer}\"")),
            "{pointer}: {}",
            refused.text
        );
    }
    let mut whole = verify.clone();
    whole["workspaceSource"]["commit"] = json!(id.to_uppercase());
    let order = submit(client, &whole).await;
    assert_eq!(order["workspaceSource"]["commit"], id, "{order:#}");
    let child = json!({
        "taskPrompt": "part", "parentId": order["id"],
        "workspaceSource": { "type": "git", "repository": repository.url() },
    });
    let refused = client.post("/v1/work-orders", &child).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert!(refused.text.contains("/parentId"), "{}", refused.text);
}
