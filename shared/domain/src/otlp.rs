//! Traces as OTLP/HTTP carries them in JSON: a request with the spans of one resource.
//!
//! In this form ids are hex, 64-bit numbers are strings, enumerations are numbers, and names are in lower camel case
//! (`opentelemetry-proto`, "JSON Protobuf Encoding").

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Timestamp;

/// The name of the instrumentation, and of the service of every span.
const SERVICE: &str = "awo";

/// The outcome of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanStatus {
    /// Nothing.
    Unset,
    /// It went well.
    Ok,
    /// It failed.
    Error,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attribute {
    key: String,
    value: Value,
}

impl Attribute {
    /// An attribute that is a text.
    #[must_use]
    pub fn text(key: impl Into<String>, value: impl Into<String>) -> Attribute {
        Attribute::of(key, json!({ "stringValue": value.into() }))
    }

    /// An attribute that is a whole number.
    #[must_use]
    pub fn whole(key: impl Into<String>, value: i64) -> Attribute {
        Attribute::of(key, json!({ "intValue": value.to_string() }))
    }

    /// An attribute that is a number.
    #[must_use]
    pub fn number(key: impl Into<String>, value: f64) -> Attribute {
        Attribute::of(key, json!({ "doubleValue": value }))
    }

    /// An attribute that is true or false.
    #[must_use]
    pub fn flag(key: impl Into<String>, value: bool) -> Attribute {
        Attribute::of(key, json!({ "boolValue": value }))
    }

    fn of(key: impl Into<String>, value: Value) -> Attribute {
        Attribute {
            key: key.into(),
            value,
        }
    }
}

/// A moment of a span.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpanEvent {
    name: String,
    time_unix_nano: String,
    attributes: Vec<Attribute>,
}

impl SpanEvent {
    /// An event of a name at a moment.
    #[must_use]
    pub fn new(name: &str, at: Timestamp, attributes: Vec<Attribute>) -> SpanEvent {
        SpanEvent {
            name: name.to_owned(),
            time_unix_nano: nanoseconds(at),
            attributes,
        }
    }
}

/// The id of a span: the same for the same trace and name, so that a repeated request tells nothing new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanId(String);

/// The id of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceId(String);

impl TraceId {
    /// The trace of a name that no other trace has.
    #[must_use]
    pub fn of(name: &str) -> TraceId {
        TraceId(digest(name, 16))
    }

    /// The id as it is shown: 32 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The span of a name within the trace.
    #[must_use]
    pub fn span(&self, name: &str) -> SpanId {
        SpanId(digest(&format!("{}/{name}", self.0), 8))
    }
}

fn digest(text: &str, bytes: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    hex::encode(digest.get(..bytes).unwrap_or_default())
}

/// A span.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSpan {
    /// The name.
    pub name: String,
    /// The id.
    pub id: SpanId,
    /// The span in which it lies; none for the root.
    pub parent: Option<SpanId>,
    /// The beginning and the end.
    pub time: (Timestamp, Timestamp),
    /// The attributes.
    pub attributes: Vec<Attribute>,
    /// The events.
    pub events: Vec<SpanEvent>,
    /// The outcome, with a message for people.
    pub status: (SpanStatus, Option<String>),
}

impl TraceSpan {
    fn to_json(&self, trace: &TraceId) -> Value {
        let (code, message) = &self.status;
        let code = match code {
            SpanStatus::Unset => 0,
            SpanStatus::Ok => 1,
            SpanStatus::Error => 2,
        };
        let mut span = json!({
            "traceId": trace.0,
            "spanId": self.id.0,
            "name": self.name,
            // SPAN_KIND_INTERNAL
            "kind": 1,
            "startTimeUnixNano": nanoseconds(self.time.0),
            "endTimeUnixNano": nanoseconds(self.time.1.max(self.time.0)),
            "attributes": self.attributes,
            "events": self.events,
            "status": { "code": code },
        });
        if let Some(parent) = &self.parent {
            span["parentSpanId"] = json!(parent.0);
        }
        if let Some(message) = message {
            span["status"]["message"] = json!(message);
        }
        span
    }
}

/// A request with the spans of a trace: the body of a POST.
#[must_use]
pub fn request(trace: &TraceId, spans: &[TraceSpan]) -> String {
    let spans: Vec<Value> = spans.iter().map(|span| span.to_json(trace)).collect();
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        Attribute::text("service.name", SERVICE),
        Attribute::text("service.version", version),
    ];
    json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{
                "scope": { "name": SERVICE, "version": version },
                "spans": spans,
            }],
        }],
    })
    .to_string()
}

fn nanoseconds(at: Timestamp) -> String {
    (i128::from(at.epoch_ms()) * 1_000_000).to_string()
}
