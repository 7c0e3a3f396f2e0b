//! The product's functions under their names, as their groups declare them, and the gateway's routes
//! to them: the local equivalent of the template's functions and routes.

use std::time::Duration;

use awo_cloud::{Cloud, SetupError};
use awo_http::program::{ApiProgram, Make};
use awo_http::routes::{FALLBACK, ROUTES, Route};
use awo_workers::{PROGRAMS as WORKERS, Worker};

use crate::function::{
    DisconnectPolicy, Registry, event_function, http_function, streaming_http_function,
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

/// The functions of the API, by the folder of their group.
pub const GROUPS: &[(&str, &[ApiProgram])] = &[
    ("audit", awo_audit::PROGRAMS),
    ("budgets", awo_budgets::PROGRAMS),
    ("console", awo_console::PROGRAMS),
    ("control", awo_control::PROGRAMS),
    ("credits", awo_credits::PROGRAMS),
    ("environments", awo_environments::PROGRAMS),
    ("fallback", awo_fallback::PROGRAMS),
    ("mcp", awo_mcp_api::PROGRAMS),
    ("openapi", awo_openapi::PROGRAMS),
    ("profiles", awo_profiles::PROGRAMS),
    ("queue", awo_queue::PROGRAMS),
    ("runs", awo_runs::PROGRAMS),
    ("schedules", awo_schedules_api::PROGRAMS),
    ("inboxes", awo_inboxes_api::PROGRAMS),
    ("triggers", awo_triggers_api::PROGRAMS),
    ("templates", awo_templates::PROGRAMS),
    ("usage", awo_usage::PROGRAMS),
    ("verification", awo_verification::PROGRAMS),
    ("webhooks", awo_webhooks_api::PROGRAMS),
    ("work-orders", awo_work_orders::PROGRAMS),
];

#[derive(Debug, Clone, Copy)]
enum Kind {
    Api(Make),
    Worker(fn(&Cloud) -> Result<Worker, SetupError>),
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
    /// Creates it from this cloud's environment, as its program does when it starts.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn register(&self, registry: &Registry, cloud: &Cloud) -> Result<(), SetupError> {
        match self.kind {
            Kind::Api(Make::Whole(make)) => {
                registry.register(self.name, http_function(make(cloud)?), HTTP_TIMEOUT);
            }
            Kind::Api(Make::Streaming(make)) => {
                let function = streaming_http_function(make(cloud)?);
                let abandoned = if self.name == READ_LIVE {
                    DisconnectPolicy::Ends
                } else {
                    DisconnectPolicy::RunsOn
                };
                registry.register_streaming(self.name, function, abandoned, STREAM_TIMEOUT);
            }
            Kind::Worker(make) => {
                registry.register(self.name, event_function(make(cloud)?), WORKER_TIMEOUT);
            }
        }
        Ok(())
    }
}

/// Every function.
pub fn programs() -> impl Iterator<Item = Program> {
    let of = |name, kind| Program { name, kind };
    let api = GROUPS.iter().flat_map(|(_, programs)| *programs);
    let api = api.map(move |program| of(program.name, Kind::Api(program.make)));
    let workers = WORKERS
        .iter()
        .map(move |program| of(program.name, Kind::Worker(program.make)));
    api.chain(workers)
}

/// Every function under its name.
///
/// # Errors
/// When a setting is missing.
pub fn register(registry: &Registry, cloud: &Cloud) -> Result<(), SetupError> {
    programs().try_for_each(|program| program.register(registry, &cloud.of_function(program.name)))
}
