//! A forge's REST API for one token, with prescribed responses for the next calls, which take
//! precedence over its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use serde_json::Value;

use crate::serve::{Server, serve};

/// A forge's own answers, and what it has stored.
pub trait Answers: Default + Send + 'static {
    /// Headers of each of its answers.
    const HEADERS: &'static [(&'static str, &'static str)];

    /// Its answer to a call with the right token.
    fn answer(&mut self, call: &Call) -> (u16, Value);

    /// Its answer to a call with another token.
    fn unauthorized() -> (u16, Value);

    /// Its answer to a call with a credential of another kind than the double's own token.
    fn answer_other(&mut self, _bearer: &str, _call: &Call) -> (u16, Value) {
        Self::unauthorized()
    }

    /// The pull requests that there are.
    fn pulls(&self) -> Vec<Value>;
}

/// What becomes of a call instead of its own answer.
#[derive(Debug, Clone)]
pub enum Turn {
    /// This answer: status, a header, body.
    Answer(u16, Option<(&'static str, String)>, String),
    /// This status, by somebody who is no GitHub.
    Foreign(u16),
    /// It is done, and its answer is a 502.
    Lost,
    /// It is never answered.
    Hang,
}

/// A call as it came.
#[derive(Debug, Clone)]
pub struct Call {
    /// `GET` and so on.
    pub method: String,
    /// Below the API's base.
    pub path: String,
    /// As it was sent, decoded.
    pub query: Vec<(String, String)>,
    /// Null where there was none.
    pub body: Value,
    /// All headers.
    pub headers: HeaderMap,
}

#[derive(Debug, Default)]
struct StoredForge<A> {
    calls: Vec<Call>,
    turns: Vec<(&'static str, &'static str, Turn)>,
    forge: A,
}

/// An API for one token.
#[derive(Debug)]
pub struct ForgeDouble<A> {
    token: String,
    stored: Arc<Mutex<StoredForge<A>>>,
}

impl<A> Clone for ForgeDouble<A> {
    fn clone(&self) -> Self {
        ForgeDouble {
            token: self.token.clone(),
            stored: Arc::clone(&self.stored),
        }
    }
}

impl<A: Answers> ForgeDouble<A> {
    /// # Panics
    /// Never.
    #[must_use]
    pub fn new(token: &str) -> ForgeDouble<A> {
        ForgeDouble {
            token: token.to_owned(),
            stored: Arc::default(),
        }
    }

    /// Serves it by itself, in plain HTTP; its URL, without a slash at its end, for as long as the
    /// second part is kept.
    #[must_use]
    pub fn start(&self) -> (String, impl Sized + use<A>) {
        let server: Server = serve(self.router(), None);
        (format!("http://127.0.0.1:{}", server.port), server)
    }

    /// What happens to the next call of this method whose path ends so; several take turns.
    pub fn next(&self, method: &'static str, path_end: &'static str, turn: Turn) {
        self.stored().turns.push((method, path_end, turn));
    }

    /// The calls so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.stored().calls.clone()
    }

    /// The pull requests that there are.
    #[must_use]
    pub fn pulls(&self) -> Vec<Value> {
        self.stored().forge.pulls()
    }

    /// Changes what it has stored.
    pub fn change<T>(&self, change: impl FnOnce(&mut A) -> T) -> T {
        change(&mut self.stored().forge)
    }

    pub(crate) fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        Router::new().fallback(handle::<A>).with_state(self.clone())
    }

    fn stored(&self) -> MutexGuard<'_, StoredForge<A>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, call: &Call) -> (u16, Value) {
        let given = call.headers.get("authorization");
        let given = given.and_then(|value| value.to_str().ok());
        // Both schemes are taken, in any case.
        let given = given.and_then(|value| value.split_once(' '));
        let given = given.filter(|(scheme, _)| {
            ["bearer", "token"].contains(&scheme.to_ascii_lowercase().as_str())
        });
        let given = given.map(|(_, token)| token);
        match given {
            Some(given) if given == self.token => self.stored().forge.answer(call),
            Some(given) => self.stored().forge.answer_other(given, call),
            None => A::unauthorized(),
        }
    }
}

async fn handle<A: Answers>(
    State(forge): State<ForgeDouble<A>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let query = uri.query().unwrap_or_default();
    let call = Call {
        method: method.to_string(),
        path: uri.path().to_owned(),
        query: url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        headers,
    };
    let turn = {
        let stored = &mut *forge.stored();
        stored.calls.push(call.clone());
        let ours = |(method, end, _): &(&str, &str, Turn)| {
            *method == call.method && call.path.ends_with(end)
        };
        let at = stored.turns.iter().position(ours);
        at.map(|at| stored.turns.remove(at).2)
    };
    match turn {
        None => {
            let (status, body) = forge.answer(&call);
            response::<A>(status, None, body.to_string())
        }
        Some(Turn::Answer(status, header, body)) => response::<A>(status, header, body),
        Some(Turn::Foreign(status)) => {
            let response = Response::builder().status(status);
            response.body(Body::empty()).expect("a response")
        }
        Some(Turn::Lost) => {
            forge.answer(&call);
            response::<A>(502, None, "<html>Unicorn!</html>".to_owned())
        }
        Some(Turn::Hang) => std::future::pending().await,
    }
}

fn response<A: Answers>(
    status: u16,
    header: Option<(&str, String)>,
    body: String,
) -> Response<Body> {
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json; charset=utf-8");
    for (name, value) in A::HEADERS {
        response = response.header(*name, *value);
    }
    if let Some((name, value)) = header {
        response = response.header(name, value);
    }
    response.body(Body::from(body)).expect("a response")
}

impl Call {
    /// A parameter of the query.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut query = self.query.iter();
        query.find(|(n, _)| n == name).map(|(_, value)| &**value)
    }

    /// The parts of the path.
    #[must_use]
    pub fn parts(&self) -> Vec<&str> {
        self.path.trim_start_matches('/').split('/').collect()
    }
}
