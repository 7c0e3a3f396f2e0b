//! Verification: plugins, and manual verification.

use awo_domain::api_key::Scope;

use super::{Route, Style, creating, keyed, streaming};

/// `GET /api/v1/verification/plugins`
pub const LIST_PLUGINS: Route = keyed(
    "GET",
    "/api/v1/verification/plugins",
    Scope::VerificationRead,
    Style::Envelope,
    "list-plugins",
);
/// `POST /api/v1/verification/plugins`
pub const REGISTER_PLUGIN: Route = creating(
    keyed(
        "POST",
        "/api/v1/verification/plugins",
        Scope::VerificationWrite,
        Style::Envelope,
        "register-plugin",
    ),
    "/api/v1/verification/plugins",
    "/id",
);
/// `GET /api/v1/verification/plugins/{id}`
pub const GET_PLUGIN: Route = keyed(
    "GET",
    "/api/v1/verification/plugins/{id}",
    Scope::VerificationRead,
    Style::Envelope,
    "get-plugin",
);
/// `DELETE /api/v1/verification/plugins/{id}`
pub const DELETE_PLUGIN: Route = keyed(
    "DELETE",
    "/api/v1/verification/plugins/{id}",
    Scope::VerificationWrite,
    Style::Envelope,
    "delete-plugin",
);
/// `POST /api/v1/verification/plugins/{id}/enable`
pub const ENABLE_PLUGIN: Route = keyed(
    "POST",
    "/api/v1/verification/plugins/{id}/enable",
    Scope::VerificationWrite,
    Style::Envelope,
    "enable-plugin",
);
/// `POST /api/v1/verification/plugins/{id}/disable`
pub const DISABLE_PLUGIN: Route = keyed(
    "POST",
    "/api/v1/verification/plugins/{id}/disable",
    Scope::VerificationWrite,
    Style::Envelope,
    "disable-plugin",
);
/// `POST /api/v1/verification/run`
pub const RUN_VERIFICATION: Route = streaming(keyed(
    "POST",
    "/api/v1/verification/run",
    Scope::VerificationWrite,
    Style::Envelope,
    "run-verification",
));

/// The routes of this group.
pub(super) const ALL: &[Route] = &[
    LIST_PLUGINS,
    REGISTER_PLUGIN,
    GET_PLUGIN,
    DELETE_PLUGIN,
    ENABLE_PLUGIN,
    DISABLE_PLUGIN,
    RUN_VERIFICATION,
];
