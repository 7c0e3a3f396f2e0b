//! Harness profiles.

use awo_domain::api_key::Scope;

use super::{Route, Style, creating, keyed};

/// `GET /api/v1/profiles`
pub const LIST_PROFILES: Route = keyed(
    "GET",
    "/api/v1/profiles",
    Scope::ProfilesRead,
    Style::Envelope,
    "list-profiles",
);
/// `POST /api/v1/profiles`
pub const CREATE_PROFILE: Route = creating(
    keyed(
        "POST",
        "/api/v1/profiles",
        Scope::ProfilesWrite,
        Style::Envelope,
        "create-profile",
    ),
    "/api/v1/profiles",
    "/name",
);
/// `GET /api/v1/profiles/{name}`
pub const GET_PROFILE: Route = keyed(
    "GET",
    "/api/v1/profiles/{name}",
    Scope::ProfilesRead,
    Style::Envelope,
    "get-profile",
);
/// `PUT /api/v1/profiles/{name}`
pub const UPDATE_PROFILE: Route = keyed(
    "PUT",
    "/api/v1/profiles/{name}",
    Scope::ProfilesWrite,
    Style::Envelope,
    "update-profile",
);
/// `DELETE /api/v1/profiles/{name}`
pub const DELETE_PROFILE: Route = keyed(
    "DELETE",
    "/api/v1/profiles/{name}",
    Scope::ProfilesWrite,
    Style::Envelope,
    "delete-profile",
);
/// `POST /api/v1/profiles/{name}/validate`
pub const VALIDATE_PROFILE: Route = keyed(
    "POST",
    "/api/v1/profiles/{name}/validate",
    Scope::ProfilesRead,
    Style::Envelope,
    "validate-profile",
);

/// The routes of this group.
pub(super) const ALL: &[Route] = &[
    LIST_PROFILES,
    CREATE_PROFILE,
    GET_PROFILE,
    UPDATE_PROFILE,
    DELETE_PROFILE,
    VALIDATE_PROFILE,
];
