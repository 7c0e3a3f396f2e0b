//! The size of responses on the wire: the public document, and pages for callers.

use std::io::Read;

use awo_openapi::get_openapi::DOCUMENT;
use awo_tests::service::TestService;
use flate2::read::{GzDecoder, ZlibDecoder};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};
use crate::template::template;

/// Headers and bytes of an answer, as they come over the wire.
async fn fetch(service: &TestService, path: &str, accepted: Option<&str>) -> (HeaderMap, Vec<u8>) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = http.get(format!("{}{path}", service.client.base_url()));
    if let Some(key) = service.client.key() {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    if let Some(accepted) = accepted {
        request = request.header("accept-encoding", accepted);
    }
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    (
        answer.headers().clone(),
        answer.bytes().await.unwrap().to_vec(),
    )
}

fn unpacked(mut reader: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn the_document_is_small_on_the_way_and_caches_may_keep_it() {
    let service = quiet_service().await;
    let (headers, packed) = fetch(&service, "/openapi.json", Some("gzip")).await;
    assert_eq!(headers["content-encoding"], "gzip");
    assert!(packed.len() < 112 * 1024, "{} bytes", packed.len());
    let document: Value = serde_json::from_slice(&unpacked(GzDecoder::new(&*packed))).unwrap();
    assert_eq!(document, serde_json::from_str::<Value>(DOCUMENT).unwrap());
    assert_eq!(headers["cache-control"], "public, max-age=300");
    let varies = headers.get_all("vary").iter();
    assert!(
        varies.into_iter().any(|varies| varies == "accept-encoding"),
        "{headers:?}"
    );

    let (_, whole) = fetch(&service, "/openapi.json", None).await;
    assert!(
        whole.len() < DOCUMENT.len() * 2 / 3,
        "{} bytes",
        whole.len()
    );

    let etag = headers["etag"].to_str().unwrap();
    let nobody = service.client.with_key(None);
    for known in [
        etag.to_owned(),
        format!("\"other\", {etag}"),
        "*".to_owned(),
    ] {
        let headers = [("if-none-match", known.as_str())];
        let answer = nobody
            .send("GET", "/openapi.json", &headers, Vec::new())
            .await;
        assert_eq!((answer.status, answer.text.as_str()), (304, ""), "{known}");
        assert_eq!(answer.header("etag"), etag);
    }
    let other = [("if-none-match", "W/\"other\"")];
    let answer = nobody
        .send("GET", "/openapi.json", &other, Vec::new())
        .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn answers_over_a_kibibyte_come_in_the_coding_that_the_client_likes_and_streams_never_do() {
    let service = quiet_service().await;
    for _ in 0..5 {
        let made = service.client.post("/v1/work-orders", &order()).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    let path = "/v1/work-orders";
    let (headers, plain) = fetch(&service, path, None).await;
    assert!(!headers.contains_key("content-encoding"));
    let (headers, packed) = fetch(&service, path, Some("gzip, deflate, br")).await;
    assert_eq!(headers["content-encoding"], "gzip");
    assert_eq!(unpacked(GzDecoder::new(&*packed)), plain);
    assert!(packed.len() < plain.len() / 2);
    let (headers, packed) = fetch(&service, path, Some("deflate")).await;
    assert_eq!(headers["content-encoding"], "deflate");
    assert_eq!(unpacked(ZlibDecoder::new(&*packed)), plain);
    for (path, accepted) in [(path, "br"), (path, "*"), ("/v1/credits", "gzip")] {
        let (headers, _) = fetch(&service, path, Some(accepted)).await;
        assert!(
            !headers.contains_key("content-encoding"),
            "{path} {accepted}"
        );
    }

    let listed: Value = serde_json::from_slice(&plain).unwrap();
    let run = listed["workOrders"][0]["runId"].as_str().unwrap();
    let id = listed["workOrders"][0]["id"].as_str().unwrap();
    let cancel = format!("/api/v1/work-orders/{id}");
    let canceled = service
        .client
        .send("DELETE", &cancel, &[], Vec::new())
        .await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let path = format!("/v1/runs/{run}/events");
    let headers = [("accept-encoding", "gzip")];
    let mut live = service
        .client
        .watch(&path, &headers)
        .await
        .expect("a stream");
    assert_eq!(live.rest().await.last().unwrap().kind, "run.cancelled");
}

#[test]
fn the_gateway_of_the_cloud_compresses_from_the_same_size_on() {
    let api = &template()["Resources"]["Api"]["Properties"];
    let size = awo_local::MINIMUM_COMPRESSION_SIZE;
    assert_eq!(api["MinimumCompressionSize"], json!(size));
}
