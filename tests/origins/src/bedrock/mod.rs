//! Amazon Bedrock's InvokeModel, InvokeModelWithResponseStream and CountTokens for Anthropic's models: it checks
//! signatures and session tokens as AWS does, refuses bodies that Bedrock refuses, and streams real
//! frames of AWS's event stream.

mod counting;
mod frames;
mod signature;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use futures::{StreamExt, future, stream};
use serde_json::{Value, json};

use crate::serve::{Server, serve};

/// Where it stands in.
pub const REGION: &str = "eu-west-1";
/// Largest body of a call.
const MAX_BODY_BYTES: usize = 32 * 1_048_576;
/// In how large pieces streams come: frames do not end where pieces do.
const PIECE_BYTES: usize = 61;
/// How long after the last piece a connection is cut.
const CUT_AFTER: Duration = Duration::from_millis(50);
/// What a body may have.
const MEMBERS: [&str; 15] = [
    "anthropic_beta",
    "anthropic_version",
    "context_management",
    "max_tokens",
    "messages",
    "metadata",
    "output_config",
    "stop_sequences",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];
/// Beta features that it knows.
const BETAS: [&str; 2] = ["interleaved-thinking-2025-05-14", "effort-2025-11-24"];

/// What is known of credentials.
#[derive(Debug, Clone)]
pub struct KnownCredential {
    /// Signs.
    pub secret: String,
    /// From when on they are refused, Unix milliseconds.
    pub expires_at: i64,
}

/// A call that was signed well.
#[derive(Debug, Clone)]
pub struct Call {
    /// The model's or the inference profile's id, or an ARN.
    pub model: String,
    /// Whether a stream was asked for.
    pub streams: bool,
    /// Whether the tokens were to be counted.
    pub counts: bool,
    /// The body.
    pub body: Value,
    /// The session.
    pub token: String,
    /// All headers.
    pub headers: HeaderMap,
}

/// What is answered to a call.
#[derive(Debug, Clone)]
pub enum Reply {
    /// These events of Messages; as one message where no stream was asked for.
    Message(Vec<Value>),
    /// A count of tokens.
    Count(u64),
    /// A failure with this name; the text becomes `retry-after`, if it is not empty.
    Fails(u16, &'static str, &'static str),
    /// Events, and then an exception of this name.
    Exception(Vec<Value>, &'static str),
    /// Events, and then the connection is closed within a frame.
    BreaksOff(Vec<Value>),
    /// Events, and then the stream ends without its last event.
    EndsEarly(Vec<Value>),
    /// Events, and then a frame whose checksum is wrong.
    Garbled(Vec<Value>),
    /// Events, and then a frame that says that it has 1 GiB.
    Huge(Vec<Value>),
}

type KnownOf = dyn Fn(&str, &str) -> Option<KnownCredential> + Send + Sync;
type ReplyTo = dyn Fn(usize, &Call) -> Reply + Send + Sync;

struct Api {
    known: Box<KnownOf>,
    reply: Box<ReplyTo>,
    calls: Mutex<Vec<Call>>,
    refused: Mutex<Vec<String>>,
}

/// A Bedrock that runs.
pub struct Bedrock {
    /// Its endpoint.
    pub url: String,
    api: Arc<Api>,
    _server: Server,
}

impl Bedrock {
    /// Starts one. `known` finds credentials by access key id and session token, `reply` says what
    /// is answered to a call by its number, from 1.
    pub fn start(
        known: impl Fn(&str, &str) -> Option<KnownCredential> + Send + Sync + 'static,
        reply: impl Fn(usize, &Call) -> Reply + Send + Sync + 'static,
    ) -> Bedrock {
        let api = Arc::new(Api {
            known: Box::new(known),
            reply: Box::new(reply),
            calls: Mutex::default(),
            refused: Mutex::default(),
        });
        let app = Router::new().fallback(invoke).with_state(Arc::clone(&api));
        let server = serve(app, None);
        Bedrock {
            url: format!("http://127.0.0.1:{}", server.port),
            api,
            _server: server,
        }
    }

    /// The calls that were signed well.
    pub fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        self.api.calls.lock().expect("no panic")
    }

    /// Why others were refused.
    pub fn refused(&self) -> Vec<String> {
        self.api.refused.lock().expect("no panic").clone()
    }
}

/// A refusal: status, name, message.
type Refusal = (u16, &'static str, String);

async fn invoke(State(api): State<Arc<Api>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY_BYTES).await;
    let answered = body.map_err(|why| (400, "SerializationException", why.to_string()));
    let answered = answered.and_then(|body| api.answer(&head.uri, &head.headers, &body));
    answered.unwrap_or_else(|(status, name, message)| {
        let why = format!("{status} {name}: {message}");
        api.refused.lock().expect("no panic").push(why);
        failure(status, name, "", &message)
    })
}

impl Api {
    fn answer(
        &self,
        uri: &axum::http::Uri,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response<Body>, Refusal> {
        let token = signature::check(uri.path(), headers, body, &self.known)?;
        let unknown = || (404, "UnknownOperationException", uri.path().to_owned());
        let mut parts = uri.path().split('/').skip(1);
        let (Some("model"), Some(model), Some(operation), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(unknown());
        };
        let (streams, counts) = match operation {
            "invoke" => (false, false),
            "invoke-with-response-stream" => (true, false),
            "count-tokens" => (false, true),
            _ => return Err(unknown()),
        };
        let model = signature::decoded(model);
        let body = if counts {
            checked(&counting::invocation(&model, body)?)?
        } else {
            checked(body)?
        };
        let call = Call {
            model,
            streams,
            counts,
            body,
            token,
            headers: headers.clone(),
        };
        let number = {
            let mut calls = self.calls.lock().expect("no panic");
            calls.push(call.clone());
            calls.len()
        };
        Ok(rendered((self.reply)(number, &call), streams))
    }
}

/// A body that Bedrock takes.
fn checked(body: &[u8]) -> Result<Value, Refusal> {
    let invalid = |why: String| (400, "ValidationException", why);
    let body: Value = serde_json::from_slice(body).map_err(|why| invalid(why.to_string()))?;
    let members = body.as_object();
    let members = members.ok_or_else(|| invalid("the body is no object".to_owned()))?;
    if body["anthropic_version"] != "bedrock-2023-05-31" {
        return Err(invalid("anthropic_version: Field required".to_owned()));
    }
    if !body["max_tokens"].is_u64() || !body["messages"].is_array() {
        return Err(invalid("max_tokens, messages: Field required".to_owned()));
    }
    if let Some(extra) = members
        .keys()
        .find(|name| !MEMBERS.contains(&name.as_str()))
    {
        return Err(invalid(format!("{extra}: Extra inputs are not permitted")));
    }
    let betas = body["anthropic_beta"].as_array().into_iter().flatten();
    let mut betas = betas.map(|beta| beta.as_str().unwrap_or_default());
    match betas.find(|beta| !BETAS.contains(beta)) {
        Some(beta) => Err(invalid(format!("invalid beta flag: {beta}"))),
        None => Ok(body),
    }
}

fn rendered(reply: Reply, streams: bool) -> Response<Body> {
    let (events, end) = match reply {
        Reply::Fails(status, name, retry_after) => {
            return failure(status, name, retry_after, "try again");
        }
        Reply::Count(tokens) => {
            let counted = json!({ "inputTokens": tokens }).to_string();
            return response(200, "application/json", Body::from(counted));
        }
        Reply::Message(events) if !streams => {
            let whole = frames::whole(&events).to_string();
            return response(200, "application/json", Body::from(whole));
        }
        Reply::Message(events) | Reply::EndsEarly(events) => (events, Vec::new()),
        Reply::Exception(events, name) => (events, frames::exception(name)),
        Reply::BreaksOff(events) => (events, vec![0, 0, 1]),
        Reply::Garbled(events) => (events, frames::garbled()),
        Reply::Huge(events) => (events, (1_u32 << 30).to_be_bytes().to_vec()),
    };
    let is_cut = end.len() == 3;
    let mut bytes: Vec<u8> = events.iter().flat_map(frames::chunk).collect();
    bytes.extend(end);
    let pieces = bytes.chunks(PIECE_BYTES).map(Bytes::copy_from_slice);
    let cut = stream::once(async move {
        if !is_cut {
            return None;
        }
        // What came before has to be on its way.
        tokio::time::sleep(CUT_AFTER).await;
        Some(Err(std::io::Error::from(
            std::io::ErrorKind::ConnectionReset,
        )))
    });
    let pieces: Vec<Result<Bytes, std::io::Error>> = pieces.map(Ok).collect();
    let pieces = stream::iter(pieces).chain(cut.filter_map(future::ready));
    let body = Body::from_stream(pieces);
    response(200, "application/vnd.amazon.eventstream", body)
}

fn failure(status: u16, name: &str, retry_after: &str, message: &str) -> Response<Body> {
    let body = json!({ "message": message }).to_string();
    let mut failure = response(status, "application/json", Body::from(body));
    let headers = failure.headers_mut();
    headers.insert("x-amzn-errortype", name.parse().expect("a name"));
    if !retry_after.is_empty() {
        headers.insert("retry-after", retry_after.parse().expect("seconds"));
    }
    failure
}

fn response(status: u16, kind: &str, body: Body) -> Response<Body> {
    let status = StatusCode::from_u16(status).expect("a status");
    let response = Response::builder().status(status);
    let response = response
        .header("content-type", kind)
        .header("x-amzn-requestid", "0f5b7b0e-bedr-ock0-0000-000000000000");
    response.body(body).expect("a response")
}
