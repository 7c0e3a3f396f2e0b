//! The API behind its gateway, called with the key of the caller of a tool.

use std::time::Duration;

use awo_mcp::{Api, ApiRequest, ApiResponse, Method, Unreachable};
use reqwest::header::{ACCEPT, AUTHORIZATION};
use reqwest::{Client, Url};
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// Longest time from a message to the end of its last call: the gateway gives up after 29 s.
const LIMIT: Duration = Duration::from_secs(27);
/// Largest answer that is read; Lambda gives none of more than 6 MB.
const MAX_ANSWER_BYTES: usize = 8 * 1_024 * 1_024;

/// The API for one message.
pub(crate) struct RestApi<'a> {
    pub client: &'a Client,
    /// Without a slash at its end.
    pub base_url: String,
    /// The header of the caller.
    pub authorization: &'a str,
    /// When the message came.
    pub began: Instant,
}

impl RestApi<'_> {
    async fn answer(&self, request: ApiRequest) -> Result<ApiResponse, String> {
        let url = format!("{}{}", self.base_url, request.path);
        let mut url = Url::parse(&url).map_err(|why| why.to_string())?;
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Delete => reqwest::Method::DELETE,
        };
        let call = self.client.request(method, url);
        let call = call
            .header(AUTHORIZATION, self.authorization)
            .header(ACCEPT, "application/json");
        let call = match &request.idempotency_key {
            Some(key) => call.header("idempotency-key", key),
            None => call,
        };
        let call = match &request.body {
            Some(body) => call.json(body),
            None => call,
        };
        let lost = |why: reqwest::Error| why.without_url().to_string();
        let mut answer = call.send().await.map_err(lost)?;
        let status = answer.status().as_u16();
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(lost)? {
            if bytes.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(format!(
                    "its answer is larger than {MAX_ANSWER_BYTES} bytes"
                ));
            }
            bytes.extend_from_slice(&chunk);
        }
        let body = match bytes.as_slice() {
            [] => Value::Null,
            bytes => serde_json::from_slice(bytes).map_err(|_| "its answer is no JSON")?,
        };
        Ok(ApiResponse { status, body })
    }
}

impl Api for RestApi<'_> {
    async fn call(&self, request: ApiRequest) -> Result<ApiResponse, Unreachable> {
        let left = LIMIT.saturating_sub(self.began.elapsed());
        let answer = tokio::time::timeout(left, self.answer(request)).await;
        let answer = answer.unwrap_or_else(|_| Err("it took too long".to_owned()));
        answer.map_err(Unreachable)
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    async fn pause(&self, time: Duration) {
        sleep(time).await;
    }
}
