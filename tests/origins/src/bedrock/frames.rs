//! Answers as Bedrock writes them: frames of AWS's event stream, and whole messages.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// An event of Messages.
pub(super) fn chunk(event: &Value) -> Vec<u8> {
    // Some events come with spaces and newlines between their parts.
    let text = format!("{event:#}");
    let payload = json!({ "bytes": STANDARD.encode(text), "p": "abcdefgh" });
    frame("event", (":event-type", "chunk"), &payload)
}

/// An exception in the stream.
pub(super) fn exception(name: &'static str) -> Vec<u8> {
    let payload = json!({ "message": "Too many tokens, please wait" });
    frame("exception", (":exception-type", name), &payload)
}

/// A frame with a wrong checksum.
pub(super) fn garbled() -> Vec<u8> {
    let mut frame = chunk(&json!({ "type": "ping" }));
    if let Some(last) = frame.last_mut() {
        *last ^= 1;
    }
    frame
}

fn frame(kind: &'static str, (name, value): (&'static str, &'static str), of: &Value) -> Vec<u8> {
    let text = |text: &'static str| HeaderValue::String(text.into());
    let message = Message::new(of.to_string().into_bytes())
        .add_header(Header::new(name, text(value)))
        .add_header(Header::new(":content-type", text("application/json")))
        .add_header(Header::new(":message-type", text(kind)));
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).expect("a frame");
    bytes
}

/// The message that events are of.
pub(super) fn whole(events: &[Value]) -> Value {
    let of = |kind: &str| events.iter().find(|event| event["type"] == kind);
    let mut message = of("message_start").map_or(Value::Null, |event| event["message"].clone());
    let blocks = events.iter().filter(|e| e["type"] == "content_block_start");
    let blocks: Vec<Value> = blocks.map(|event| event["content_block"].clone()).collect();
    message["content"] = json!(blocks);
    if let Some(end) = of("message_delta") {
        message["stop_reason"] = end["delta"]["stop_reason"].clone();
        message["usage"]["output_tokens"] = end["usage"]["output_tokens"].clone();
    }
    message
}
