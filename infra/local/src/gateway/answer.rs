//! From a function's response to the HTTP response. Invariants: a response that API Gateway
//! considers malformed becomes its 502, never another response; headers that API Gateway renames or
//! drops do not reach the client under their names.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use lambda_runtime::MetadataPrelude;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::function::StreamAnswer;
use crate::serve::{self, Answer};

/// Lambda's limit for a synchronous answer.
pub const ANSWER_BYTES: usize = 6 * 1024 * 1024;

/// The longest that API Gateway keeps a streamed answer open.
pub const STREAM_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The longest silence in a streamed answer of a regional API.
pub const STREAM_IDLE: Duration = Duration::from_secs(5 * 60);

const REMAPPED: [&str; 14] = [
    "authorization",
    "connection",
    "content-length",
    "content-md5",
    "date",
    "expect",
    "host",
    "max-forwards",
    "proxy-authenticate",
    "server",
    "trailer",
    "upgrade",
    "user-agent",
    "www-authenticate",
];

const DROPPED: [&str; 2] = ["te", "transfer-encoding"];

/// The type of a refusal that only this gateway has: a call by a name that is not this machine's.
pub const FOREIGN_HOST: &str = "FOREIGN_HOST";

/// A response of the gateway itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GatewayResponse {
    MissingAuthenticationToken,
    Forbidden,
    AccessDenied,
    Throttled,
    RequestTooLarge,
    BadRequest,
    FunctionFailed,
    FunctionUnreachable,
    TimedOut,
    HeadTooLarge,
    ForeignHost,
}

/// The body that an API gives to a kind of the gateway's own responses, as `GatewayResponses` of a
/// template does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseBody {
    /// Its type in the template.
    pub kind: &'static str,
    /// The status in place of the gateway's own.
    pub status: Option<u16>,
    /// The error's code.
    pub code: &'static str,
    /// The error's message.
    pub message: &'static str,
    /// Its header `Retry-After`.
    pub retry_after_s: Option<u16>,
}

impl GatewayResponse {
    fn parts(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::MissingAuthenticationToken => (
                403,
                "MissingAuthenticationTokenException",
                "Missing Authentication Token",
            ),
            Self::Forbidden | Self::ForeignHost => (403, "ForbiddenException", "Forbidden"),
            Self::AccessDenied => (
                403,
                "AccessDeniedException",
                "User: anonymous is not authorized to perform: execute-api:Invoke on resource: \
                 arn:aws:execute-api:us-east-1:********0000:local/live with an explicit deny",
            ),
            Self::Throttled => (429, "TooManyRequestsException", "Too Many Requests"),
            Self::RequestTooLarge => (413, "RequestTooLargeException", "Request Too Long"),
            Self::BadRequest => (400, "BadRequestException", "Bad Request"),
            Self::FunctionFailed => (502, "InternalServerErrorException", "Internal server error"),
            Self::FunctionUnreachable => {
                (500, "InternalServerErrorException", "Internal server error")
            }
            Self::TimedOut => (
                504,
                "InternalServerErrorException",
                "Endpoint request timed out",
            ),
            Self::HeadTooLarge => (
                431,
                "RequestHeaderFieldsTooLargeException",
                "Request Header Fields Too Large",
            ),
        }
    }

    /// The template's type of it.
    fn kind(self) -> &'static str {
        match self {
            Self::MissingAuthenticationToken => "MISSING_AUTHENTICATION_TOKEN",
            Self::Forbidden => "WAF_FILTERED",
            Self::ForeignHost => FOREIGN_HOST,
            Self::AccessDenied => "ACCESS_DENIED",
            Self::Throttled => "THROTTLED",
            Self::RequestTooLarge => "REQUEST_TOO_LARGE",
            Self::BadRequest | Self::HeadTooLarge => "DEFAULT_4XX",
            Self::FunctionFailed | Self::FunctionUnreachable | Self::TimedOut => "DEFAULT_5XX",
        }
    }

    /// The answer in the API's own words, where it has some for it.
    pub fn answer_with(self, bodies: &[ResponseBody], request_id: &str) -> Answer {
        let mut answer = self.answer();
        let Some(body) = bodies.iter().find(|body| body.kind == self.kind()) else {
            return answer;
        };
        let text = serde_json::json!({
            "success": false,
            "error": { "code": body.code, "message": body.message, "details": {} },
            "requestId": request_id,
        });
        *answer.body_mut() = serve::whole(text.to_string());
        let status = body.status.map(StatusCode::from_u16);
        if let Some(Ok(status)) = status {
            *answer.status_mut() = status;
        }
        let headers = answer.headers_mut();
        if let Ok(id) = HeaderValue::from_str(request_id) {
            headers.insert("x-request-id", id);
        }
        if let Some(seconds) = body.retry_after_s {
            headers.insert(http::header::RETRY_AFTER, seconds.into());
        }
        answer
    }

    fn answer(self) -> Answer {
        let (status, kind, message) = self.parts();
        // A policy's word is capital.
        let name = match self {
            Self::AccessDenied => "Message",
            _ => "message",
        };
        let body = serde_json::json!({ name: message }).to_string();
        let mut answer = Response::new(serve::whole(body));
        *answer.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = answer.headers_mut();
        headers.insert(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert("x-amzn-errortype", HeaderValue::from_static(kind));
        answer
    }
}

/// The response that a function's answer describes.
///
/// # Errors
/// Why API Gateway would call the answer malformed; for its log, not for the client.
pub(crate) fn whole(answer: Value) -> Result<Response<Bytes>, String> {
    let Value::Object(mut answer) = answer else {
        return Err("the answer is no object".to_owned());
    };
    let status = status(answer.get("statusCode"))?;
    let headers = headers(answer.get("headers"), answer.get("multiValueHeaders"))?;
    let base64 = match answer.get("isBase64Encoded") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(base64)) => *base64,
        Some(_) => return Err("isBase64Encoded is no boolean".to_owned()),
    };
    let body = match answer.remove("body") {
        None | Some(Value::Null) => Bytes::new(),
        Some(Value::String(body)) if body.len() > ANSWER_BYTES => {
            return Err(format!(
                "the body has {} bytes, above {ANSWER_BYTES}",
                body.len()
            ));
        }
        Some(Value::String(body)) if base64 => STANDARD
            .decode(body)
            .map_err(|error| format!("the body is no Base64: {error}"))?
            .into(),
        Some(Value::String(body)) => body.into(),
        Some(_) => return Err("the body is no string".to_owned()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

/// The response that a streaming function began.
pub(crate) fn stream(answer: StreamAnswer) -> Result<Answer, String> {
    let MetadataPrelude {
        status_code,
        headers,
        cookies,
    } = answer.head;
    let mut mapped = HeaderMap::new();
    for (name, value) in &headers {
        put(&mut mapped, name, value.clone());
    }
    for cookie in cookies {
        let value = HeaderValue::from_str(&cookie)
            .map_err(|error| format!("a cookie is no header value: {error}"))?;
        mapped.append(http::header::SET_COOKIE, value);
    }
    default_content_type(&mut mapped);
    let mut response = Response::new(StreamBody::new(frames(answer.chunks)).boxed_unsync());
    *response.status_mut() = final_status(status_code)?;
    *response.headers_mut() = mapped;
    Ok(response)
}

/// An error ends the stream: it was cut off, or one of the limits was reached.
fn frames(
    chunks: BoxStream<'static, Result<Bytes, String>>,
) -> impl Stream<Item = Result<Frame<Bytes>, Box<dyn std::error::Error + Send + Sync>>> {
    let end = Instant::now() + STREAM_TIMEOUT;
    futures::stream::unfold(Some(chunks), move |chunks| async move {
        let mut chunks = chunks?;
        let limit = end.min(Instant::now() + STREAM_IDLE);
        match tokio::time::timeout_at(limit, chunks.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(bytes))) => Some((Ok(Frame::data(bytes)), Some(chunks))),
            Ok(Some(Err(error))) => Some((Err(error.into()), None)),
            Err(_) => Some((
                Err("the stream reached a limit of the gateway".into()),
                None,
            )),
        }
    })
}

fn status(status: Option<&Value>) -> Result<StatusCode, String> {
    let number = match status {
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    number
        .and_then(|number| u16::try_from(number).ok())
        .and_then(|number| StatusCode::from_u16(number).ok())
        .ok_or_else(|| format!("{status:?} is no status code"))
        .and_then(final_status)
}

fn final_status(status: StatusCode) -> Result<StatusCode, String> {
    if status.is_informational() {
        return Err(format!("{status} is no final status"));
    }
    Ok(status)
}

/// Both header fields merged; where both have a name, API Gateway takes all distinct values.
fn headers(single: Option<&Value>, multiple: Option<&Value>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, values) in object(multiple)?.into_iter().flatten() {
        let Value::Array(values) = values else {
            return Err(format!("the values of the header {name} are no list"));
        };
        for value in values {
            put(
                &mut headers,
                &header_name(name)?,
                header_value(name, value)?,
            );
        }
    }
    for (name, value) in object(single)?.into_iter().flatten() {
        let (name, value) = (header_name(name)?, header_value(name, value)?);
        let known = headers
            .get_all(client_name(&name))
            .iter()
            .any(|other| *other == value);
        if !known {
            put(&mut headers, &name, value);
        }
    }
    default_content_type(&mut headers);
    Ok(headers)
}

fn object(value: Option<&Value>) -> Result<Option<&Map<String, Value>>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => Ok(Some(map)),
        Some(_) => Err("the headers are no object".to_owned()),
    }
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is no header name"))
}

fn header_value(name: &str, value: &Value) -> Result<HeaderValue, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        _ => return Err(format!("the value of the header {name} is no scalar")),
    };
    HeaderValue::from_str(&text).map_err(|_| format!("the value of the header {name} is invalid"))
}

fn put(headers: &mut HeaderMap, name: &HeaderName, value: HeaderValue) {
    if !DROPPED.contains(&name.as_str()) {
        headers.append(client_name(name), value);
    }
}

/// The name under which the client sees a header of the function.
fn client_name(name: &HeaderName) -> HeaderName {
    if !REMAPPED.contains(&name.as_str()) {
        return name.clone();
    }
    HeaderName::from_bytes(format!("x-amzn-remapped-{name}").as_bytes())
        .unwrap_or_else(|_| name.clone())
}

fn default_content_type(headers: &mut HeaderMap) {
    headers
        .entry(http::header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("application/json"));
}
