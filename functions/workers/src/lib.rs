//! The functions that nobody calls over HTTP: dispatch (run queue), task-stopped (task events),
//! sweep (schedule).

pub mod dispatch;
pub mod sweep;
pub mod task_stopped;

use awo_cloud::{Cloud, SetupError};

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
    E: for<'de> serde::Deserialize<'de>,
    R: serde::Serialize,
    F: Fn(std::sync::Arc<S>, E) -> Fut + Copy,
    Fut: Future<Output = Result<R, lambda_runtime::Error>>,
{
    awo_cloud::telemetry::start();
    let cloud = Cloud::from_process().await;
    let state = std::sync::Arc::new(make(&cloud)?);
    lambda_runtime::run(lambda_runtime::service_fn(
        |event: lambda_runtime::LambdaEvent<E>| {
            handle(std::sync::Arc::clone(&state), event.payload)
        },
    ))
    .await
}
