//! The route table: the only definition of the operations. The local gateway serves it; `make
//! template` writes the functions of the deployment's template from it.

use awo_domain::api_key::Scope;

pub use audit::*;
pub use budgets::*;
pub use console::*;
pub use control::*;
pub use credits::*;
pub use environments::*;
pub use openapi::*;
pub use profiles::*;
pub use queue::*;
pub use runs::*;
pub use templates::*;
pub use verification::*;
pub use webhooks::*;
pub use work_orders::*;

mod audit;
mod budgets;
mod console;
mod control;
mod credits;
mod environments;
mod openapi;
mod profiles;
mod queue;
mod runs;
mod templates;
mod verification;
mod webhooks;
mod work_orders;

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
    /// Everybody.
    Anybody,
    /// An API key with this scope.
    Key(Scope),
    /// The runner of a run, by its nonce or its token.
    Runner,
    /// Everybody: it is a file of a page, and no operation of the API.
    Page,
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The operation's name. Most are served by a function of the same name.
    pub name: &'static str,
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
    /// Where what it creates is found, if it creates something.
    pub created: Option<Created>,
}

/// Where a created resource is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Created {
    /// The path before its id.
    pub collection: &'static str,
    /// A JSON pointer to its id in the answer's data.
    pub id: &'static str,
}

const fn keyed(
    method: &'static str,
    path: &'static str,
    scope: Scope,
    style: Style,
    function: &'static str,
) -> Route {
    Route {
        name: function,
        method,
        path,
        access: Access::Key(scope),
        style,
        function,
        streams: false,
        created: None,
    }
}

const fn streaming(route: Route) -> Route {
    Route {
        streams: true,
        ..route
    }
}

/// A route whose 201 says in `Location` where the new resource is.
const fn creating(route: Route, collection: &'static str, id: &'static str) -> Route {
    Route {
        created: Some(Created { collection, id }),
        ..route
    }
}

const fn open(path: &'static str, function: &'static str) -> Route {
    Route {
        name: function,
        method: "GET",
        path,
        access: Access::Anybody,
        style: Style::Plain,
        function,
        streams: false,
        created: None,
    }
}

/// A page.
const fn page(path: &'static str, function: &'static str) -> Route {
    Route {
        access: Access::Page,
        ..open(path, function)
    }
}

/// A file that a page loads.
const fn page_file(name: &'static str, path: &'static str, function: &'static str) -> Route {
    Route {
        name,
        ..page(path, function)
    }
}

const fn control(name: &'static str, path: &'static str) -> Route {
    Route {
        name,
        method: "POST",
        path,
        access: Access::Runner,
        style: Style::Plain,
        function: "control",
        streams: false,
        created: None,
    }
}

/// Every route.
pub const ROUTES: &[Route] = &[
    CREATE_WORK_ORDER,
    LIST_WORK_ORDERS,
    GET_WORK_ORDER,
    CANCEL_WORK_ORDER,
    KILL_WORK_ORDER,
    PURGE_WORK_ORDERS,
    START_RUN,
    LIST_RUNS,
    GET_RUN,
    CANCEL_RUN,
    LIST_RUN_EVENTS,
    GET_RUN_LOGS,
    GET_RUN_DIFF,
    GET_QUEUE_POSITION,
    GET_QUEUE_HEALTH,
    GET_CREDITS,
    LIST_CREDIT_TRANSACTIONS,
    GET_PRICES,
    LIST_STATEMENTS,
    GET_STATEMENT,
    LIST_BUDGETS,
    CREATE_BUDGET,
    GET_BUDGET,
    UPDATE_BUDGET,
    DELETE_BUDGET,
    GET_USAGE_REPORT,
    EXPORT_FOCUS,
    GET_USAGE_SUMMARY,
    LIST_TEMPLATES,
    CREATE_TEMPLATE,
    GET_TEMPLATE,
    UPDATE_TEMPLATE,
    DELETE_TEMPLATE,
    LIST_ENVIRONMENTS,
    CREATE_ENVIRONMENT,
    GET_ENVIRONMENT,
    UPDATE_ENVIRONMENT,
    DELETE_ENVIRONMENT,
    LIST_WEBHOOKS,
    CREATE_WEBHOOK,
    GET_WEBHOOK,
    UPDATE_WEBHOOK,
    DELETE_WEBHOOK,
    ROTATE_WEBHOOK_SECRET,
    LIST_DELIVERIES,
    TEST_WEBHOOK,
    REDELIVER,
    GET_OPENAPI,
    GET_DOCS,
    GET_DOCS_FILE,
    GET_CONSOLE,
    GET_CONSOLE_FILE,
    LIST_PLUGINS,
    REGISTER_PLUGIN,
    GET_PLUGIN,
    DELETE_PLUGIN,
    ENABLE_PLUGIN,
    DISABLE_PLUGIN,
    RUN_VERIFICATION,
    LIST_PROFILES,
    CREATE_PROFILE,
    GET_PROFILE,
    UPDATE_PROFILE,
    DELETE_PROFILE,
    VALIDATE_PROFILE,
    GET_WORK_ORDER_AUDIT,
    GET_RUN_AUDIT,
    LIST_CONFIG_CHANGES,
    LIST_CONFIG_SNAPSHOTS,
    GET_RUN_AUDIT_SUMMARY,
    CLAIM,
    REPORT,
    FINISH,
    OPEN_CHILDREN,
    KEEP_LOG,
    ISSUE_CREDENTIALS,
    CLAIM_VERIFICATION,
    REPORT_VERIFICATION,
    KEEP_DIFF,
];

/// The function that answers what no route does: 404 and 405.
pub const FALLBACK: &str = "fallback";

impl Route {
    /// The methods that its function serves.
    #[must_use]
    pub fn methods(&self) -> &'static [&'static str] {
        match self.method {
            "GET" => &["GET", "HEAD"],
            "POST" => &["POST"],
            "PUT" => &["PUT"],
            "PATCH" => &["PATCH"],
            _ => &["DELETE"],
        }
    }

    /// True if it is an operation of the public API.
    #[must_use]
    pub fn is_operation(&self) -> bool {
        matches!(self.access, Access::Key(_) | Access::Anybody)
    }

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

/// The methods that a path has, in the table's order; none if no route has it. Whatever has GET
/// has HEAD, and every path has OPTIONS. A path that is written in the table is that one alone,
/// whatever parameters would also match it.
#[must_use]
pub fn methods_of(path: &str) -> Vec<&'static str> {
    let is_written = ROUTES.iter().any(|route| route.path == path);
    let is_its = |route: &&Route| {
        if is_written {
            route.path == path
        } else {
            route.matches(path)
        }
    };
    let routes = ROUTES.iter().filter(is_its);
    let mut methods: Vec<&str> = routes.flat_map(|route| route.methods()).copied().collect();
    if !methods.is_empty() {
        methods.push("OPTIONS");
    }
    methods
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
        let methods = ["POST", "GET", "HEAD", "OPTIONS"];
        assert_eq!(methods_of("/v1/work-orders"), methods);
        assert_eq!(
            methods_of("/v1/work-orders/wo_x"),
            ["GET", "HEAD", "OPTIONS"]
        );
        assert_eq!(methods_of("/api/v1/work-orders/purge"), ["POST", "OPTIONS"]);
        assert!(methods_of("/v1/work-orders/").is_empty());
        assert!(methods_of("/v1/work-orders/wo_x/more").is_empty());
    }

    #[test]
    fn no_two_routes_are_the_same() {
        for (i, a) in ROUTES.iter().enumerate() {
            let same = |b: &&Route| a.name == b.name || (a.method, a.path) == (b.method, b.path);
            assert_eq!(ROUTES[i + 1..].iter().find(same), None, "{}", a.path);
        }
    }
}
