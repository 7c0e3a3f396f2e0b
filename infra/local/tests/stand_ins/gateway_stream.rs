use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use awo_local::function::{DisconnectPolicy, Registry, StreamingFunction, streaming_http_function};
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::StreamBody;
use hyper::body::Frame;
use lambda_http::{Request, Response, service_fn};
use tokio::sync::Semaphore;

use crate::gateway::Api;

/// Streams `chunks`, then an error.
fn stream(chunks: &'static [&'static str], then: Option<&'static str>) -> StreamingFunction {
    streaming_http_function(service_fn(move |_: Request| async move {
        let error = then.map(|text| Err(lambda_http::Error::from(text)));
        let frames = chunks
            .iter()
            .map(|chunk| Ok(Frame::data(Bytes::from(*chunk))));
        let body = StreamBody::new(futures::stream::iter(frames.chain(error)));
        Response::builder()
            .status(202)
            .body(body)
            .map_err(lambda_http::Error::from)
    }))
}

#[tokio::test]
async fn a_streamed_answer_may_outlast_the_integration_timeout() {
    let registry = Registry::new();
    let service = service_fn(|_: Request| async move {
        let frames = futures::stream::iter(["a", "b", "c"]).then(|chunk| async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok::<_, Infallible>(Frame::data(Bytes::from(chunk)))
        });
        Ok::<_, lambda_http::Error>(Response::new(StreamBody::new(frames.boxed())))
    });
    let function = streaming_http_function(service);
    registry.register_streaming(
        "api",
        function,
        DisconnectPolicy::RunsOn,
        Duration::from_secs(5),
    );
    let timeout = Duration::from_millis(50);
    let api = Api::over(registry, &[("GET", "/stream")], |settings| {
        settings.integration_timeout = timeout;
    })
    .await;
    assert_eq!(api.get("/stream").await.text().await.unwrap(), "abc");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_cut_not_ended() {
    let registry = Registry::new();
    registry.register_streaming(
        "api",
        stream(&["a"], Some("lost")),
        DisconnectPolicy::RunsOn,
        Duration::from_secs(5),
    );
    let api = Api::over(registry, &[("GET", "/stream")], |_| {}).await;
    // Whether the head was out before the error is a matter of luck; an end is never seen.
    let outcome = match api.http.get(api.url("/stream")).send().await {
        Ok(answer) => answer.bytes().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(outcome.is_err());
}

/// Streams a chunk, and then nothing for ever.
fn endless(registry: &Registry, abandoned: DisconnectPolicy) {
    let service = service_fn(|_: Request| async move {
        let frames = futures::stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from("a")))]);
        let body = StreamBody::new(frames.chain(futures::stream::pending()).boxed());
        Ok::<_, lambda_http::Error>(Response::new(body))
    });
    let function = streaming_http_function(service);
    registry.register_streaming("api", function, abandoned, Duration::from_secs(900));
}

#[tokio::test]
async fn what_only_its_reader_needs_ends_when_the_client_is_gone() {
    for (abandoned, ends) in [
        (DisconnectPolicy::Ends, true),
        (DisconnectPolicy::RunsOn, false),
    ] {
        let (registry, gone) = (Registry::new(), Arc::new(Semaphore::new(0)));
        let held = Arc::new(Mutex::new(Some(OnDrop(Arc::clone(&gone)))));
        let service = service_fn(move |_: Request| {
            let held = held.lock().unwrap().take();
            async move {
                let first =
                    futures::stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from("a")))]);
                let rest = futures::stream::pending().map(move |never| {
                    let _ = &held;
                    never
                });
                let body = StreamBody::new(first.chain(rest).boxed());
                Ok::<_, lambda_http::Error>(Response::new(body))
            }
        });
        let function = streaming_http_function(service);
        registry.register_streaming("api", function, abandoned, Duration::from_secs(900));
        let api = Api::over(registry, &[("GET", "/stream")], |_| {}).await;
        let mut answer = api.get("/stream").await;
        assert_eq!(answer.chunk().await.unwrap().unwrap(), "a");
        assert_eq!(gone.available_permits(), 0, "the client is there");
        drop(answer);
        let wait = if ends { 10_000 } else { 300 };
        let seen = tokio::time::timeout(Duration::from_millis(wait), gone.acquire()).await;
        assert_eq!(seen.is_ok(), ends, "{abandoned:?}");
    }
}

/// Signals its drop.
struct OnDrop(Arc<Semaphore>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

#[tokio::test]
async fn the_end_of_the_cloud_waits_for_no_stream_that_lost_its_client() {
    let registry = Registry::new();
    endless(&registry, DisconnectPolicy::RunsOn);
    let api = Api::over(registry.clone(), &[("GET", "/stream")], |_| {}).await;
    let mut answer = api.get("/stream").await;
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "a");
    let is_drained = |limit| registry.drained(limit);
    assert!(
        !is_drained(Duration::from_millis(200)).await,
        "the client is there"
    );
    drop(answer);
    assert!(is_drained(Duration::from_secs(5)).await);
}
