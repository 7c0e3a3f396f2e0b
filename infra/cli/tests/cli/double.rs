//! A double of the API: a real HTTP server on loopback with a test's responses.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use futures::StreamExt;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A request that came.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub method: Method,
    /// Path and query.
    pub target: String,
    pub headers: HeaderMap,
    pub body: Value,
    /// The body as it came.
    pub bytes: Bytes,
}

/// An answer that goes.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, &'static str)>,
    pub body: Vec<Part>,
}

/// A part of an answer's body.
#[derive(Debug, Clone)]
pub enum Part {
    Text(String),
    Pause(Duration),
    /// The connection breaks off.
    Cut,
}

impl ReceivedRequest {
    /// Method and path, without the query.
    pub fn route(&self) -> String {
        let path = self.target.split('?').next().unwrap();
        format!("{} {path}", self.method)
    }

    /// The id after which a stream is wanted; none for what is no stream.
    pub fn stream_after(&self) -> Option<u64> {
        let stream = self.headers.get("accept")? == "text/event-stream";
        let after = self.headers.get("last-event-id");
        let after = after.map_or(0, |id| id.to_str().unwrap().parse().unwrap());
        stream.then_some(after)
    }
}

impl Reply {
    pub fn of(status: u16, body: impl Into<String>) -> Reply {
        Reply {
            status,
            headers: vec![("x-request-id", "req-of-the-double")],
            body: vec![Part::Text(body.into())],
        }
    }

    /// A stream of server-sent events, whatever its parts are.
    pub fn stream(parts: impl IntoIterator<Item = Part>) -> Reply {
        Reply {
            status: 200,
            headers: vec![("content-type", "text/event-stream")],
            body: parts.into_iter().collect(),
        }
    }
}

/// An event of a timeline on a stream.
pub fn sse(event: &Value) -> Part {
    let (id, kind) = (&event["sequence"], event["type"].as_str().unwrap());
    Part::Text(format!("id: {id}\nevent: {kind}\ndata: {event}\n\n"))
}

/// Answers by the request and its number, from 0.
type Script = Arc<dyn Fn(&ReceivedRequest, usize) -> Reply + Send + Sync>;

#[derive(Clone)]
struct Stage {
    script: Script,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
}

/// The double.
pub struct Double {
    pub url: String,
    address: SocketAddr,
    stage: Stage,
    serving: JoinHandle<()>,
}

impl Double {
    pub async fn start(
        script: impl Fn(&ReceivedRequest, usize) -> Reply + Send + Sync + 'static,
    ) -> Double {
        let stage = Stage {
            script: Arc::new(script),
            seen: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Double {
            url: format!("http://{address}"),
            address,
            serving: serve(listener, stage.clone()),
            stage,
        }
    }

    /// Goes away, connections and all, and comes back on the same port.
    pub async fn vanish_for(&mut self, time: std::time::Duration) {
        self.serving.abort();
        tokio::time::sleep(time).await;
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.serving = serve(listener, self.stage.clone());
    }

    pub fn seen(&self) -> Vec<ReceivedRequest> {
        self.stage.seen.lock().unwrap().clone()
    }
}

fn serve(listener: TcpListener, stage: Stage) -> JoinHandle<()> {
    let router = Router::new().fallback(answer).with_state(stage);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() })
}

async fn answer(
    State(stage): State<Stage>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let seen = ReceivedRequest {
        method,
        target: uri.to_string(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        bytes: body,
    };
    let number = {
        let mut all = stage.seen.lock().unwrap();
        all.push(seen.clone());
        all.len() - 1
    };
    let reply = (stage.script)(&seen, number);
    let mut response = Response::builder()
        .status(reply.status)
        // A connection that is kept would outlive the double that vanishes.
        .header("connection", "close");
    if !reply
        .headers
        .iter()
        .any(|(name, _)| *name == "content-type")
    {
        response = response.header("content-type", "application/json");
    }
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(body_of(reply.body)).unwrap()
}

fn body_of(parts: Vec<Part>) -> Body {
    let parts = futures::stream::iter(parts).then(async |part| match part {
        Part::Text(text) => Ok(text),
        Part::Pause(time) => {
            tokio::time::sleep(time).await;
            Ok(String::new())
        }
        // The earlier part has to leave first.
        Part::Cut => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Err(std::io::Error::other("cut"))
        }
    });
    Body::from_stream(parts)
}
