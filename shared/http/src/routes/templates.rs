//! Templates.

use awo_domain::api_key::Scope;

use super::{Route, Style, creating, keyed};

/// `GET /v1/templates`
pub const LIST_TEMPLATES: Route = keyed(
    "GET",
    "/v1/templates",
    Scope::TemplatesRead,
    Style::Plain,
    "list-templates",
);
/// `POST /v1/templates`
pub const CREATE_TEMPLATE: Route = creating(
    keyed(
        "POST",
        "/v1/templates",
        Scope::TemplatesWrite,
        Style::Plain,
        "create-template",
    ),
    "/v1/templates",
    "/id",
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

/// The routes of this group.
pub(super) const ALL: &[Route] = &[
    LIST_TEMPLATES,
    CREATE_TEMPLATE,
    GET_TEMPLATE,
    UPDATE_TEMPLATE,
    DELETE_TEMPLATE,
];
