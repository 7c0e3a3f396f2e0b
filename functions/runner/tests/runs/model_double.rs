//! A model provider on loopback: Anthropic's Messages and OpenAI's Responses and chat, whole and as
//! event streams, with each provider's way of counting its cache.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::post;
use http_body::Frame;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::serving::{Serving, serve};

/// The usage that every answer reports: input with the cache, from the cache, output.
pub const USED: (u64, u64, u64) = (1_000, 600, 50);

/// Between two looks for a file.
const PAUSE: Duration = Duration::from_millis(2);

/// A call as the provider sees it.
#[derive(Debug, Clone)]
pub struct Call {
    pub path: &'static str,
    pub headers: HeaderMap,
    pub body: Value,
}

#[derive(Debug, Default)]
pub struct ModelLog {
    pub calls: Vec<Call>,
}

/// How the provider misbehaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manners {
    Good,
    /// Lets answers be as long as they may be.
    AnswersInFull,
    /// It does not accept keys, and quotes them.
    RefusesKeys,
    /// It sends callers elsewhere.
    Redirects,
    /// It makes the first file when a call has come, and answers when there is the second; of a
    /// stream it sends the first event at once.
    Waits(PathBuf, PathBuf),
}

pub struct ModelDouble {
    pub url: String,
    seen: Arc<Mutex<ModelLog>>,
    _serving: Serving,
}

struct Api {
    manners: Manners,
    seen: Arc<Mutex<ModelLog>>,
}

impl ModelDouble {
    pub fn start(manners: Manners) -> ModelDouble {
        let seen = Arc::new(Mutex::new(ModelLog::default()));
        let api = Arc::new(Api {
            manners,
            seen: Arc::clone(&seen),
        });
        let app = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/responses", post(responses))
            .route("/v1/chat/completions", post(chat))
            .with_state(api);
        let serving = serve(app);
        ModelDouble {
            url: serving.url.clone(),
            seen,
            _serving: serving,
        }
    }

    pub fn seen(&self) -> MutexGuard<'_, ModelLog> {
        self.seen.lock().unwrap()
    }
}

async fn messages(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let start = json!({"input_tokens": 300, "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 600, "output_tokens": 1});
    let mut end = start.clone();
    end["output_tokens"] = json!(50);
    let whole = json!({"type": "message", "role": "assistant", "usage": end,
        "content": [{"type": "text", "text": "hello"}]});
    let events = [
        json!({"type": "message_start", "message": {"usage": start}}),
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hello"}}),
        json!({"type": "message_delta", "usage": {"output_tokens": 50}}),
        json!({"type": "message_stop"}),
    ];
    api.answer("/v1/messages", headers, &body, whole, &events)
}

async fn responses(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let usage = json!({"input_tokens": 1_000, "output_tokens": 50,
        "input_tokens_details": {"cached_tokens": 600}});
    let whole = json!({"object": "response", "usage": usage, "output": []});
    let events = [
        json!({"type": "response.created", "response": {"usage": null}}),
        json!({"type": "response.output_text.delta", "delta": "hello"}),
        json!({"type": "response.completed", "response": whole}),
    ];
    api.answer("/v1/responses", headers, &body, whole.clone(), &events)
}

async fn chat(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let usage = json!({"prompt_tokens": 1_000, "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 600}});
    let whole = json!({"object": "chat.completion", "usage": usage, "choices": []});
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let mut events = vec![json!({"choices": [{"delta": {"content": "hello"}}]})];
    if asked["stream_options"]["include_usage"] == true {
        events.push(json!({"choices": [], "usage": usage}));
    }
    api.answer("/v1/chat/completions", headers, &body, whole, &events)
}

impl Api {
    fn answer(
        &self,
        path: &'static str,
        headers: HeaderMap,
        body: &[u8],
        mut whole: Value,
        events: &[Value],
    ) -> Response<Body> {
        let body: Value = serde_json::from_slice(body).unwrap();
        let streams = body["stream"] == true;
        let limit = body["max_tokens"].clone();
        if let Manners::Waits(come, _) = &self.manners {
            std::fs::write(come, "").unwrap();
        }
        let quoted = format!("{:?}", headers.get("x-api-key"));
        self.seen.lock().unwrap().calls.push(Call {
            path,
            headers,
            body,
        });
        let (status, kind, pieces) = match (&self.manners, streams) {
            (Manners::AnswersInFull, _) => {
                whole["usage"]["output_tokens"] = limit;
                (200, "application/json", vec![whole.to_string()])
            }
            (Manners::RefusesKeys, _) => {
                (401, "application/json", vec![format!("{quoted} is bad")])
            }
            (Manners::Redirects, _) => (307, "text/plain", Vec::new()),
            (_, false) => (200, "application/json", vec![whole.to_string()]),
            (_, true) => {
                let lines = events.iter().map(|event| format!("data: {event}\n\n"));
                (200, "text/event-stream", lines.collect())
            }
        };
        Response::builder()
            .status(StatusCode::from_u16(status).unwrap())
            .header("content-type", kind)
            .header("location", "http://127.0.0.1:1/")
            .body(Body::new(self.sent(pieces, streams)))
            .unwrap()
    }

    /// The pieces, one by one; all but the first of a stream when this double goes on.
    fn sent(&self, pieces: Vec<String>, streams: bool) -> Pieces {
        let (sender, receiver) = mpsc::unbounded_channel();
        let go_on = match &self.manners {
            Manners::Waits(_, go_on) => Some(go_on.clone()),
            _ => None,
        };
        tokio::spawn(async move {
            for (i, piece) in pieces.into_iter().enumerate() {
                while i >= usize::from(streams) && go_on.as_ref().is_some_and(|file| !file.exists())
                {
                    tokio::time::sleep(PAUSE).await;
                }
                let _ = sender.send(piece);
            }
        });
        Pieces(receiver)
    }
}

/// A body in pieces.
struct Pieces(mpsc::UnboundedReceiver<String>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|piece| piece.map(|piece| Ok(Frame::data(Bytes::from(piece)))))
    }
}
