//! The functions that are not called over HTTP: dispatch (run queue), deliver (deliveries queue),
//! task-stopped (task events), sweep (schedule).

pub mod deliver;
pub mod dispatch;
pub mod sweep;
pub mod task_stopped;

use std::pin::Pin;
use std::sync::Arc;

use awo_cloud::notifications::Notifier;
use awo_cloud::{Cloud, SetupError};
use lambda_runtime::LambdaEvent;

type Answering<R> = Pin<Box<dyn Future<Output = Result<R, lambda_runtime::Error>> + Send>>;

/// A worker as the Lambda runtime calls it: its handler, and then what that has left for others to
/// do is sent.
///
/// # Errors
/// When a setting is missing.
pub fn worker<M, S, E, R, F, Fut>(
    cloud: &Cloud,
    make: M,
    handle: F,
) -> Result<
    impl Fn(LambdaEvent<E>) -> Answering<R> + Send + Sync + 'static + use<M, S, E, R, F, Fut>,
    SetupError,
>
where
    M: FnOnce(&Cloud) -> Result<S, SetupError>,
    S: Send + Sync + 'static,
    R: Send + 'static,
    F: Fn(Arc<S>, E) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, lambda_runtime::Error>> + Send + 'static,
{
    let (state, notifier) = (Arc::new(make(cloud)?), Notifier::new(cloud));
    Ok(move |event: LambdaEvent<E>| -> Answering<R> {
        let (answer, notifier) = (handle(Arc::clone(&state), event.payload), notifier.clone());
        Box::pin(async move {
            let answer = answer.await;
            notifier.notify().await;
            answer
        })
    })
}

/// Starts a worker on Lambda: its state from the environment, then event after event.
///
/// # Errors
/// When a setting is missing, or the runtime fails.
pub async fn serve<S, E, R, F, Fut>(
    make: impl FnOnce(&Cloud) -> Result<S, SetupError>,
    handle: F,
) -> Result<(), lambda_runtime::Error>
where
    S: Send + Sync + 'static,
    E: for<'de> serde::Deserialize<'de> + Send + 'static,
    R: serde::Serialize + Send + 'static,
    F: Fn(Arc<S>, E) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, lambda_runtime::Error>> + Send + 'static,
{
    awo_cloud::telemetry::start();
    let cloud = Cloud::from_process();
    let worker = worker(&cloud, make, handle)?;
    lambda_runtime::run(lambda_runtime::service_fn(worker)).await
}
