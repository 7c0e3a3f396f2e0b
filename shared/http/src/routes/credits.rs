//! Credits and usage.

use awo_domain::api_key::Scope;

use super::{Route, Style, keyed, streaming};

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
/// `GET /v1/prices`
pub const GET_PRICES: Route = keyed(
    "GET",
    "/v1/prices",
    Scope::CreditsRead,
    Style::Plain,
    "get-prices",
);
/// `GET /v1/statements`
pub const LIST_STATEMENTS: Route = keyed(
    "GET",
    "/v1/statements",
    Scope::CreditsRead,
    Style::Plain,
    "list-statements",
);
/// `GET /v1/statements/{month}`
pub const GET_STATEMENT: Route = keyed(
    "GET",
    "/v1/statements/{month}",
    Scope::CreditsRead,
    Style::Plain,
    "get-statement",
);
/// `GET /v1/usage/report`
pub const GET_USAGE_REPORT: Route = keyed(
    "GET",
    "/v1/usage/report",
    Scope::CreditsRead,
    Style::Plain,
    "get-usage-report",
);
/// `GET /v1/exports/focus`
pub const EXPORT_FOCUS: Route = streaming(keyed(
    "GET",
    "/v1/exports/focus",
    Scope::CreditsRead,
    Style::Plain,
    "export-focus",
));
/// `GET /api/v1/usage/summary`
pub const GET_USAGE_SUMMARY: Route = keyed(
    "GET",
    "/api/v1/usage/summary",
    Scope::CreditsRead,
    Style::Envelope,
    "get-usage-summary",
);

/// The routes of this group.
pub(super) const ALL: &[Route] = &[
    GET_CREDITS,
    LIST_CREDIT_TRANSACTIONS,
    GET_PRICES,
    LIST_STATEMENTS,
    GET_STATEMENT,
    GET_USAGE_REPORT,
    EXPORT_FOCUS,
    GET_USAGE_SUMMARY,
];
