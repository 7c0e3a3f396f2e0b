//! The product's functions under their names, and the gateway's routes to them: the local
//! equivalent of the template's functions and routes.

use std::time::Duration;

use awo_cloud::{Cloud, SetupError};
use awo_http::routes::{FALLBACK, ROUTES, Route};
use awo_http::{HttpFunction, StreamingFunction};
use awo_workers::{deliver, dispatch, sweep, task_stopped, worker};

use crate::function::{
    Abandoned, Function, Registry, event_function, http_function, streaming_http_function,
};
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

/// Makes a function of kind `F`.
type Make<F> = fn(&Cloud) -> Result<F, SetupError>;

/// The functions whose answers are whole.
const HTTP: &[(&str, Make<HttpFunction>)] = &[
    (
        "create-work-order",
        awo_work_orders::create_work_order::function,
    ),
    (
        "list-work-orders",
        awo_work_orders::list_work_orders::function,
    ),
    ("get-work-order", awo_work_orders::get_work_order::function),
    (
        "cancel-work-order",
        awo_work_orders::cancel_work_order::function,
    ),
    ("start-run", awo_work_orders::start_run::function),
    ("cancel-run", awo_runs::cancel_run::function),
    ("list-runs", awo_runs::list_runs::function),
    ("get-run", awo_runs::get_run::function),
    ("get-run-logs", awo_runs::get_run_logs::function),
    ("get-run-diff", awo_runs::get_run_diff::function),
    (
        "get-queue-position",
        awo_queue::get_queue_position::function,
    ),
    ("get-queue-health", awo_queue::get_queue_health::function),
    ("get-credits", awo_credits::get_credits::function),
    (
        "list-credit-transactions",
        awo_credits::list_credit_transactions::function,
    ),
    ("get-prices", awo_credits::get_prices::function),
    ("list-budgets", awo_budgets::list_budgets::function),
    ("create-budget", awo_budgets::create_budget::function),
    ("get-budget", awo_budgets::get_budget::function),
    ("update-budget", awo_budgets::update_budget::function),
    ("delete-budget", awo_budgets::delete_budget::function),
    ("list-statements", awo_credits::list_statements::function),
    ("get-statement", awo_credits::get_statement::function),
    ("get-usage-report", awo_usage::get_usage_report::function),
    ("get-usage-summary", awo_usage::get_usage_summary::function),
    (
        "list-environments",
        awo_environments::list_environments::function,
    ),
    (
        "create-environment",
        awo_environments::create_environment::function,
    ),
    (
        "get-environment",
        awo_environments::get_environment::function,
    ),
    (
        "update-environment",
        awo_environments::update_environment::function,
    ),
    (
        "delete-environment",
        awo_environments::delete_environment::function,
    ),
    ("list-templates", awo_templates::list_templates::function),
    ("create-template", awo_templates::create_template::function),
    ("get-template", awo_templates::get_template::function),
    ("update-template", awo_templates::update_template::function),
    ("delete-template", awo_templates::delete_template::function),
    ("list-webhooks", awo_webhooks_api::list_webhooks::function),
    ("create-webhook", awo_webhooks_api::create_webhook::function),
    ("get-webhook", awo_webhooks_api::get_webhook::function),
    ("update-webhook", awo_webhooks_api::update_webhook::function),
    ("delete-webhook", awo_webhooks_api::delete_webhook::function),
    (
        "rotate-webhook-secret",
        awo_webhooks_api::rotate_webhook_secret::function,
    ),
    (
        "list-deliveries",
        awo_webhooks_api::list_deliveries::function,
    ),
    ("redeliver", awo_webhooks_api::redeliver::function),
    ("get-openapi", awo_openapi::get_openapi::function),
    ("get-docs", awo_openapi::get_docs::function),
    ("get-console", awo_console::get_console::function),
    ("list-plugins", awo_verification::list_plugins::function),
    (
        "register-plugin",
        awo_verification::register_plugin::function,
    ),
    ("get-plugin", awo_verification::get_plugin::function),
    ("delete-plugin", awo_verification::delete_plugin::function),
    ("enable-plugin", awo_verification::enable_plugin::function),
    ("disable-plugin", awo_verification::disable_plugin::function),
    ("list-profiles", awo_profiles::list_profiles::function),
    ("create-profile", awo_profiles::create_profile::function),
    ("get-profile", awo_profiles::get_profile::function),
    ("update-profile", awo_profiles::update_profile::function),
    ("delete-profile", awo_profiles::delete_profile::function),
    ("validate-profile", awo_profiles::validate_profile::function),
    (
        "get-work-order-audit",
        awo_audit::get_work_order_audit::function,
    ),
    ("get-run-audit", awo_audit::get_run_audit::function),
    (
        "list-config-changes",
        awo_audit::list_config_changes::function,
    ),
    (
        "list-config-snapshots",
        awo_audit::list_config_snapshots::function,
    ),
    (
        "get-run-audit-summary",
        awo_audit::get_run_audit_summary::function,
    ),
    ("control", awo_control::function),
    (FALLBACK, awo_fallback::function),
];

/// Those whose answers may come in pieces.
const STREAMING: &[(&str, Make<StreamingFunction>)] = &[
    ("list-run-events", awo_runs::list_run_events::function),
    ("export-focus", awo_usage::export_focus::function),
    ("test-webhook", awo_webhooks_api::test_webhook::function),
    (
        "kill-work-order",
        awo_work_orders::kill_work_order::function,
    ),
    (
        "run-verification",
        awo_verification::run_verification::function,
    ),
    (
        "purge-work-orders",
        awo_work_orders::purge_work_orders::function,
    ),
];

/// Those that nobody calls over HTTP.
const WORKERS: &[(&str, Make<Function>)] = &[
    ("dispatch-runs", |cloud| {
        let worker = worker(cloud, dispatch::state, dispatch::handle)?;
        Ok(event_function(worker))
    }),
    ("task-stopped", |cloud| {
        let worker = worker(cloud, task_stopped::state, task_stopped::handle)?;
        Ok(event_function(worker))
    }),
    ("sweep", |cloud| {
        Ok(event_function(worker(cloud, sweep::state, sweep::handle)?))
    }),
    ("deliver-webhooks", |cloud| {
        let worker = worker(cloud, deliver::state, deliver::handle)?;
        Ok(event_function(worker))
    }),
];

#[derive(Debug, Clone, Copy)]
enum Kind {
    Http(Make<HttpFunction>),
    Streaming(Make<StreamingFunction>),
    Worker(Make<Function>),
}

/// The function whose answer is of use only while somebody reads it. On Lambda it does not learn
/// that its client is gone; here it does, and its permit comes back at once.
const READ_LIVE: &str = "list-run-events";

/// A function of the product, not made yet.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Its name, and that of its program.
    pub name: &'static str,
    kind: Kind,
}

impl Program {
    /// Makes it of what this cloud's environment says, as its program does when it starts.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn register(&self, registry: &Registry, cloud: &Cloud) -> Result<(), SetupError> {
        match self.kind {
            Kind::Http(make) => {
                registry.register(self.name, http_function(make(cloud)?), HTTP_TIMEOUT);
            }
            Kind::Streaming(make) => {
                let function = streaming_http_function(make(cloud)?);
                let abandoned = if self.name == READ_LIVE {
                    Abandoned::Ends
                } else {
                    Abandoned::RunsOn
                };
                registry.register_streaming(self.name, function, abandoned, STREAM_TIMEOUT);
            }
            Kind::Worker(make) => registry.register(self.name, make(cloud)?, WORKER_TIMEOUT),
        }
        Ok(())
    }
}

/// Every function.
pub fn programs() -> impl Iterator<Item = Program> {
    let of = |name, kind| Program { name, kind };
    let http = HTTP.iter().map(move |(n, make)| of(n, Kind::Http(*make)));
    let streaming = (STREAMING.iter()).map(move |(n, make)| of(n, Kind::Streaming(*make)));
    let workers = (WORKERS.iter()).map(move |(n, make)| of(n, Kind::Worker(*make)));
    http.chain(streaming).chain(workers)
}

/// Every function under its name.
///
/// # Errors
/// When a setting is missing.
pub fn register(registry: &Registry, cloud: &Cloud) -> Result<(), SetupError> {
    programs().try_for_each(|program| program.register(registry, &cloud.of_function(program.name)))
}
