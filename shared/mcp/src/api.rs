//! The calls that tools make.

use std::future::Future;
use std::time::Duration;

use serde_json::Value;

/// A method that a tool needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Delete,
}

/// A call of a route.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    pub method: Method,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub body: Option<Value>,
    pub idempotency_key: Option<String>,
}

impl ApiRequest {
    /// A read.
    pub(crate) fn get(path: String) -> ApiRequest {
        ApiRequest {
            method: Method::Get,
            path,
            query: Vec::new(),
            body: None,
            idempotency_key: None,
        }
    }
}

/// The answer of a route.
#[derive(Debug, Clone)]
pub struct ApiResponse {
    pub status: u16,
    pub body: Value,
}

/// The API gave no answer that can be read.
#[derive(Debug, Clone)]
pub struct Unreachable(pub String);

/// The API as a caller with a key sees it.
pub trait Api: Sync {
    /// Calls a route.
    fn call(
        &self,
        request: ApiRequest,
    ) -> impl Future<Output = Result<ApiResponse, Unreachable>> + Send;

    /// The time since the message came.
    fn elapsed(&self) -> Duration;

    /// Waits.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send;
}
