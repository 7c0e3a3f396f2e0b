//! An ordinary client of the API.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::contract;

/// A client with a key.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    key: Option<String>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// Headers.
    pub headers: reqwest::header::HeaderMap,
    /// Body, as sent.
    pub text: String,
    /// Body, parsed; null if it is not JSON.
    pub body: Value,
}

impl Answer {
    /// A header, or nothing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default()
    }

    /// The faults of a body that was refused as a bad request: paths and messages, in their order.
    ///
    /// # Panics
    ///
    /// If the answer is another one, or a fault has no path or no message.
    #[must_use]
    pub fn faults(&self) -> Vec<(&str, &str)> {
        let code = self.body["error"]["code"].as_str();
        assert_eq!(
            (self.status, code),
            (400, Some("BAD_REQUEST")),
            "{}",
            self.text
        );
        let errors = self.body["error"]["details"]["errors"].as_array();
        errors
            .into_iter()
            .flatten()
            .map(|fault| {
                let text = |name: &str| fault[name].as_str().expect("a text of a fault");
                (text("path"), text("message"))
            })
            .collect()
    }

    /// The paths of [`Answer::faults`].
    #[must_use]
    pub fn fault_paths(&self) -> Vec<&str> {
        self.faults().into_iter().map(|(path, _)| path).collect()
    }
}

/// An event of a live stream.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveEvent {
    /// Its number.
    pub id: u64,
    /// Its type.
    pub kind: String,
    /// Its data.
    pub data: Value,
}

/// A live stream that is being read. Dropping it closes the connection.
#[derive(Debug)]
pub struct LiveStream {
    /// Headers.
    pub headers: reqwest::header::HeaderMap,
    response: reqwest::Response,
    unread: String,
    /// Blocks that were no events.
    pub others: Vec<String>,
}

impl LiveStream {
    /// The next event; none at the stream's end.
    pub async fn next(&mut self) -> Option<LiveEvent> {
        loop {
            if let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                if let Some(event) = event(&block) {
                    return Some(event);
                }
                self.others.push(block);
                continue;
            }
            let piece = self.response.chunk().await.expect("a whole stream")?;
            self.unread
                .push_str(std::str::from_utf8(&piece).expect("UTF-8"));
        }
    }

    /// All that is still to come.
    pub async fn rest(&mut self) -> Vec<LiveEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

fn event(block: &str) -> Option<LiveEvent> {
    let mut lines = block.split('\n');
    let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(": ");
    let (id, kind, data) = (field("id")?, field("event")?, field("data")?);
    assert_eq!(lines.next(), None, "{block}");
    Some(LiveEvent {
        id: id.parse().expect("a number"),
        kind: kind.to_owned(),
        data: serde_json::from_str(data).expect("JSON"),
    })
}

/// The HTTP client of tests and measurements: no proxy, and 40 s for an answer.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn http_client() -> reqwest::Client {
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(40))
        .build()
        .expect("an HTTP client")
}

impl Client {
    /// A client of the service at `base_url`.
    #[must_use]
    pub fn new(base_url: &str, key: Option<&str>) -> Client {
        Client {
            http: http_client(),
            base_url: base_url.to_owned(),
            key: key.map(str::to_owned),
        }
    }

    /// Where the service is.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The same with another key.
    #[must_use]
    pub fn with_key(&self, key: Option<&str>) -> Client {
        Client {
            key: key.map(str::to_owned),
            ..self.clone()
        }
    }

    /// The same at another address.
    #[must_use]
    pub fn at(&self, base_url: &str) -> Client {
        Client {
            base_url: base_url.to_owned(),
            ..self.clone()
        }
    }

    async fn response(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> reqwest::Result<reqwest::Response> {
        let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.base_url))
            .body(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await
    }

    /// Sends any request.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Answer {
        let sent = self.try_send(method, path, headers, body).await;
        sent.expect("an answer")
    }

    /// Sends any request to a service that may not be there.
    ///
    /// # Errors
    /// When no whole answer came; whether the service did as asked is not known.
    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> reqwest::Result<Answer> {
        let answer = answer(self.response(method, path, headers, body).await?).await?;
        // What has no request id, or a type of error, comes from the gateway.
        let is_ours = !answer.headers.contains_key("x-amzn-errortype");
        if is_ours && answer.headers.contains_key("x-request-id") {
            let content_type = answer.header("content-type");
            contract::check(method, path, answer.status, content_type, &answer.text);
        }
        Ok(answer)
    }

    /// Begins to read a live stream; the whole answer if it is none.
    ///
    /// # Errors
    /// The answer, where it is not 200.
    pub async fn watch(&self, path: &str, headers: &[(&str, &str)]) -> Result<LiveStream, Answer> {
        let headers = [&[("accept", "text/event-stream")], headers].concat();
        let response = self.response("GET", path, &headers, Vec::new()).await;
        let response = response.expect("an answer");
        if response.status() != 200 {
            return Err(answer(response).await.expect("a body"));
        }
        Ok(LiveStream {
            headers: response.headers().clone(),
            response,
            unread: String::new(),
            others: Vec::new(),
        })
    }

    /// `GET`
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], Vec::new()).await
    }

    /// `POST` of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(
            "POST",
            path,
            &[("content-type", "application/json")],
            body.to_string().into_bytes(),
        )
        .await
    }

    /// Reads a resource until a condition holds; panics with what it last saw at the deadline.
    pub async fn until(
        &self,
        path: &str,
        limit: Duration,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.get(path).await;
            if holds(&answer.body) {
                return answer.body;
            }
            assert!(
                began.elapsed() < limit,
                "{path} did not come to the wanted state in {limit:?}: {}",
                answer.text
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The run of a work order once it is over and its compute is gone.
    pub async fn finished_run(&self, work_order: &Value) -> Value {
        let run = work_order["runId"].as_str().expect("a run id");
        let over = |run: &Value| run.get("computeStoppedAt").is_some();
        self.until(&format!("/v1/runs/{run}"), Duration::from_secs(180), over)
            .await
    }
}

async fn answer(response: reqwest::Response) -> reqwest::Result<Answer> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await?;
    Ok(Answer {
        status,
        headers,
        body: serde_json::from_str(&text).unwrap_or(Value::Null),
        text,
    })
}
