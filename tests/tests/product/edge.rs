//! The infrastructure before the service refuses calls with its own messages, on any route, and
//! never with the service's.

use awo_local::gateway::{EdgeRefusal, Throttle};
use serde_json::json;

use crate::http_api::{order, quiet_service};

#[tokio::test]
async fn the_edge_refuses_on_any_route_in_its_own_words_and_nothing_has_happened() {
    let service = quiet_service().await;
    let edge = &service.service.edge;
    let many = "Request Too Long";
    for (how, status, body) in [
        (EdgeRefusal::Filtered, 403, json!({"message": "Forbidden"})),
        (EdgeRefusal::TooLarge, 413, json!({"message": many})),
    ] {
        edge.refuse("/v1/", 1, how);
        let refused = service.client.post("/v1/work-orders", &order()).await;
        assert_eq!((refused.status, &refused.body), (status, &body));
        edge.refuse("/control/", 1, how);
        let refused = service.client.post("/control/claim", &json!({})).await;
        assert_eq!((refused.status, &refused.body), (status, &body));
    }
    edge.refuse("/", 1, EdgeRefusal::Denied);
    let refused = service.client.get("/v1/runs").await;
    assert_eq!(refused.status, 403);
    assert!(
        refused.text.contains("with an explicit deny"),
        "{}",
        refused.text
    );
    // One call each, and none of them reached a function.
    let orders = service.client.get("/v1/work-orders").await;
    assert_eq!((orders.status, &orders.body["total"]), (200, &json!(0)));
}

#[tokio::test]
async fn each_method_of_each_route_is_throttled_by_itself() {
    let service = quiet_service().await;
    service.service.edge.throttle(Throttle {
        rate: 0.0,
        burst: 2.0,
    });
    for wanted in [200, 200, 429] {
        let answer = service.client.get("/v1/runs").await;
        assert_eq!(answer.status, wanted, "{}", answer.text);
    }
    let throttled = service.client.get("/v1/runs").await;
    assert_eq!(throttled.body, json!({"message": "Too Many Requests"}));
    // Another route, and another method of the same one, have their own.
    assert_eq!(service.client.get("/v1/work-orders").await.status, 200);
    assert_eq!(
        service
            .client
            .post("/v1/work-orders", &order())
            .await
            .status,
        201
    );
}
