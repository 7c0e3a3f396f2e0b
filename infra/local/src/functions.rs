//! The product's functions under their names, and the gateway's way to them: what the cloud's
//! template says of functions and routes.

use std::sync::Arc;
use std::time::Duration;

use awo_cloud::{Cloud, SetupError};
use awo_http::routes::{FALLBACK, ROUTES, Route};

use crate::function::{Registry, event_function, http_function, streaming_http_function};
use crate::gateway::{GatewayRoute, STREAM_TIMEOUT};

/// Time of a function behind the gateway; the gateway itself gives up after 29 s.
const HTTP_TIMEOUT: Duration = Duration::from_secs(30);
/// Time of a worker.
const WORKER_TIMEOUT: Duration = Duration::from_secs(120);

/// The gateway's resources: each route, and the fallback for every other method and path.
#[must_use]
pub fn routes() -> Vec<GatewayRoute> {
    let route = |method: &str, path: &str, function: &str| GatewayRoute {
        method: method.to_owned(),
        path: path.to_owned(),
        function: function.to_owned(),
    };
    let mut paths: Vec<&str> = ROUTES.iter().map(|r| r.path).collect();
    paths.sort_unstable();
    paths.dedup();
    let served = |r: &Route| {
        let methods = r.methods().iter();
        methods
            .map(|method| route(method, r.path, r.function))
            .collect::<Vec<_>>()
    };
    let known = ROUTES.iter().flat_map(served);
    let other_methods = paths.into_iter().map(|path| route("ANY", path, FALLBACK));
    let other_paths = ["/", "/{proxy+}"].map(|path| route("ANY", path, FALLBACK));
    known.chain(other_methods).chain(other_paths).collect()
}

/// Every function under its name.
///
/// # Errors
/// When a setting is missing.
pub fn register(registry: &Registry, cloud: &Cloud) -> Result<(), SetupError> {
    let http = [
        (
            "create-work-order",
            awo_work_orders::create_work_order::function(cloud)?,
        ),
        (
            "list-work-orders",
            awo_work_orders::list_work_orders::function(cloud)?,
        ),
        (
            "get-work-order",
            awo_work_orders::get_work_order::function(cloud)?,
        ),
        (
            "cancel-work-order",
            awo_work_orders::cancel_work_order::function(cloud)?,
        ),
        ("start-run", awo_work_orders::start_run::function(cloud)?),
        ("cancel-run", awo_runs::cancel_run::function(cloud)?),
        ("list-runs", awo_runs::list_runs::function(cloud)?),
        ("get-run", awo_runs::get_run::function(cloud)?),
        ("get-run-logs", awo_runs::get_run_logs::function(cloud)?),
        (
            "get-queue-position",
            awo_queue::get_queue_position::function(cloud)?,
        ),
        (
            "get-queue-health",
            awo_queue::get_queue_health::function(cloud)?,
        ),
        ("get-credits", awo_credits::get_credits::function(cloud)?),
        (
            "list-credit-transactions",
            awo_credits::list_credit_transactions::function(cloud)?,
        ),
        (
            "get-usage-summary",
            awo_usage::get_usage_summary::function(cloud)?,
        ),
        (
            "list-templates",
            awo_templates::list_templates::function(cloud)?,
        ),
        (
            "create-template",
            awo_templates::create_template::function(cloud)?,
        ),
        (
            "get-template",
            awo_templates::get_template::function(cloud)?,
        ),
        (
            "update-template",
            awo_templates::update_template::function(cloud)?,
        ),
        (
            "delete-template",
            awo_templates::delete_template::function(cloud)?,
        ),
        ("get-openapi", awo_openapi::get_openapi::function(cloud)?),
        (
            "list-plugins",
            awo_verification::list_plugins::function(cloud)?,
        ),
        (
            "register-plugin",
            awo_verification::register_plugin::function(cloud)?,
        ),
        ("get-plugin", awo_verification::get_plugin::function(cloud)?),
        (
            "delete-plugin",
            awo_verification::delete_plugin::function(cloud)?,
        ),
        (
            "enable-plugin",
            awo_verification::enable_plugin::function(cloud)?,
        ),
        (
            "disable-plugin",
            awo_verification::disable_plugin::function(cloud)?,
        ),
        ("control", awo_control::function(cloud)?),
        (FALLBACK, awo_fallback::function(cloud)?),
    ];
    for (name, function) in http {
        registry.register(name, http_function(function), HTTP_TIMEOUT);
    }
    let streaming = [
        (
            "list-run-events",
            awo_runs::list_run_events::function(cloud)?,
        ),
        (
            "kill-work-order",
            awo_work_orders::kill_work_order::function(cloud)?,
        ),
        (
            "run-verification",
            awo_verification::run_verification::function(cloud)?,
        ),
    ];
    for (name, function) in streaming {
        registry.register_streaming(name, streaming_http_function(function), STREAM_TIMEOUT);
    }
    let dispatch = Arc::new(awo_workers::dispatch::state(cloud)?);
    let dispatch = event_function(move |event: lambda_runtime::LambdaEvent<_>| {
        awo_workers::dispatch::handle(Arc::clone(&dispatch), event.payload)
    });
    registry.register("dispatch-runs", dispatch, WORKER_TIMEOUT);
    let task_stopped = Arc::new(awo_workers::task_stopped::state(cloud)?);
    let task_stopped = event_function(move |event: lambda_runtime::LambdaEvent<_>| {
        awo_workers::task_stopped::handle(Arc::clone(&task_stopped), event.payload)
    });
    registry.register("task-stopped", task_stopped, WORKER_TIMEOUT);
    let sweep = Arc::new(awo_workers::sweep::state(cloud)?);
    let sweep = event_function(move |event: lambda_runtime::LambdaEvent<_>| {
        awo_workers::sweep::handle(Arc::clone(&sweep), event.payload)
    });
    registry.register("sweep", sweep, WORKER_TIMEOUT);
    Ok(())
}
