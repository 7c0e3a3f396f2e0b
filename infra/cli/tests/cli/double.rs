//! A double of the API: a real HTTP server on loopback that answers what a test says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A request that came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Path and query.
    pub target: String,
    pub headers: HeaderMap,
    pub body: Value,
}

/// An answer that goes.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, &'static str)>,
    pub body: String,
}

impl Reply {
    pub fn of(status: u16, body: impl Into<String>) -> Reply {
        Reply {
            status,
            headers: vec![("x-request-id", "req-of-the-double")],
            body: body.into(),
        }
    }
}

/// Answers by the request and its number, from 0.
type Script = Arc<dyn Fn(&Seen, usize) -> Reply + Send + Sync>;

#[derive(Clone)]
struct Stage {
    script: Script,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// The double.
pub struct Double {
    pub url: String,
    address: SocketAddr,
    stage: Stage,
    serving: JoinHandle<()>,
}

impl Double {
    pub async fn start(script: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static) -> Double {
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

    pub fn seen(&self) -> Vec<Seen> {
        self.stage.seen.lock().unwrap().clone()
    }
}

fn serve(listener: TcpListener, stage: Stage) -> JoinHandle<()> {
    let router = Router::new().fallback(answer).with_state(stage);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() })
}

async fn answer(
    State(stage): State<Stage>,

    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let seen = Seen {
        target: uri.to_string(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    let number = {
        let mut all = stage.seen.lock().unwrap();
        all.push(seen.clone());
        all.len() - 1
    };
    let reply = (stage.script)(&seen, number);
    let mut response = Response::builder()
        .status(reply.status)
        .header("content-type", "application/json")
        // A connection that is kept would outlive the double that vanishes.
        .header("connection", "close");
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(reply.body)).unwrap()
}
