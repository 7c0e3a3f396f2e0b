//! The functions that are not called over HTTP: dispatch-runs (run queue), deliver-webhooks
//! (deliveries queue), task-stopped (task events), sweep (schedule).

pub mod deliver_webhooks;
pub mod dispatch_runs;
pub mod sweep;
pub mod task_stopped;

use std::pin::Pin;
use std::sync::Arc;

use awo_cloud::notifications::Notifier;
use awo_cloud::{Cloud, SetupError};
use lambda_runtime::LambdaEvent;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// The workers; the local service, the Lambda programs (`make template`) and the tests take them
/// from here.
pub const PROGRAMS: &[WorkerProgram] = &[
    WorkerProgram {
        name: "deliver-webhooks",
        make: deliver_webhooks::function,
    },
    WorkerProgram {
        name: "dispatch-runs",
        make: dispatch_runs::function,
    },
    WorkerProgram {
        name: "sweep",
        make: sweep::function,
    },
    WorkerProgram {
        name: "task-stopped",
        make: task_stopped::function,
    },
];

/// A worker, not made yet.
#[derive(Debug, Clone, Copy)]
pub struct WorkerProgram {
    /// Its name, and that of its Lambda program.
    pub name: &'static str,
    /// How it is made of the cloud's settings.
    pub make: fn(&Cloud) -> Result<Worker, SetupError>,
}

/// A worker as the Lambda runtime calls it, with the JSON of an event.
pub type Worker = Box<dyn Fn(LambdaEvent<Box<RawValue>>) -> Answering + Send + Sync>;

type Answering = Pin<Box<dyn Future<Output = Result<Value, lambda_runtime::Error>> + Send>>;

/// The worker of a handler: it handles an event, and then sends the notifications that the handler
/// recorded.
fn worker<S, E, R, F, Fut>(cloud: &Cloud, state: S, handle: F) -> Worker
where
    S: Send + Sync + 'static,
    E: DeserializeOwned + Send + 'static,
    R: Serialize + Send + 'static,
    F: Fn(Arc<S>, E) -> Fut + Send + Sync + Copy + 'static,
    Fut: Future<Output = Result<R, lambda_runtime::Error>> + Send + 'static,
{
    let (state, notifier) = (Arc::new(state), Notifier::new(cloud));
    Box::new(move |event: LambdaEvent<Box<RawValue>>| -> Answering {
        let (state, notifier) = (Arc::clone(&state), notifier.clone());
        Box::pin(async move {
            let event = serde_json::from_str(event.payload.get())?;
            let answer = handle(state, event).await;
            notifier.notify().await;
            Ok(serde_json::to_value(answer?)?)
        })
    })
}

/// Runs a worker on Lambda until Lambda ends it.
///
/// # Errors
/// When a setting is missing, or the runtime fails.
pub async fn serve(
    make: fn(&Cloud) -> Result<Worker, SetupError>,
) -> Result<(), lambda_runtime::Error> {
    awo_cloud::telemetry::start();
    let cloud = Cloud::from_process();
    lambda_runtime::run(lambda_runtime::service_fn(make(&cloud)?)).await
}
