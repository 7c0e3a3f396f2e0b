use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use awo_local::function::{Function, Registry, http_function};
use awo_local::gateway::{self, GatewayRoute, GatewaySettings};
use awo_local::shutdown::Shutdown;
use lambda_http::{Request, Response, service_fn};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::cloud::eventually;
use crate::gateway::{Api, constant, mirror};

async fn answer(response: reqwest::Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.unwrap())
}

fn message(status: u16, message: &str) -> (u16, Value) {
    (status, json!({"message": message}))
}

#[tokio::test]
async fn a_body_above_ten_megabytes_is_refused_by_the_gateway() {
    let called = Arc::new(AtomicBool::new(false));
    let mark = Arc::clone(&called);
    let function: Function = Arc::new(move |_, _| {
        mark.store(true, Ordering::SeqCst);
        Box::pin(async { Ok(json!({"statusCode": 200})) })
    });
    let api = Api::start(function).await;
    let post = |bytes: usize| {
        api.http
            .post(api.url("/items/1"))
            .body(vec![b'x'; bytes])
            .send()
    };
    let too_large = answer(post(gateway::REQUEST_BYTES + 1).await.unwrap()).await;
    assert_eq!(too_large, message(413, "Request Too Long"));
    // Between the two limits it is Lambda that does not take the event.
    assert_eq!(post(7 * 1024 * 1024).await.unwrap().status(), 413);
    assert!(!called.load(Ordering::SeqCst));
    assert_eq!(post(5 * 1024 * 1024).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_slow_function_is_answered_for_and_runs_on() {
    let done = Arc::new(AtomicBool::new(false));
    let mark = Arc::clone(&done);
    let function: Function = Arc::new(move |_, _| {
        let mark = Arc::clone(&mark);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            mark.store(true, Ordering::SeqCst);
            Ok(json!({"statusCode": 200}))
        })
    });
    let api = Api::with(&[("GET", "/slow")], function, |settings| {
        settings.integration_timeout = Duration::from_millis(50);
    })
    .await;
    let slow = answer(api.get("/slow").await).await;
    assert_eq!(slow, message(504, "Endpoint request timed out"));
    assert!(!done.load(Ordering::SeqCst));
    eventually("the function is done", async || {
        done.load(Ordering::SeqCst).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_malformed_answer_is_a_bad_gateway() {
    for malformed in [
        json!(null),
        json!("text"),
        json!({"body": "no status"}),
        json!({"statusCode": "abc"}),
        json!({"statusCode": 99}),
        json!({"statusCode": 101}),
        json!({"statusCode": 200, "body": {"not": "a string"}}),
        json!({"statusCode": 200, "body": "!", "isBase64Encoded": true}),
        json!({"statusCode": 200, "headers": {"x": ["a list"]}}),
        json!({"statusCode": 200, "headers": {"in valid": "x"}}),
        json!({"statusCode": 200, "multiValueHeaders": {"x": "no list"}}),
    ] {
        let api = Api::start(constant(malformed.clone())).await;
        let bad = answer(api.get("/items/1").await).await;
        assert_eq!(bad, message(502, "Internal server error"), "{malformed}");
    }
}

#[tokio::test]
async fn a_function_that_fails_or_panics_is_a_bad_gateway_and_the_next_call_works() {
    let handler = http_function(service_fn(|request: Request| async move {
        match request.uri().path().rsplit('/').next() {
            Some("panic") => panic!("a bug"),
            Some("error") => Err(lambda_http::Error::from("a fault")),
            _ => Ok(Response::new(lambda_http::Body::Empty)),
        }
    }));
    let api = Api::start(handler).await;
    for path in ["/items/panic", "/items/error"] {
        let bad = answer(api.get(path).await).await;
        assert_eq!(bad, message(502, "Internal server error"));
        assert_eq!(api.get("/items/fine").await.status(), 200);
    }
}

#[tokio::test]
async fn what_no_route_takes_misses_an_authentication_token() {
    let api = Api::with(&[("GET", "/items/{id}")], mirror(), |_| {}).await;
    let refused = answer(api.get("/else").await).await;
    assert_eq!(refused, message(403, "Missing Authentication Token"));
    let post = api.http.post(api.url("/items/1")).send().await.unwrap();
    assert_eq!(
        answer(post).await,
        message(403, "Missing Authentication Token")
    );
}

#[tokio::test]
async fn a_head_above_the_limit_is_refused() {
    let api = Api::start(mirror()).await;
    let large = "x".repeat(gateway::HEAD_BYTES);
    let refused = api
        .http
        .get(api.url("/items/1"))
        .header("x-large", large)
        .send()
        .await
        .unwrap();
    assert_eq!(refused.status(), 431);
}

#[tokio::test]
async fn a_foreign_host_is_forbidden() {
    let api = Api::start(mirror()).await;
    for (host, status) in [
        ("evil.example", 403),
        ("[", 400),
        ("localhost:1", 200),
        ("[::1]", 200),
    ] {
        // Written out, since clients check what they send.
        let mut stream = tokio::net::TcpStream::connect(api.server.address())
            .await
            .unwrap();
        let request = format!("GET /items/1 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")),
            "{host}: {response}"
        );
    }
}

#[tokio::test]
async fn only_loopback_listeners_are_served() {
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let settings = GatewaySettings::new(Vec::new());
    let refused = gateway::start(listener, settings, Registry::new(), Shutdown::new());
    assert!(refused.unwrap_err().to_string().contains("loopback only"));
}

#[tokio::test]
async fn a_route_to_an_unknown_function_is_refused_at_the_start() {
    let route = GatewayRoute {
        method: "GET".to_owned(),
        path: "/".to_owned(),
        function: "nobody".to_owned(),
    };
    let listener = crate::cloud::loopback().await;
    let settings = GatewaySettings::new(vec![route]);
    let refused = gateway::start(listener, settings, Registry::new(), Shutdown::new());
    assert!(refused.unwrap_err().to_string().contains("nobody"));
}
