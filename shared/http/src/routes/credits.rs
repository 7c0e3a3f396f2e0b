//! Credits and usage.

use awo_domain::api_key::Scope;

use super::{Route, Style, keyed};

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
/// `GET /v1/usage/report`
pub const GET_USAGE_REPORT: Route = keyed(
    "GET",
    "/v1/usage/report",
    Scope::CreditsRead,
    Style::Plain,
    "get-usage-report",
);
/// `GET /api/v1/usage/summary`
pub const GET_USAGE_SUMMARY: Route = keyed(
    "GET",
    "/api/v1/usage/summary",
    Scope::CreditsRead,
    Style::Envelope,
    "get-usage-summary",
);
