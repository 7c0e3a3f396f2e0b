//! What reading costs: round trips to DynamoDB, whatever there is to read.

use awo_domain::OrgId;
use awo_tests::client::Client;
use awo_tests::door::CountedDoor;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::json;

use crate::authorisation::samples::{self, Sample, Things};
use crate::http_api::quiet_service;

/// Round trips of one call, authentication included; the window of the rate limit has begun.
async fn rounds(door: &CountedDoor, client: &Client, sample: &Sample, things: &Things) -> u32 {
    let mut fewest = u32::MAX;
    for _ in 0..3 {
        door.calls();
        let answer = sample.send(client, things).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        fewest = fewest.min(door.rounds());
    }
    fewest
}

#[tokio::test]
async fn a_read_costs_two_round_trips_at_most() {
    let service = quiet_service().await;
    let door = CountedDoor::of(&service).await;
    let client = door.for_client(&service.client);
    let things = Things::of(&service).await;
    for sample in samples::keyed() {
        if sample.only_reads() && !sample.is_live() {
            let rounds = rounds(&door, &client, &sample, &things).await;
            assert!(
                rounds <= 2,
                "{}: {rounds} round trips",
                sample.target(&things)
            );
        }
    }
}

/// Lets so many work orders be made and come to their end.
async fn finish(service: &TestService, orders: u32) {
    for _ in 0..orders {
        let order = json!({ "id": Things::of(service).await.work_order });
        let mut run = DrivenRun::of(service, &order).await;
        run.succeed().await;
        run.free_slot().await;
    }
}

#[tokio::test]
async fn lists_and_the_queue_cost_the_same_however_many_there_are() {
    let service = quiet_service().await;
    let door = CountedDoor::of(&service).await;
    let client = door.for_client(&service.client);
    let org: &OrgId = &service.org;
    let things = Things::of(&service).await;
    let waiting = &things.work_order;
    let paths = [
        "/v1/work-orders?limit=2".to_owned(),
        "/v1/work-orders?status=succeeded&limit=2".to_owned(),
        "/v1/work-orders?status=queued&limit=2".to_owned(),
        "/v1/runs?limit=2".to_owned(),
        "/v1/runs?status=succeeded&limit=2".to_owned(),
        "/api/v1/queue/health".to_owned(),
        format!("/api/v1/queue/position/{waiting}"),
    ];
    let mut before = Vec::new();
    for finished in [5, 40] {
        finish(&service, finished).await;
        let mut costs = Vec::new();
        for path in &paths {
            client.get(path).await;
            door.calls();
            let answer = client.get(path).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            costs.push((door.rounds(), door.calls()));
        }
        if !before.is_empty() {
            assert_eq!(before, costs, "{org}");
        }
        before = costs;
    }
}
