//! The route table: the one place that says which operations there are. The local gateway
//! serves it; the deployment's template is tested against it.

use awo_domain::api_key::Scope;

/// How an answer is dressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `{success, data, requestId}`.
    Envelope,
    /// The resource itself.
    Plain,
}

impl Style {
    /// The style of errors on paths that no route has.
    #[must_use]
    pub fn of_path(path: &str) -> Style {
        if path == "/api" || path.starts_with("/api/") {
            Style::Envelope
        } else {
            Style::Plain
        }
    }
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// An API key with this scope.
    Key(Scope),
    /// The runner of a run, by its nonce or its token.
    Runner,
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{name}` for parameters.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// How it answers.
    pub style: Style,
    /// The Lambda function that serves it; also its program's name.
    pub function: &'static str,
    /// True if its answers may come in pieces, and late.
    pub streams: bool,
}

const fn keyed(
    method: &'static str,
    path: &'static str,
    scope: Scope,
    style: Style,
    function: &'static str,
) -> Route {
    Route {
        method,
        path,
        access: Access::Key(scope),
        style,
        function,
        streams: false,
    }
}

const fn streaming(route: Route) -> Route {
    Route {
        streams: true,
        ..route
    }
}

const fn control(path: &'static str) -> Route {
    Route {
        method: "POST",
        path,
        access: Access::Runner,
        style: Style::Plain,
        function: "control",
        streams: false,
    }
}

/// `POST /v1/work-orders`
pub const CREATE_WORK_ORDER: Route = keyed(
    "POST",
    "/v1/work-orders",
    Scope::WorkOrdersWrite,
    Style::Plain,
    "create-work-order",
);
/// `GET /v1/work-orders`
pub const LIST_WORK_ORDERS: Route = keyed(
    "GET",
    "/v1/work-orders",
    Scope::WorkOrdersRead,
    Style::Plain,
    "list-work-orders",
);
/// `GET /v1/work-orders/{id}`
pub const GET_WORK_ORDER: Route = keyed(
    "GET",
    "/v1/work-orders/{id}",
    Scope::WorkOrdersRead,
    Style::Plain,
    "get-work-order",
);
/// `DELETE /api/v1/work-orders/{id}`
pub const CANCEL_WORK_ORDER: Route = keyed(
    "DELETE",
    "/api/v1/work-orders/{id}",
    Scope::WorkOrdersWrite,
    Style::Envelope,
    "cancel-work-order",
);
/// `POST /api/v1/work-orders/{id}/kill`
pub const KILL_WORK_ORDER: Route = streaming(keyed(
    "POST",
    "/api/v1/work-orders/{id}/kill",
    Scope::RunsWrite,
    Style::Envelope,
    "kill-work-order",
));
/// `POST /api/v1/work-orders/{id}/runs`
pub const START_RUN: Route = keyed(
    "POST",
    "/api/v1/work-orders/{id}/runs",
    Scope::RunsWrite,
    Style::Envelope,
    "start-run",
);
/// `GET /v1/runs`
pub const LIST_RUNS: Route = keyed(
    "GET",
    "/v1/runs",
    Scope::RunsRead,
    Style::Plain,
    "list-runs",
);
/// `GET /v1/runs/{id}`
pub const GET_RUN: Route = keyed(
    "GET",
    "/v1/runs/{id}",
    Scope::RunsRead,
    Style::Plain,
    "get-run",
);
/// `POST /v1/runs/{id}/cancel`
pub const CANCEL_RUN: Route = keyed(
    "POST",
    "/v1/runs/{id}/cancel",
    Scope::RunsWrite,
    Style::Plain,
    "cancel-run",
);
/// `GET /v1/runs/{id}/events`
pub const LIST_RUN_EVENTS: Route = streaming(keyed(
    "GET",
    "/v1/runs/{id}/events",
    Scope::RunsRead,
    Style::Plain,
    "list-run-events",
));
/// `GET /v1/runs/{id}/logs`
pub const GET_RUN_LOGS: Route = keyed(
    "GET",
    "/v1/runs/{id}/logs",
    Scope::RunsRead,
    Style::Plain,
    "get-run-logs",
);
/// `GET /api/v1/queue/position/{workOrderId}`
pub const GET_QUEUE_POSITION: Route = keyed(
    "GET",
    "/api/v1/queue/position/{workOrderId}",
    Scope::WorkOrdersRead,
    Style::Envelope,
    "get-queue-position",
);
/// `GET /api/v1/queue/health`
pub const GET_QUEUE_HEALTH: Route = keyed(
    "GET",
    "/api/v1/queue/health",
    Scope::WorkOrdersRead,
    Style::Envelope,
    "get-queue-health",
);
/// `GET /v1/credits`
pub const GET_CREDITS: Route = keyed(
    "GET",
    "/v1/credits",
    Scope::CreditsRead,
    Style::Plain,
    "get-credits",
);
/// `GET /v1/credits/usage`
pub const LIST_CREDIT_TRANSACTIONS: Route = keyed(
    "GET",
    "/v1/credits/usage",
    Scope::CreditsRead,
    Style::Plain,
    "list-credit-transactions",
);
/// `GET /api/v1/usage/summary`
pub const GET_USAGE_SUMMARY: Route = keyed(
    "GET",
    "/api/v1/usage/summary",
    Scope::CreditsRead,
    Style::Envelope,
    "get-usage-summary",
);
/// `GET /v1/templates`
pub const LIST_TEMPLATES: Route = keyed(
    "GET",
    "/v1/templates",
    Scope::TemplatesRead,
    Style::Plain,
    "list-templates",
);
/// `POST /v1/templates`
pub const CREATE_TEMPLATE: Route = keyed(
    "POST",
    "/v1/templates",
    Scope::TemplatesWrite,
    Style::Plain,
    "create-template",
);
/// `GET /v1/templates/{id}`
pub const GET_TEMPLATE: Route = keyed(
    "GET",
    "/v1/templates/{id}",
    Scope::TemplatesRead,
    Style::Plain,
    "get-template",
);
/// `PUT /v1/templates/{id}`
pub const UPDATE_TEMPLATE: Route = keyed(
    "PUT",
    "/v1/templates/{id}",
    Scope::TemplatesWrite,
    Style::Plain,
    "update-template",
);
/// `DELETE /v1/templates/{id}`
pub const DELETE_TEMPLATE: Route = keyed(
    "DELETE",
    "/v1/templates/{id}",
    Scope::TemplatesWrite,
    Style::Plain,
    "delete-template",
);
/// `POST /control/claim`
pub const CLAIM: Route = control("/control/claim");
/// `POST /control/{orgId}/runs/{runId}/report`
pub const REPORT: Route = control("/control/{orgId}/runs/{runId}/report");
/// `POST /control/{orgId}/runs/{runId}/finish`
pub const FINISH: Route = control("/control/{orgId}/runs/{runId}/finish");
/// `POST /control/{orgId}/runs/{runId}/logs`
pub const KEEP_LOG: Route = control("/control/{orgId}/runs/{runId}/logs");

/// Every route.
pub const ROUTES: &[Route] = &[
    CREATE_WORK_ORDER,
    LIST_WORK_ORDERS,
    GET_WORK_ORDER,
    CANCEL_WORK_ORDER,
    KILL_WORK_ORDER,
    START_RUN,
    LIST_RUNS,
    GET_RUN,
    CANCEL_RUN,
    LIST_RUN_EVENTS,
    GET_RUN_LOGS,
    GET_QUEUE_POSITION,
    GET_QUEUE_HEALTH,
    GET_CREDITS,
    LIST_CREDIT_TRANSACTIONS,
    GET_USAGE_SUMMARY,
    LIST_TEMPLATES,
    CREATE_TEMPLATE,
    GET_TEMPLATE,
    UPDATE_TEMPLATE,
    DELETE_TEMPLATE,
    CLAIM,
    REPORT,
    FINISH,
    KEEP_LOG,
];

/// The function that answers what no route does: 404 and 405.
pub const FALLBACK: &str = "fallback";

impl Route {
    /// True if a concrete path is this route's.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let (mut wanted, mut given) = (self.path.split('/'), path.split('/'));
        loop {
            match (wanted.next(), given.next()) {
                (None, None) => return true,
                (Some(name), Some(part)) if name.starts_with('{') => {
                    if part.is_empty() {
                        return false;
                    }
                }
                (Some(name), Some(part)) if name == part => {}
                _ => return false,
            }
        }
    }
}

/// The methods that a path has, in the table's order.
#[must_use]
pub fn methods_of(path: &str) -> Vec<&'static str> {
    ROUTES
        .iter()
        .filter(|route| route.matches(path))
        .map(|route| route.method)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_of_a_route_follows_its_prefix() {
        for route in ROUTES {
            assert_eq!(route.style, Style::of_path(route.path), "{}", route.path);
        }
    }

    #[test]
    fn a_path_is_matched_part_by_part() {
        assert_eq!(methods_of("/v1/work-orders"), ["POST", "GET"]);
        assert_eq!(methods_of("/v1/work-orders/wo_x"), ["GET"]);
        assert!(methods_of("/v1/work-orders/").is_empty());
        assert!(methods_of("/v1/work-orders/wo_x/more").is_empty());
    }

    #[test]
    fn no_two_routes_are_the_same() {
        for (i, a) in ROUTES.iter().enumerate() {
            assert!(
                !ROUTES[i + 1..]
                    .iter()
                    .any(|b| (a.method, a.path) == (b.method, b.path)),
                "{}",
                a.path
            );
        }
    }
}
