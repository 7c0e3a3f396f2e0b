//! Steps of a setup that an agent may break, and what names and links deliver.

use awo_tests::repository::Repository;
use serde_json::{Value, json};

use super::runs::{AGENT_SECRET, MAKEFILE, order, ran, set_secret};
use super::{make, service};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_that_the_agent_broke_is_feedback_while_iterations_are_left() {
    let service = service().await;
    let repository = Repository::with(&[("Makefile", MAKEFILE), ("a", "b\n")]);
    let setup =
        json!([{ "name": "deps", "run": "test ! -e broken || { echo so it goes; exit 3; }" }]);
    make(&service.client, &json!({ "name": "e", "setup": setup })).await;
    let script = "if test -e broken; then rm broken; echo 2 > two; else touch broken; fi";
    let mut body = order(&repository.url(), script);
    body["environment"] = json!("e");
    body["maxIterations"] = json!(2);
    let run = ran(&service, &body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(run["iteration"], 2, "{run:#}");
    let path = format!(
        "/v1/runs/{}/events?limit=100",
        run["runId"].as_str().unwrap()
    );
    let events = service.client.get(&path).await.body;
    let events = events["events"].as_array().unwrap();
    let steps: Vec<Value> = events
        .iter()
        .filter(|event| event["type"] == "environment.step")
        .map(|event| {
            json!([
                event["data"]["name"],
                event["data"]["phase"],
                event["data"]["exitCode"]
            ])
        })
        .collect();
    let (first, later) = steps.split_at(2);
    assert_eq!(
        first,
        [json!(["deps", "setup", 0]), json!(["deps", "verify", 3])]
    );
    // The checkout of the base, which the failure is compared with, is set up as well.
    let succeeded = json!(["deps", "verify", 0]);
    assert!(
        !later.is_empty() && later.iter().all(|step| *step == succeeded),
        "{steps:?}"
    );
    let failed = events
        .iter()
        .find(|event| event["type"] == "verification.failed")
        .unwrap();
    assert!(failed.to_string().contains("so it goes"), "{failed:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_links_with_a_secret_are_neither_delivered_nor_shown() {
    let service = service().await;
    let repository = Repository::with(&[("Makefile", MAKEFILE), ("a", "b\n")]);
    let secrets = json!([{ "name": "MINE", "phases": ["agent"] }]);
    make(&service.client, &json!({ "name": "e", "secrets": secrets })).await;
    set_secret(&service, "e", "MINE", AGENT_SECRET).await;
    let script = "echo x > \"name-$MINE\"; ln -s \"$MINE\" link; mkdir \"folder-$MINE\"; \
                  echo x > \"folder-$MINE/f\"; printf 'user:%s' \"$MINE\" | base64 > encoded; echo done > done";
    let mut body = order(&repository.url(), script);
    body["environment"] = json!("e");
    let run = ran(&service, &body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let branch = run["branch"].as_str().unwrap();
    assert_eq!(repository.show(branch, "done"), "done");
    let tree = repository.show(branch, "");
    let diff = format!("/v1/runs/{}/diff", run["runId"].as_str().unwrap());
    let diff = service.client.get(&diff).await.text;
    let encoded = repository.show(branch, "encoded");
    for shown in [tree, diff, encoded] {
        assert!(!shown.contains(AGENT_SECRET), "{shown}");
        assert!(!shown.contains("LXNlY3JldC0x"), "{shown}");
        assert!(!shown.contains("link"), "{shown}");
    }
}
