//! Every operation is called as documented, and responds as documented. Values that differ in each
//! response (ids, times, durations) are replaced; everything else is compared unchanged.

use std::collections::BTreeSet;

use awo_domain::InboxId;
use awo_domain::statement::Month;
use awo_tests::client::Answer;
use awo_tests::contract;
use awo_tests::seed::Seed;
use awo_tests::service::TestService;
use serde_json::json;

use crate::authorisation::samples;
use crate::inboxes::digits;

use super::scene::{Scene, create, example_body};
use super::timeless::example;

/// Every operation, with what the scene has, and the status that it answers. What comes later may
/// be about what came before.
const CALLS: &[&str] = &[
    "POST /v1/work-orders 201",
    "GET /v1/work-orders/{done} 200",
    "GET /v1/work-orders?limit=1 200",
    "GET /v1/runs/{done_run} 200",
    "GET /v1/runs?workOrderId={done} 200",
    "GET /v1/runs/{done_run}/events 200",
    "GET /v1/runs/{done_run}/logs 200",
    "GET /api/v1/queue/position/{waiting} 200",
    "GET /api/v1/queue/health 200",
    "GET /v1/credits 200",
    "GET /v1/credits/usage?limit=2 200",
    "GET /v1/prices 200",
    "GET /v1/statements?limit=1 200",
    "GET /v1/statements/{month} 200",
    "POST /v1/budgets 201",
    "GET /v1/budgets?limit=1 200",
    "GET /v1/budgets/{budget} 200",
    "PUT /v1/budgets/{budget} 200",
    "DELETE /v1/budgets/{budget} 204",
    "POST /v1/schedules 201",
    "GET /v1/schedules?limit=1 200",
    "GET /v1/schedules/{schedule} 200",
    "PUT /v1/schedules/{schedule} 200",
    "POST /v1/schedules/{schedule}/fire 201",
    "POST /v1/schedules/{schedule}/resume 200",
    "GET /v1/schedules/{schedule}/firings?limit=1 200",
    "DELETE /v1/schedules/{schedule} 204",
    "POST /v1/inboxes 201",
    "GET /v1/inboxes?limit=1 200",
    "GET /v1/inboxes/{inbox} 200",
    "PATCH /v1/inboxes/{inbox} 200",
    "POST /v1/inboxes/{inbox}/rotate-secret 200",
    "GET /v1/inboxes/{inbox}/deliveries?limit=1 200",
    "POST /v1/inboxes/{inbox}/deliveries/{inbox_delivery}/replay 202",
    "POST /v1/triggers 201",
    "GET /v1/triggers?limit=1 200",
    "GET /v1/triggers/{trigger} 200",
    "PUT /v1/triggers/{trigger} 200",
    "POST /v1/triggers/{trigger}/evaluate 200",
    "DELETE /v1/triggers/{trigger} 204",
    "DELETE /v1/inboxes/{inbox} 204",
    "GET /v1/usage/report?groupBy=outcome&from=2026-01-01&to=2036-01-01 200",
    "GET /v1/outcomes?groupBy=repository&from=2026-01-01&to=2036-01-01 200",
    "GET /v1/exports/focus?month=2026-11&day=20 200",
    "GET /api/v1/usage/summary?startDate=2026-01-01&endDate=2036-01-01 200",
    "POST /v1/templates 201",
    "PUT /v1/templates/services 200",
    "GET /v1/templates/services 200",
    "GET /v1/templates?limit=1 200",
    "DELETE /v1/templates/services 204",
    "POST /v1/environments 201",
    "PUT /v1/environments/node 200",
    "GET /v1/environments/node 200",
    "GET /v1/environments?limit=1 200",
    "PUT /v1/environments/node/secrets/NPM_TOKEN 204",
    "DELETE /v1/environments/node/secrets/NPM_TOKEN 204",
    "DELETE /v1/environments/node 204",
    "POST /v1/webhooks 201",
    "GET /v1/webhooks?limit=1 200",
    "POST /v1/webhooks/{webhook}/rotate-secret 200",
    "POST /v1/webhooks/{webhook}/test 200",
    "PATCH /v1/webhooks/{webhook} 200",
    "GET /v1/webhooks/{webhook} 200",
    "GET /v1/webhooks/{webhook}/deliveries?limit=2 200",
    "POST /v1/webhooks/{webhook}/deliveries/{delivery}/redeliver 200",
    "DELETE /v1/webhooks/{webhook} 204",
    "POST /api/v1/work-orders/{failed}/runs 201",
    "POST /v1/runs/{also_run}/cancel 200",
    "DELETE /api/v1/work-orders/{running} 200",
    "POST /api/v1/work-orders/{waiting}/kill 200",
    "POST /api/v1/verification/plugins 201",
    "GET /api/v1/verification/plugins 200",
    "GET /api/v1/verification/plugins/custom:licences 200",
    "POST /api/v1/verification/plugins/custom:licences/disable 200",
    "POST /api/v1/verification/plugins/custom:licences/enable 200",
    "DELETE /api/v1/verification/plugins/custom:licences 204",
    "POST /api/v1/verification/run 200",
    "POST /api/v1/profiles 201",
    "GET /api/v1/profiles 200",
    "PUT /api/v1/profiles/careful 200",
    "GET /api/v1/profiles/careful?resolve=true 200",
    "POST /api/v1/profiles/careful/validate 200",
    "DELETE /api/v1/profiles/careful 204",
    "GET /api/v1/work-orders/{done}/audit 200",
    "GET /api/v1/audit/runs/{done_run} 200",
    "GET /api/v1/audit/runs/{done_run}/changes 200",
    "GET /api/v1/audit/runs/{done_run}/snapshots 200",
    "GET /api/v1/audit/runs/{done_run}/summary 200",
    "GET /v1/runs/{done_run}/diff 200",
    "POST /v1/work-orders/{done}/follow-ups 201",
    "GET /v1/threads/{done} 200",
    "POST /api/v1/work-orders/purge 200",
    "GET /openapi.json 200",
];

/// Calls an operation as the document shows it, with this path.
async fn called(service: &TestService, method: &str, path: &str, template: &str) -> Answer {
    let client = &service.client;
    let operation = &contract::DOCUMENT["paths"][template][method.to_lowercase()];
    assert!(operation.is_object(), "{method} {template}");
    if operation.get("requestBody").is_none() {
        return client.send(method, path, &[], Vec::new()).await;
    }
    let mut body = example_body(&method.to_lowercase(), template);
    if let Some(dir) = body.get_mut("workDir") {
        let ended = client.get("/v1/runs?status=succeeded&limit=1").await.body;
        let run = ended["runs"][0]["runId"]
            .as_str()
            .expect("a run that ended");
        *dir = json!(samples::work_dir(service, run));
    }
    if let Some(inbox) = body.get_mut("inboxId") {
        let listed = client.get("/v1/inboxes").await.body;
        *inbox = listed["inboxes"][0]["id"].clone();
    }
    let body = body.to_string();
    let json = [("content-type", "application/json")];
    client.send(method, path, &json, body.into_bytes()).await
}

/// A price list of a few models: the whole one has hundreds.
fn of_some(mut answer: Answer) -> Answer {
    let models = answer.body["models"].as_array_mut().unwrap();
    models.retain(|of| ["claude-sonnet-4-5", "gpt-4o"].contains(&of["model"].as_str().unwrap()));
    assert_eq!(models.len(), 2);
    answer
}

/// The deliveries of a sender: one that is stored, and its duplicate.
async fn receives(scene: &Scene, inbox: &str, secret: &str) {
    for status in [202, 200] {
        let delivery = example_body("post", "/v1/hooks/{inboxId}").to_string();
        let path = format!("/v1/hooks/{inbox}");
        let signature = format!("sha256={}", digits(secret, delivery.as_bytes()));
        let headers = [
            ("content-type", "application/json"),
            ("x-hub-signature-256", signature.as_str()),
        ];
        let sender = scene.client().with_key(None);
        let received = sender.send("POST", &path, &headers, delivery.into_bytes());
        example("receive-delivery", status, &received.await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_answers_as_it_is_documented() {
    let scene = Scene::new().await;
    let also = create(scene.client()).await;
    let month = Month::of(scene.service.service.cloud.clock.now()).to_string();
    let budget = example_body("post", "/v1/budgets");
    let budget = scene.client().post("/v1/budgets", &budget).await;
    let budget = budget.body["id"].as_str().unwrap().to_owned();
    let schedule = example_body("post", "/v1/schedules");
    let schedule = scene.client().post("/v1/schedules", &schedule).await;
    let schedule = schedule.body["id"].as_str().unwrap().to_owned();
    let inbox = example_body("post", "/v1/inboxes");
    let inbox = scene.client().post("/v1/inboxes", &inbox).await;
    let secret = inbox.body["secret"].as_str().unwrap();
    let inbox = InboxId::parse(inbox.body["inbox"]["id"].as_str().unwrap()).unwrap();
    receives(&scene, inbox.as_str(), secret).await;
    let seed = Seed::of(&scene.service.service.cloud, &scene.service.org);
    let inbox_delivery = seed.inbox_delivery(&inbox).await.id;
    let mut trigger = example_body("post", "/v1/triggers");
    trigger["inboxId"] = json!(inbox);
    let trigger = scene.client().post("/v1/triggers", &trigger).await;
    let trigger = trigger.body["id"].as_str().unwrap().to_owned();
    let names = [
        ("{trigger}", trigger.as_str()),
        ("{inbox}", inbox.as_str()),
        ("{inbox_delivery}", inbox_delivery.as_str()),
        ("{schedule}", schedule.as_str()),
        ("{waiting}", scene.waiting.as_str()),
        ("{done}", &scene.done),
        ("{done_run}", &scene.done_run),
        ("{running}", &scene.running),
        ("{failed}", &scene.failed),
        ("{webhook}", &scene.webhook),
        ("{delivery}", &scene.delivery),
        ("{month}", month.as_str()),
        ("{budget}", &budget),
        ("{also_run}", also.body["runId"].as_str().unwrap()),
    ];
    let mut driven = BTreeSet::from(["receive-delivery"]);
    for call in CALLS {
        let mut words = call.split(' ');
        let mut word = || words.next().unwrap();
        let (method, path, status) = (word(), word(), word().parse().unwrap());
        let path = names
            .iter()
            .fold(path.to_owned(), |path, (name, id)| path.replace(name, id));
        let route = contract::operation(method, &path).unwrap();
        let answer = called(&scene.service, method, &path, route.path).await;
        driven.insert(route.function);
        match (route.function, status) {
            // It would be an example of itself.
            ("get-openapi", _) => assert_eq!(answer.body, *contract::DOCUMENT),
            // They are no JSON.
            ("export-focus", _) => assert!(answer.text.starts_with("ProviderName,")),
            (_, 204) => assert_eq!((answer.status, answer.text.as_str()), (204, "")),
            ("get-prices", status) => example("get-prices", status, &of_some(answer)),
            (function, status) => example(function, status, &answer),
        }
    }
    for (function, _) in contract::documented() {
        assert!(
            driven.contains(function.as_str()),
            "nobody called {function}"
        );
    }
}
