//! Environments.

use awo_domain::api_key::Scope;

use super::{Route, Style, creating, keyed};

/// `GET /v1/environments`
pub const LIST_ENVIRONMENTS: Route = keyed(
    "GET",
    "/v1/environments",
    Scope::EnvironmentsRead,
    Style::Plain,
    "list-environments",
);
/// `POST /v1/environments`
pub const CREATE_ENVIRONMENT: Route = creating(
    keyed(
        "POST",
        "/v1/environments",
        Scope::EnvironmentsWrite,
        Style::Plain,
        "create-environment",
    ),
    "/v1/environments",
    "/name",
);
/// `GET /v1/environments/{name}`
pub const GET_ENVIRONMENT: Route = keyed(
    "GET",
    "/v1/environments/{name}",
    Scope::EnvironmentsRead,
    Style::Plain,
    "get-environment",
);
/// `PUT /v1/environments/{name}`
pub const UPDATE_ENVIRONMENT: Route = keyed(
    "PUT",
    "/v1/environments/{name}",
    Scope::EnvironmentsWrite,
    Style::Plain,
    "update-environment",
);
/// `DELETE /v1/environments/{name}`
pub const DELETE_ENVIRONMENT: Route = keyed(
    "DELETE",
    "/v1/environments/{name}",
    Scope::EnvironmentsWrite,
    Style::Plain,
    "delete-environment",
);

/// The routes of this group.
pub(super) const ALL: &[Route] = &[
    LIST_ENVIRONMENTS,
    CREATE_ENVIRONMENT,
    GET_ENVIRONMENT,
    UPDATE_ENVIRONMENT,
    DELETE_ENVIRONMENT,
];
