//! Long prompts: written once, and shown whole.

use awo_domain::WorkOrderId;
use awo_tests::driven::DrivenRun;
use awo_tests::recorder::Recorder;
use awo_tests::world::World;
use serde_json::json;

use crate::http_api::{order, quiet_service};
use crate::story::Step::{Claim, Dispatch, Finish, Report, TaskStopped};
use crate::story::Story;

/// As long as a prompt may be, in characters of two bytes.
fn longest() -> String {
    "é".repeat(50_000)
}

#[tokio::test]
async fn a_long_prompt_is_shown_whole_reaches_its_runner_and_is_purged() {
    let service = quiet_service().await;
    let (client, store) = (&service.client, service.service.cloud.store().unwrap());
    let prompt = longest();
    let mut body = order();
    let short = client.post("/v1/work-orders", &body).await.body;
    body["taskPrompt"] = json!(prompt);
    let made = client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.body["id"].as_str().unwrap();
    let path = format!("/v1/work-orders/{id}");
    assert_eq!(made.body["taskPrompt"], json!(prompt));
    assert_eq!(client.get(&path).await.body["taskPrompt"], json!(prompt));
    for filter in ["", "?status=queued"] {
        let listed = client.get(&format!("/v1/work-orders{filter}")).await.body;
        let prompts = [0, 1].map(|nth| listed["workOrders"][nth]["taskPrompt"].clone());
        assert_eq!(prompts, [json!(prompt), short["taskPrompt"].clone()]);
    }

    let run = DrivenRun::of(&service, &made.body).await;
    assert_eq!(run.spec["taskPrompt"], json!(prompt));
    run.fail().await;
    run.free_slot().await;
    let order = WorkOrderId::parse(id).unwrap();
    let order = store
        .work_order(&service.org, &order)
        .await
        .unwrap()
        .unwrap();
    let purge = json!({ "statuses": ["failed"] });
    let purged = client.post("/api/v1/work-orders/purge", &purge).await;
    assert_eq!(
        purged.body["data"]["deletedIds"],
        json!([id]),
        "{}",
        purged.text
    );
    assert_eq!(client.get(&path).await.status, 404);
    assert_eq!(store.prompt(&service.org, &order).await.unwrap(), None);
}

/// What a whole run with this prompt writes, in DynamoDB's units.
async fn write_units(prompt: &str) -> f64 {
    let (world, recorder) = (World::new().await, Recorder::default());
    let functions = world.functions(recorder.client(world.http.clone()));
    let org = world.org_without_webhooks(1_000).await;
    let body = json!({
        "taskPrompt": prompt, "limits": { "maxCredits": 10 },
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
    });
    recorder.take();
    let made = functions.create(&org, &body, None).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut story = Story::of(&world, org);
    for step in [Dispatch, Claim, Report, Finish, TaskStopped] {
        story.prepare(step).await;
        assert!(story.once(step, &functions).await, "{step:?}");
    }
    recorder.take().write_units
}

#[tokio::test]
async fn a_long_prompt_is_written_once_however_often_its_work_order_changes() {
    let (short, long) = (
        write_units("fix it").await,
        write_units(&"x".repeat(50_000)).await,
    );
    println!("a whole run writes {short} units, and {long} with a prompt of 50,000 bytes");
    // Two units for each of its 49 KiB, since it is written in a transaction.
    assert!((97.0..=101.0).contains(&(long - short)), "{short}, {long}");
}
