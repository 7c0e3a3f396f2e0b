//! The infrastructure before the service refuses calls with its own messages, on any route, and
//! never with the service's.

use awo_local::gateway::{EdgeRefusal, Throttle};
use awo_tests::client::Answer;
use awo_tests::contract;
use serde_json::json;

use crate::http_api::{order, quiet_service};

/// The gateway cannot distinguish the styles: its errors are errors of both.
fn is_of_both_styles(refused: &Answer, status: u16, code: &str) {
    assert_eq!(
        (refused.status, &refused.body["error"]["code"]),
        (status, &json!(code))
    );
    for style in ["ApiError", "EnvelopeError"] {
        let schema = json!({ "$ref": format!("#/components/schemas/{style}") });
        contract::conforms_openly(&schema, &refused.body, &refused.text);
    }
}

#[tokio::test]
async fn a_body_above_the_gateways_limit_and_a_foreign_host_are_errors_as_any_other() {
    let service = quiet_service().await;
    let json = ("content-type", "application/json");
    let huge = vec![b' '; 11 * 1024 * 1024];
    let headers = [json];
    let refused = service
        .client
        .send("POST", "/v1/work-orders", &headers, huge);
    is_of_both_styles(&refused.await, 413, "PAYLOAD_TOO_LARGE");
    let foreign = [("host", "awo.internal")];
    let refused = service
        .client
        .send("GET", "/v1/runs", &foreign, Vec::new())
        .await;
    is_of_both_styles(&refused, 403, "FORBIDDEN");
    assert!(refused.text.contains("loopback"), "{}", refused.text);
}

#[tokio::test]
async fn the_edge_refuses_on_any_route_in_its_own_words_and_nothing_has_happened() {
    let service = quiet_service().await;
    let edge = &service.service.edge;
    for (how, status, code) in [
        (EdgeRefusal::Filtered, 403, "FORBIDDEN"),
        (EdgeRefusal::TooLarge, 413, "PAYLOAD_TOO_LARGE"),
        (EdgeRefusal::Denied, 403, "FORBIDDEN"),
    ] {
        edge.refuse("/v1/", 1, how);
        let refused = service.client.post("/v1/work-orders", &order()).await;
        is_of_both_styles(&refused, status, code);
        edge.refuse("/control/", 1, how);
        let refused = service.client.post("/control/claim", &json!({})).await;
        is_of_both_styles(&refused, status, code);
    }
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
    is_of_both_styles(&throttled, 429, "RATE_LIMITED");
    assert_eq!(throttled.header("retry-after"), "1");
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
