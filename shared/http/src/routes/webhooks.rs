//! Webhooks and their deliveries.

use awo_domain::api_key::Scope;

use super::{Route, Style, creating, keyed, streaming};

/// `GET /v1/webhooks`
pub const LIST_WEBHOOKS: Route = keyed(
    "GET",
    "/v1/webhooks",
    Scope::WebhooksRead,
    Style::Plain,
    "list-webhooks",
);
/// `POST /v1/webhooks`
pub const CREATE_WEBHOOK: Route = creating(
    keyed(
        "POST",
        "/v1/webhooks",
        Scope::WebhooksWrite,
        Style::Plain,
        "create-webhook",
    ),
    "/v1/webhooks",
    "/webhook/id",
);
/// `GET /v1/webhooks/{id}`
pub const GET_WEBHOOK: Route = keyed(
    "GET",
    "/v1/webhooks/{id}",
    Scope::WebhooksRead,
    Style::Plain,
    "get-webhook",
);
/// `PATCH /v1/webhooks/{id}`
pub const UPDATE_WEBHOOK: Route = keyed(
    "PATCH",
    "/v1/webhooks/{id}",
    Scope::WebhooksWrite,
    Style::Plain,
    "update-webhook",
);
/// `DELETE /v1/webhooks/{id}`
pub const DELETE_WEBHOOK: Route = keyed(
    "DELETE",
    "/v1/webhooks/{id}",
    Scope::WebhooksWrite,
    Style::Plain,
    "delete-webhook",
);
/// `POST /v1/webhooks/{id}/test`
pub const TEST_WEBHOOK: Route = streaming(keyed(
    "POST",
    "/v1/webhooks/{id}/test",
    Scope::WebhooksWrite,
    Style::Plain,
    "test-webhook",
));
/// `POST /v1/webhooks/{id}/rotate-secret`
pub const ROTATE_WEBHOOK_SECRET: Route = keyed(
    "POST",
    "/v1/webhooks/{id}/rotate-secret",
    Scope::WebhooksWrite,
    Style::Plain,
    "rotate-webhook-secret",
);
/// `GET /v1/webhooks/{id}/deliveries`
pub const LIST_DELIVERIES: Route = keyed(
    "GET",
    "/v1/webhooks/{id}/deliveries",
    Scope::WebhooksRead,
    Style::Plain,
    "list-deliveries",
);
/// `POST /v1/webhooks/{id}/deliveries/{deliveryId}/redeliver`
pub const REDELIVER: Route = keyed(
    "POST",
    "/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver",
    Scope::WebhooksWrite,
    Style::Plain,
    "redeliver",
);

/// The routes of this group.
pub(super) const ALL: &[Route] = &[
    LIST_WEBHOOKS,
    CREATE_WEBHOOK,
    GET_WEBHOOK,
    UPDATE_WEBHOOK,
    DELETE_WEBHOOK,
    ROTATE_WEBHOOK_SECRET,
    LIST_DELIVERIES,
    TEST_WEBHOOK,
    REDELIVER,
];
