//! A runner's connection to the control API: its base, the token that the runner generated, and its
//! connections. A call without a response may have used a dead connection, and others of the pool
//! may be dead too, so the next call opens a new one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awo_domain::control::ANSWER_MARK;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::CallError;
use crate::http_client;
use crate::settings::Settings;

/// For a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest answer that is read: a spec with its prompt and profile is far smaller.
const MAX_ANSWER_BYTES: usize = 4 * 1_024 * 1_024;
/// Longest text of a refusal that is shown.
const MAX_REFUSAL_CHARS: usize = 500;

/// Clones share their connections.
#[derive(Clone)]
pub(super) struct Connection {
    connections: Arc<Mutex<Connections>>,
    plain_http: bool,
    base: String,
    token: String,
}

struct Connections {
    client: Client,
    /// How often they were given up.
    generation: u64,
    heard_at: Instant,
}

impl Connection {
    /// # Errors
    /// A sentence, if there is no client to be had.
    pub(super) fn new(settings: &Settings, token: String) -> Result<Connection, String> {
        let connections = Connections {
            client: client(settings.plain_http)?,
            generation: 0,
            heard_at: Instant::now(),
        };
        Ok(Connection {
            connections: Arc::new(Mutex::new(connections)),
            plain_http: settings.plain_http,
            base: settings.control_url.clone(),
            token,
        })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Notes that the service has just heard of this runner.
    pub(super) fn heard(&self) {
        self.lock().heard_at = Instant::now();
    }

    pub(super) fn heard_at(&self) -> Instant {
        self.lock().heard_at
    }

    /// One try of a call, which ends after `limit`.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<T, CallError> {
        let with_token = |request: RequestBuilder| request.bearer_auth(&self.token);
        self.send(path, body, limit, with_token).await
    }

    pub(super) async fn post_without_token<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<T, CallError> {
        self.send(path, body, limit, |request| request).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
        dress: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<T, CallError> {
        let (client, generation) = {
            let connections = self.lock();
            (connections.client.clone(), connections.generation)
        };
        let request = client.post(format!("{}{path}", self.base));
        let request = dress(request.timeout(limit).json(body));
        let answered = async {
            let answer = request.send().await?;
            let (status, is_ours) = (answer.status(), answer.headers().contains_key(ANSWER_MARK));
            Ok((status, is_ours, read(answer).await?))
        };
        match answered.await {
            Ok((status, is_ours, Some(bytes))) => judge(status, is_ours, &bytes),
            Ok((_, _, None)) => Err(CallError::TryAgain("the answer is too large".to_owned())),
            Err(why) => {
                self.give_up(generation);
                Err(no_answer(why))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with new connections, once for all calls that were on the old ones.
    fn give_up(&self, generation: u64) {
        let mut connections = self.lock();
        if connections.generation != generation {
            return;
        }
        connections.generation += 1;
        match client(self.plain_http) {
            Ok(client) => connections.client = client,
            Err(why) => tracing::warn!(
                event = "connections_not_renewed",
                why,
                "the old connections stay"
            ),
        }
    }
}

/// The body of an answer; none if it is too large.
async fn read(mut answer: Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if bytes.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

fn judge<T: DeserializeOwned>(
    status: StatusCode,
    is_ours: bool,
    bytes: &[u8],
) -> Result<T, CallError> {
    if status.is_success() {
        return serde_json::from_slice(bytes)
            .map_err(|why| CallError::TryAgain(format!("the answer is not valid: {why}")));
    }
    let text = String::from_utf8_lossy(bytes);
    let message: String = text.chars().take(MAX_REFUSAL_CHARS).collect();
    if tries_again(status) {
        return Err(CallError::TryAgain(format!("{status}: {message}")));
    }
    let status = status.as_u16();
    Err(if is_ours {
        CallError::Refused { status, message }
    } else {
        CallError::TurnedAway { status, message }
    })
}

/// A redirect is no answer of ours, and not followed: a proxy may be in the way for a while.
fn tries_again(status: StatusCode) -> bool {
    !status.is_client_error()
        || matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
        )
}

/// The URL is left out: it adds nothing to the path.
fn no_answer(why: reqwest::Error) -> CallError {
    let why = why.without_url();
    let cause = std::error::Error::source(&why).map_or(String::new(), |cause| format!(": {cause}"));
    CallError::TryAgain(format!("{why}{cause}"))
}

fn client(plain_http: bool) -> Result<Client, String> {
    let builder = http_client::builder_of_one_server(plain_http);
    http_client::build(builder.connect_timeout(CONNECT_TIMEOUT))
}
