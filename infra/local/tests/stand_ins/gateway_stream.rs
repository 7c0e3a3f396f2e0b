use std::convert::Infallible;
use std::time::Duration;

use awo_local::function::{Registry, StreamingFunction, streaming_http_function};
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::StreamBody;
use hyper::body::Frame;
use lambda_http::{Request, Response, service_fn};

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
    registry.register_streaming("api", function, Duration::from_secs(5));
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
    registry.register_streaming("api", stream(&["a"], Some("lost")), Duration::from_secs(5));
    let api = Api::over(registry, &[("GET", "/stream")], |_| {}).await;
    // Whether the head was out before the error is a matter of luck; an end is never seen.
    let outcome = match api.http.get(api.url("/stream")).send().await {
        Ok(answer) => answer.bytes().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(outcome.is_err());
}
