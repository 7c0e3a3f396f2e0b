//! Bedrock's stream of events as server-sent events: each chunk is an event of Messages in base64.
//! Frames are checked and bounded; a stream without its last event has broken off.

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::Message;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use reqwest::Response;
use serde::Deserialize;

use super::failure::message_of;
use crate::proxy::answer::Next;
use crate::proxy::refusal::error_body;

/// Largest frame that is read, in bytes; an event of a model's is a few hundred.
const MAX_FRAME_BYTES: usize = 4 * 1_048_576;
/// Smallest frame there can be: two lengths and two checksums.
const MIN_FRAME_BYTES: usize = 16;
/// Bytes of a frame's length, with which it begins.
const LENGTH_BYTES: usize = 4;
/// The last event of a whole answer.
const LAST_EVENT: &str = "message_stop";

/// A stream under way.
pub(in crate::proxy) struct Events {
    answer: Response,
    /// What came and is not a whole frame yet.
    held: BytesMut,
    /// True once the last event has come.
    is_whole: bool,
    /// What Bedrock did instead of going on; the agent has seen it.
    failed: Option<End>,
}

/// How a stream ended that was not whole.
enum End {
    /// An outage, as a predicate.
    Outage(String),
    /// The caller's fault.
    Fault,
}

/// A chunk: the padding beside it is of no consequence.
#[derive(Deserialize)]
struct Chunk {
    bytes: String,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
}

impl Events {
    pub(super) fn new(answer: Response) -> Events {
        Events {
            answer,
            held: BytesMut::new(),
            is_whole: false,
            failed: None,
        }
    }

    /// What comes next.
    pub(in crate::proxy) async fn next(&mut self) -> Next {
        loop {
            match self.failed.take() {
                Some(End::Outage(what)) => return Next::Failed(what),
                Some(End::Fault) => return Next::End,
                None => {}
            }
            match self.frame() {
                Ok(Some(message)) => match self.translated(&message) {
                    Ok(Some(piece)) => return Next::Piece(piece),
                    Ok(None) => continue,
                    Err(why) => return unreadable(&why),
                },
                Ok(None) => {}
                Err(why) => return unreadable(&why),
            }
            match self.answer.chunk().await {
                Ok(Some(piece)) => self.held.extend_from_slice(&piece),
                Ok(None) if self.is_whole && self.held.is_empty() => return Next::End,
                Ok(None) | Err(_) => return Next::Broken("broke off its answer".to_owned()),
            }
        }
    }

    /// The next frame, if it is there as a whole.
    fn frame(&mut self) -> Result<Option<Message>, String> {
        let Some(length) = self.held.first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if !(MIN_FRAME_BYTES..=MAX_FRAME_BYTES).contains(&length) {
            return Err(format!("a frame of {length} bytes"));
        }
        if self.held.len() < length {
            return Ok(None);
        }
        let frame = self.held.split_to(length).freeze();
        let message = read_message_from(frame).map_err(|why| why.to_string())?;
        Ok(Some(message))
    }

    /// A frame as the agent gets to see it; nothing for frames that mean nothing to it.
    fn translated(&mut self, message: &Message) -> Result<Option<Bytes>, String> {
        match header(message, ":message-type") {
            "event" if header(message, ":event-type") == "chunk" => {
                let chunk: Chunk = read(message.payload())?;
                let event = STANDARD
                    .decode(chunk.bytes)
                    .map_err(|why| why.to_string())?;
                self.event(event).map(Some)
            }
            "event" => Ok(None),
            "exception" => Ok(Some(
                self.exception(header(message, ":exception-type"), message),
            )),
            "error" => Ok(Some(
                self.exception(header(message, ":error-code"), message),
            )),
            other => Err(format!("a message of type {other:?}")),
        }
    }

    fn event(&mut self, mut event: Vec<u8>) -> Result<Bytes, String> {
        let Event { kind } = read(&event)?;
        if kind.chars().any(char::is_control) {
            return Err("an event with a name that is none".to_owned());
        }
        // Between the parts of JSON they mean what a space does; in its texts there are none.
        event
            .iter_mut()
            .filter(|byte| matches!(**byte, b'\n' | b'\r'))
            .for_each(|byte| *byte = b' ');
        self.is_whole |= kind == LAST_EVENT;
        Ok(sse(&kind, &event))
    }

    /// An exception ends the stream: the agent gets an error in Anthropic's form.
    fn exception(&mut self, name: &str, message: &Message) -> Bytes {
        let status = match name {
            "throttlingException" => StatusCode::TOO_MANY_REQUESTS,
            "validationException" => StatusCode::BAD_REQUEST,
            "serviceUnavailableException" => StatusCode::SERVICE_UNAVAILABLE,
            "modelTimeoutException" => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::BAD_GATEWAY,
        };
        let or = || format!("bedrock broke off its answer: {name}");
        let text = message_of(message.payload(), or);
        self.failed = Some(
            if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
                End::Fault
            } else {
                End::Outage(format!("broke off its answer ({name})"))
            },
        );
        sse("error", &error_body(status, &text))
    }
}

fn unreadable(why: &str) -> Next {
    tracing::warn!(
        event = "bedrock_stream_unreadable",
        why,
        "bedrock's stream cannot be read"
    );
    Next::Broken("sent a stream that cannot be read".to_owned())
}

fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|why| why.to_string())
}

fn header<'a>(message: &'a Message, name: &str) -> &'a str {
    let mut headers = message.headers().iter();
    let found = headers.find(|header| header.name().as_str() == name);
    let value = found.and_then(|header| header.value().as_string().ok());
    value.map_or("", |value| value.as_str())
}

fn sse(kind: &str, data: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(kind.len() + data.len() + 16);
    text.extend_from_slice(b"event: ");
    text.extend_from_slice(kind.as_bytes());
    text.extend_from_slice(b"\ndata: ");
    text.extend_from_slice(data);
    text.extend_from_slice(b"\n\n");
    Bytes::from(text)
}
