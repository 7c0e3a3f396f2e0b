//! Operations of webhooks and their deliveries.

use awo_domain::api_key::Scope;
use awo_domain::webhook::DeliveryStatus;
use awo_domain::webhook::address::Reach;
use awo_domain::{DeliveryId, WebhookId};
use serde_json::json;

use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success, plain_list};
use crate::page::DEFAULT_LIMIT;
use crate::record::Empty;
use crate::routes::{Route, creating, keyed, streaming};
use crate::schema::Schemas;
use crate::webhooks::input::{NewWebhook, WebhookUpdate};
use crate::webhooks::output::{
    DeliveryShape, NewSecretShape, NewWebhookShape, TestShape, WebhookShape,
};

/// `GET /v1/webhooks`
pub const LIST_WEBHOOKS: Route = keyed("GET", "/v1/webhooks", Scope::WebhooksRead, "list-webhooks");
/// `POST /v1/webhooks`
pub const CREATE_WEBHOOK: Route = creating(
    keyed(
        "POST",
        "/v1/webhooks",
        Scope::WebhooksWrite,
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
    "get-webhook",
);
/// `PATCH /v1/webhooks/{id}`
pub const UPDATE_WEBHOOK: Route = keyed(
    "PATCH",
    "/v1/webhooks/{id}",
    Scope::WebhooksWrite,
    "update-webhook",
);
/// `DELETE /v1/webhooks/{id}`
pub const DELETE_WEBHOOK: Route = keyed(
    "DELETE",
    "/v1/webhooks/{id}",
    Scope::WebhooksWrite,
    "delete-webhook",
);
/// `POST /v1/webhooks/{id}/test`
pub const TEST_WEBHOOK: Route = streaming(keyed(
    "POST",
    "/v1/webhooks/{id}/test",
    Scope::WebhooksWrite,
    "test-webhook",
));
/// `POST /v1/webhooks/{id}/rotate-secret`
pub const ROTATE_WEBHOOK_SECRET: Route = keyed(
    "POST",
    "/v1/webhooks/{id}/rotate-secret",
    Scope::WebhooksWrite,
    "rotate-webhook-secret",
);
/// `GET /v1/webhooks/{id}/deliveries`
pub const LIST_DELIVERIES: Route = keyed(
    "GET",
    "/v1/webhooks/{id}/deliveries",
    Scope::WebhooksRead,
    "list-deliveries",
);
/// `POST /v1/webhooks/{id}/deliveries/{deliveryId}/redeliver`
pub const REDELIVER: Route = keyed(
    "POST",
    "/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver",
    Scope::WebhooksWrite,
    "redeliver",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
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

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("webhooks", &schemas.of::<WebhookShape>());
    let list = Operation::of(
        &LIST_WEBHOOKS,
        "List webhooks",
        "Newest first, without their secrets.",
    );
    let get = Operation::of(
        &GET_WEBHOOK,
        "Get a webhook",
        "Without its secret, which is shown only once.",
    )
    .path::<WebhookId>();
    let delete = Operation::of(
        &DELETE_WEBHOOK,
        "Delete a webhook",
        "Its pending deliveries are no longer sent, and its deliveries are no longer visible.",
    )
    .path::<WebhookId>();
    vec![
        list.pages(DEFAULT_LIMIT)
            .answers(Success::with(200, "A page of webhooks.", page)),
        create(schemas),
        get.answers(Success::of::<WebhookShape>(schemas, 200, "The webhook.")),
        update(schemas),
        delete.answers(Success::nothing("It is gone.")),
        test(schemas),
        rotate(schemas),
        deliveries(schemas),
        redeliver(schemas),
    ]
}

fn create(schemas: &mut Schemas) -> Operation {
    let example = json!({
        "url": "https://hooks.example.com/agent-work-orders",
        "events": ["run.completed", "run.failed"],
        "description": "Notifies the team's channel",
    });
    let body = NewWebhook {
        reach: Reach::Public,
    }
    .schema(schemas);
    Operation::of(
        &CREATE_WEBHOOK,
        "Create a webhook",
        "From now on it gets these events. Only this response has the secret that signs its deliveries. An organization has at most 20 webhooks; then 409.",
    )
    .body(body, example)
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<NewWebhookShape>(schemas, 201, "The webhook, and its secret."))
}

fn update(schemas: &mut Schemas) -> Operation {
    let body = WebhookUpdate {
        reach: Reach::Public,
    }
    .schema(schemas);
    Operation::of(
        &UPDATE_WEBHOOK,
        "Update a webhook",
        "Given fields replace the present ones; an empty description removes the description. A disabled webhook gets no events. 409 means that concurrent requests changed it.",
    ).path::<WebhookId>()
    .body(body, json!({ "events": ["run.failed"], "enabled": true }))
    .fails(&[Failure::Conflict])
    .answers(Success::of::<WebhookShape>(schemas, 200, "The webhook."))
}

fn rotate(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &ROTATE_WEBHOOK_SECRET,
        "Rotate the secret of a webhook",
        "Only this response has the new secret. For 24 hours the previous one also signs. Another rotation within that time ends the older one at once. 409 means that concurrent requests changed the webhook.",
    ).path::<WebhookId>()
    .optional_body(Empty.schema(schemas), json!({}))
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<NewSecretShape>(schemas, 200, "The new secret."))
}

fn test(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &TEST_WEBHOOK,
        "Test a webhook",
        "Makes one immediate attempt with an event of the type `webhook.test` whose data is `{webhookId}`, even to a disabled webhook. It is not a delivery: it is neither retried nor listed, and changes nothing. 429 if four deliveries to the webhook are under way.",
    ).path::<WebhookId>()
    .optional_body(Empty.schema(schemas), json!({}))
    .late()
    .answers(Success::of::<TestShape>(schemas, 200, "The outcome."))
}

fn deliveries(schemas: &mut Schemas) -> Operation {
    let page = plain_list("deliveries", &schemas.of::<DeliveryShape>());
    let status = schemas.of::<DeliveryStatus>();
    Operation::of(
        &LIST_DELIVERIES,
        "List the deliveries of a webhook",
        "Newest first, each with its attempts and the time of the next one. They are stored for 30 days.",
    ).path::<WebhookId>()
    .query("status", status, "Those of this status.")
    .pages(DEFAULT_LIMIT)
    .answers(Success::with(200, "A page of deliveries.", page))
}

fn redeliver(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &REDELIVER,
        "Deliver once more",
        "Creates a new delivery of the same event and body, due at once, with its own attempts. 409 if the delivery is still pending or the webhook is disabled.",
    ).path::<WebhookId>().path::<DeliveryId>()
    .optional_body(Empty.schema(schemas), json!({}))
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<DeliveryShape>(schemas, 200, "The new delivery."))
}
