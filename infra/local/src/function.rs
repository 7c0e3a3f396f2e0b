//! Lambda's treatment of a handler. Invariants: an invocation outlives a caller that stopped
//! waiting, but never its own timeout, at which it is dropped at any point; when this local cloud
//! ends, streams without a client are dropped as well; a panic fails only that invocation (which
//! needs a build that unwinds).

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, StreamAdapter};
use lambda_runtime::{Context, LambdaEvent, MetadataPrelude};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tower::{Service, ServiceExt};

use crate::concurrency::Concurrency;
use crate::shutdown::Shutdown;
use crate::{arn, clock};

pub use stream::DisconnectPolicy;
use stream::pump;

mod stream;

/// Lambda's default quota of an account in one region.
pub const CONCURRENT_INVOCATIONS: u32 = 1000;

/// A handler behind its JSON: the event's text in, as Lambda passes it, the answer out.
pub type Function =
    Arc<dyn Fn(String, Context) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

/// A handler that answers in pieces.
pub type StreamingFunction =
    Arc<dyn Fn(String, Context) -> BoxFuture<'static, Result<StreamAnswer, String>> + Send + Sync>;

/// The beginning of a streamed answer and what follows it.
pub struct StreamAnswer {
    pub head: MetadataPrelude,
    /// An error cuts the answer off.
    pub chunks: BoxStream<'static, Result<Bytes, String>>,
}

/// An HTTP handler as it runs on Lambda: the same adapter turns the event into the request
/// and the response into the answer.
pub fn http_function<S>(service: S) -> Function
where
    S: Service<
            lambda_http::Request,
            Response = lambda_http::Response<lambda_http::Body>,
            Error = lambda_http::Error,
        > + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
{
    Arc::new(move |event, context| {
        let mut adapter = Adapter::from(service.clone());
        Box::pin(async move {
            let event: LambdaRequest = read(&event)?;
            let ready = adapter.ready().await.map_err(|error| error.to_string())?;
            let answer = ready
                .call(LambdaEvent::new(event, context))
                .await
                .map_err(|error| error.to_string())?;
            serde_json::to_value(answer)
                .map_err(|error| format!("the answer does not serialise: {error}"))
        })
    })
}

/// An HTTP handler whose response is streamed, for routes whose answer outlasts the
/// gateway's timeout.
pub fn streaming_http_function<S, B>(service: S) -> StreamingFunction
where
    S: Service<
            lambda_http::Request,
            Response = lambda_http::Response<B>,
            Error = lambda_http::Error,
        > + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
    B: hyper::body::Body + Unpin + Send + 'static,
    B::Data: Into<Bytes> + Send,
    B::Error: Into<lambda_http::Error> + Send + std::fmt::Debug,
{
    Arc::new(move |event, context| {
        let service = service.clone();
        Box::pin(async move {
            let event: LambdaRequest = read(&event)?;
            let service = service
                .ready_oneshot()
                .await
                .map_err(|error| error.to_string())?;
            // The adapter must not live across an await: it is `Send` only with a `Sync` body.
            let answer = {
                let mut adapter = StreamAdapter::from(service);
                adapter.call(LambdaEvent::new(event, context))
            };
            let answer = answer.await.map_err(|error| error.to_string())?;
            let chunks = answer.stream.map(|chunk| {
                chunk.map(Into::into).map_err(|error| {
                    let error: lambda_http::Error = error.into();
                    error.to_string()
                })
            });
            Ok(StreamAnswer {
                head: answer.metadata_prelude,
                chunks: chunks.boxed(),
            })
        })
    })
}

/// A typed handler: SQS, task events, schedules.
pub fn event_function<E, R, F, Fut>(handler: F) -> Function
where
    E: DeserializeOwned + Send + 'static,
    R: Serialize + Send + 'static,
    F: Fn(LambdaEvent<E>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, lambda_runtime::Error>> + Send + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |event, context| {
        let handler = Arc::clone(&handler);
        Box::pin(async move {
            let event: E = read(&event)?;
            let answer = handler(LambdaEvent::new(event, context))
                .await
                .map_err(|error| error.to_string())?;
            serde_json::to_value(answer)
                .map_err(|error| format!("the answer does not serialise: {error}"))
        })
    })
}

fn read<E: DeserializeOwned>(event: &str) -> Result<E, String> {
    serde_json::from_str(event).map_err(|error| format!("the event does not deserialise: {error}"))
}

/// Why an invocation gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum InvocationError {
    #[error("there is no function named {0}")]
    Unknown(String),
    #[error("as many invocations run already as may")]
    Throttled,
    #[error("{0}")]
    Failed(String),
    #[error("the handler panicked: {0}")]
    Panicked(String),
    #[error("the task timed out after {0:?}")]
    TimedOut(Duration),
}

pub(crate) enum Outcome {
    Whole(Value),
    Stream(StreamAnswer),
}

#[derive(Clone)]
enum Handler {
    Whole(Function),
    Stream(StreamingFunction, DisconnectPolicy),
}

#[derive(Clone)]
struct FunctionEntry {
    handler: Handler,
    timeout: Duration,
    config: Arc<lambda_runtime::Config>,
}

/// All functions by name. Clones share the same functions, so that a stand-in can hold the
/// registry before the functions that need its endpoint exist.
#[derive(Clone)]
pub struct Registry {
    functions: Arc<RwLock<HashMap<String, FunctionEntry>>>,
    places: Arc<Semaphore>,
    concurrency: Concurrency,
    draining: Shutdown,
}

/// What an invocation holds while it runs.
type InvocationPermits = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    #[must_use]
    pub fn new() -> Self {
        if cfg!(panic = "abort") {
            tracing::warn!("this build aborts on a panic: one in a handler ends the local cloud");
        }
        Self {
            functions: Arc::default(),
            places: Arc::new(Semaphore::new(CONCURRENT_INVOCATIONS as usize)),
            concurrency: Concurrency::default(),
            draining: Shutdown::new(),
        }
    }

    /// From now on all functions together have so many executions at once, of which these are reserved, as an
    /// account has them.
    pub fn limit_concurrency(&self, all: usize, reserved: &[(&str, usize)]) {
        self.concurrency.limit(all, reserved);
    }

    /// Makes a function callable by name; one of the same name is replaced.
    pub fn register(&self, name: &str, function: Function, timeout: Duration) {
        self.insert(name, Handler::Whole(function), timeout);
    }

    /// As [`Self::register`], for an answer in pieces; `timeout` covers the whole of it.
    pub fn register_streaming(
        &self,
        name: &str,
        function: StreamingFunction,
        abandoned: DisconnectPolicy,
        timeout: Duration,
    ) {
        self.insert(name, Handler::Stream(function, abandoned), timeout);
    }

    fn insert(&self, name: &str, handler: Handler, timeout: Duration) {
        let mut config = lambda_runtime::Config::default();
        name.clone_into(&mut config.function_name);
        "$LATEST".clone_into(&mut config.version);
        let registered = FunctionEntry {
            handler,
            timeout,
            config: Arc::new(config),
        };
        self.functions
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), registered);
    }

    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.functions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(name)
    }

    /// Runs a function to its answer. When the caller stops waiting, it runs on.
    ///
    /// # Errors
    /// [`InvocationError`]; a function that streams cannot be invoked with an event.
    pub async fn invoke(&self, name: &str, event: &Value) -> Result<Value, InvocationError> {
        match self.call(name, event.to_string()).await? {
            Outcome::Whole(answer) => Ok(answer),
            Outcome::Stream(_) => Err(InvocationError::Failed(format!(
                "{name} answers in a stream"
            ))),
        }
    }

    pub(crate) async fn call(&self, name: &str, event: String) -> Result<Outcome, InvocationError> {
        let registered = self
            .functions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
            .ok_or_else(|| InvocationError::Unknown(name.to_owned()))?;
        let place = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| InvocationError::Throttled)?;
        let execution = self.concurrency.take(name);
        let place = (place, execution.map_err(|_| InvocationError::Throttled)?);
        let timeout = registered.timeout;
        let draining = self.draining.clone();
        let running = tokio::spawn(run(name.to_owned(), registered, event, place, draining));
        match running.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => Err(InvocationError::Panicked(panic_text(
                error.into_panic().as_ref(),
            ))),
            // Only the end of the runtime cancels the task.
            Err(_) => Err(InvocationError::TimedOut(timeout)),
        }
    }

    /// Resolves when no invocation runs any more, or after `limit`; true in the first case. Streams whose
    /// clients are gone are not waited for: they end here.
    pub async fn drained(&self, limit: Duration) -> bool {
        self.draining.begin();
        let all = self.places.acquire_many(CONCURRENT_INVOCATIONS);
        matches!(tokio::time::timeout(limit, all).await, Ok(Ok(_)))
    }
}

async fn run(
    name: String,
    registered: FunctionEntry,
    event: String,
    place: InvocationPermits,
    draining: Shutdown,
) -> Result<Outcome, InvocationError> {
    let FunctionEntry {
        handler,
        timeout,
        config,
    } = registered;
    let deadline = Instant::now() + timeout;
    let context = context(&name, timeout, config);
    let timed_out = |_| InvocationError::TimedOut(timeout);
    match handler {
        Handler::Whole(function) => {
            let answer = tokio::time::timeout_at(deadline, function(event, context))
                .await
                .map_err(timed_out)?;
            drop(place);
            answer.map(Outcome::Whole).map_err(InvocationError::Failed)
        }
        Handler::Stream(function, abandoned) => {
            let answer = tokio::time::timeout_at(deadline, function(event, context))
                .await
                .map_err(timed_out)?
                .map_err(InvocationError::Failed)?;
            let until = match abandoned {
                DisconnectPolicy::RunsOn => Some(draining),
                DisconnectPolicy::Ends => None,
            };
            let chunks = pump(answer.chunks, deadline, place, until);
            Ok(Outcome::Stream(StreamAnswer {
                head: answer.head,
                chunks,
            }))
        }
    }
}

fn context(name: &str, timeout: Duration, config: Arc<lambda_runtime::Config>) -> Context {
    let mut context = Context::default();
    context.request_id = uuid::Uuid::new_v4().to_string();
    let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    context.deadline = clock::epoch_millis().saturating_add(timeout);
    context.invoked_function_arn = arn::function(name);
    context.env_config = config;
    context
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".to_owned())
}
