//! The route table: the only definition of the operations. The local gateway serves it; `make
//! template` writes the functions of the deployment's template from it.

use awo_domain::api_key::Scope;

use crate::operations;

pub use crate::operations::audit::*;
pub use crate::operations::budgets::*;
pub use crate::operations::console::*;
pub use crate::operations::control::*;
pub use crate::operations::credits::*;
pub use crate::operations::environments::*;
pub use crate::operations::inboxes::*;
pub use crate::operations::mcp::*;
pub use crate::operations::openapi::*;
pub use crate::operations::outcomes::*;
pub use crate::operations::profiles::*;
pub use crate::operations::queue::*;
pub use crate::operations::runs::*;
pub use crate::operations::schedules::*;
pub use crate::operations::templates::*;
pub use crate::operations::triggers::*;
pub use crate::operations::verification::*;
pub use crate::operations::webhooks::*;
pub use crate::operations::work_orders::*;

/// How an answer is dressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `{success, data, requestId}`.
    Envelope,
    /// The resource itself.
    Plain,
}

impl Style {
    /// The style of a path.
    #[must_use]
    pub const fn of_path(path: &str) -> Style {
        match path.as_bytes() {
            b"/api" | [b'/', b'a', b'p', b'i', b'/', ..] => Style::Envelope,
            _ => Style::Plain,
        }
    }
}

/// The callers that a route admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Anybody,
    /// An API key with this scope.
    Key(Scope),
    /// Any API key; it is no operation of the API, and calls operations with the key.
    AnyKey,
    /// The sender of an inbox, by its signature.
    Sender,
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
    /// Its callers.
    pub access: Access,
    /// A scope that a key needs beside that of its access.
    pub also: Option<Scope>,
    /// How it answers.
    pub style: Style,
    /// The Lambda function that serves it; also its program's name.
    pub function: &'static str,
    /// True if its answers may come in pieces, and late.
    pub streams: bool,
    /// Where what it creates is found, if it creates something.
    pub created: Option<CreatedResource>,
}

/// Where a created resource is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreatedResource {
    /// The path before its id.
    pub collection: &'static str,
    /// A JSON pointer to its id in the answer's data.
    pub id: &'static str,
}

pub(crate) const fn keyed(
    method: &'static str,
    path: &'static str,
    scope: Scope,
    function: &'static str,
) -> Route {
    Route {
        name: function,
        method,
        path,
        access: Access::Key(scope),
        also: None,
        style: Style::of_path(path),
        function,
        streams: false,
        created: None,
    }
}

pub(crate) const fn streaming(route: Route) -> Route {
    Route {
        streams: true,
        ..route
    }
}

/// A route for keys that have this scope, too.
pub(crate) const fn needing(route: Route, scope: Scope) -> Route {
    Route {
        also: Some(scope),
        ..route
    }
}

/// A route whose 201 names the new resource in `Location`.
pub(crate) const fn creating(route: Route, collection: &'static str, id: &'static str) -> Route {
    Route {
        created: Some(CreatedResource { collection, id }),
        ..route
    }
}

pub(crate) const fn open(path: &'static str, function: &'static str) -> Route {
    Route {
        name: function,
        method: "GET",
        path,
        access: Access::Anybody,
        also: None,
        style: Style::of_path(path),
        function,
        streams: false,
        created: None,
    }
}

/// A route for senders of inboxes.
pub(crate) const fn signed(path: &'static str, function: &'static str) -> Route {
    Route {
        method: "POST",
        access: Access::Sender,
        ..open(path, function)
    }
}

/// A page.
pub(crate) const fn page(path: &'static str, function: &'static str) -> Route {
    Route {
        access: Access::Page,
        ..open(path, function)
    }
}

/// A file that a page loads.
pub(crate) const fn page_file(
    name: &'static str,
    path: &'static str,
    function: &'static str,
) -> Route {
    Route {
        name,
        ..page(path, function)
    }
}

/// A route for any key, which calls operations with it.
pub(crate) const fn any_key(path: &'static str, function: &'static str) -> Route {
    Route {
        method: "POST",
        access: Access::AnyKey,
        ..open(path, function)
    }
}

pub(crate) const fn control(name: &'static str, path: &'static str) -> Route {
    Route {
        name,
        method: "POST",
        path,
        access: Access::Runner,
        also: None,
        style: Style::of_path(path),
        function: "control",
        streams: false,
        created: None,
    }
}

/// The routes by group.
const GROUPS: &[&[Route]] = &[
    operations::work_orders::ALL,
    operations::runs::ALL,
    operations::queue::ALL,
    operations::credits::ALL,
    operations::outcomes::ALL,
    operations::budgets::ALL,
    operations::templates::ALL,
    operations::environments::ALL,
    operations::schedules::ALL,
    operations::mcp::ALL,
    operations::webhooks::ALL,
    operations::inboxes::ALL,
    operations::triggers::ALL,
    operations::openapi::ALL,
    operations::console::ALL,
    operations::verification::ALL,
    operations::profiles::ALL,
    operations::audit::ALL,
    operations::control::ALL,
];

/// Every route.
pub const ROUTES: &[Route] = &joined::<{ number_of(GROUPS) }>(GROUPS);

const fn number_of(groups: &[&[Route]]) -> usize {
    let (mut group, mut number) = (0, 0);
    while group < groups.len() {
        number += groups[group].len();
        group += 1;
    }
    number
}

const fn joined<const N: usize>(groups: &[&[Route]]) -> [Route; N] {
    let mut all = [groups[0][0]; N];
    let (mut group, mut at, mut number) = (0, 0, 0);
    while group < groups.len() {
        if at < groups[group].len() {
            all[number] = groups[group][at];
            (at, number) = (at + 1, number + 1);
        } else {
            (group, at) = (group + 1, 0);
        }
    }
    all
}

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

    /// The scopes that a key needs.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> + use<> {
        let scope = match self.access {
            Access::Key(scope) => Some(scope),
            Access::AnyKey | Access::Anybody | Access::Sender | Access::Runner | Access::Page => {
                None
            }
        };
        scope.into_iter().chain(self.also)
    }

    /// True if its callers have API keys.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        matches!(self.access, Access::Key(_) | Access::AnyKey)
    }

    /// True if it is an operation of the public API.
    #[must_use]
    pub fn is_operation(&self) -> bool {
        matches!(
            self.access,
            Access::Key(_) | Access::Anybody | Access::Sender
        )
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
    fn the_style_of_a_path_follows_its_prefix() {
        for path in ["/api", "/api/", "/api/v1/queue/health"] {
            assert_eq!(Style::of_path(path), Style::Envelope, "{path}");
        }
        for path in ["", "/", "/v1/runs", "/apis", "/v1/api/"] {
            assert_eq!(Style::of_path(path), Style::Plain, "{path}");
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
