//! The AWS JSON protocol (1.0 and 1.1), as far as all its services share it. Invariants: no
//! operation runs before the caller's access key was checked, and no body is read beyond its limit.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use tokio::net::TcpListener;

use crate::access::AccessKey;
use crate::calls;
use crate::serve::{self, Answer, Limits, RequestBody, Server};
use crate::shutdown::Shutdown;

/// Connections at once to one stand-in. Every SDK client pools a few, long polls hold one
/// each.
const CONNECTIONS: usize = 1024;

/// Signed SDK requests have heads of about 1 KiB.
const HEAD_BYTES: usize = 64 * 1024;

/// Far above the 90 s after which the SDK's pool gives an idle connection up.
const HEAD_TIME: Duration = Duration::from_secs(600);

/// How one service speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// What stands before the operation in `X-Amz-Target`, with the dot.
    pub target_prefix: &'static str,
    pub content_type: &'static str,
    pub body_bytes: usize,
}

/// A refusal in the words of the service.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub status: u16,
    pub body: String,
    /// `x-amzn-query-error`: the code that the service had in its query protocol, which the
    /// SDKs of SQS report.
    pub query_error: Option<String>,
}

impl Refusal {
    pub fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        let body = serde_json::json!({"__type": code, "message": message.into()}).to_string();
        Self {
            status,
            body,
            query_error: None,
        }
    }

    pub fn with_query_error(mut self, code: &str) -> Self {
        let fault = if self.status >= 500 {
            "Receiver"
        } else {
            "Sender"
        };
        self.query_error = Some(format!("{code};{fault}"));
        self
    }
}

/// Serves `operation(name, body)` to callers that know the key.
pub(crate) fn serve<H, F>(
    listener: TcpListener,
    dialect: Dialect,
    key: AccessKey,
    shutdown: Shutdown,
    operation: H,
) -> std::io::Result<Server>
where
    H: Fn(String, Bytes) -> F + Send + Sync + 'static,
    F: Future<Output = Result<String, Refusal>> + Send + 'static,
{
    let limits = Limits {
        connections: CONNECTIONS,
        head_bytes: HEAD_BYTES,
        head_time: HEAD_TIME,
    };
    let operation = Arc::new(operation);
    serve::serve(listener, limits, shutdown, move |request, _peer| {
        let (key, operation) = (key.clone(), Arc::clone(&operation));
        async move {
            let outcome = match admit(request, dialect, &key).await {
                Ok((name, body)) => operation(name, body).await,
                Err(refusal) => Err(refusal),
            };
            answer(dialect, outcome)
        }
    })
}

async fn admit(
    request: Request<RequestBody>,
    dialect: Dialect,
    key: &AccessKey,
) -> Result<(String, Bytes), Refusal> {
    let headers = request.headers();
    if !key.admits(headers.get(http::header::AUTHORIZATION)) {
        return Err(Refusal::new(
            403,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ));
    }
    let name = headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok())
        .and_then(|target| target.strip_prefix(dialect.target_prefix))
        .ok_or_else(|| unknown_operation("the request names no operation of this service"))?
        .to_owned();
    let (head, body) = request.into_parts();
    let body = Limited::new(body, dialect.body_bytes).collect().await;
    match body {
        Ok(body) => {
            let body = body.to_bytes();
            calls::note(&head.headers, dialect.target_prefix, &name, &body);
            Ok((name, body))
        }
        Err(error) => Err(Refusal::new(
            413,
            "RequestEntityTooLargeException",
            error.to_string(),
        )),
    }
}

pub(crate) fn unknown_operation(message: impl Into<String>) -> Refusal {
    Refusal::new(400, "UnknownOperationException", message)
}

/// Reads an operation's input; what cannot be read is the caller's fault.
pub(crate) fn input<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::new(400, "SerializationException", error.to_string()))
}

fn answer(dialect: Dialect, outcome: Result<String, Refusal>) -> Answer {
    let (status, body, query_error) = match outcome {
        Ok(body) => (StatusCode::OK, body, None),
        Err(refusal) => (
            StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            refusal.body,
            refusal.query_error,
        ),
    };
    let mut answer = Response::new(serve::whole(body));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(
        http::header::CONTENT_TYPE,
        HeaderValue::from_static(dialect.content_type),
    );
    if let Ok(id) = HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()) {
        headers.insert("x-amzn-requestid", id);
    }
    if let Some(Ok(code)) = query_error.as_deref().map(HeaderValue::from_str) {
        headers.insert("x-amzn-query-error", code);
    }
    answer
}
