//! Operations of webhooks and their deliveries.

use awo_contract::Field;
use awo_contract::record::Empty;
use awo_contract::webhooks::input::{NewWebhook, WebhookUpdate};
use awo_contract::webhooks::output::{
    DeliveryShape, NewSecretShape, NewWebhookShape, TestShape, WebhookShape,
};
use awo_domain::webhook::DeliveryStatus;
use awo_domain::webhook::address::Reach;
use awo_http::page::DEFAULT_LIMIT;
use awo_http::routes;
use serde_json::json;

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success, plain_list};
use awo_contract::schema::Schemas;

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("webhooks", &schemas.of::<WebhookShape>());
    let list = Operation::of(
        &routes::LIST_WEBHOOKS,
        "List webhooks",
        "Newest first, without their secrets.",
    );
    let get = Operation::of(
        &routes::GET_WEBHOOK,
        "Get a webhook",
        "Without its secret, which is shown only once.",
    );
    let delete = Operation::of(
        &routes::DELETE_WEBHOOK,
        "Delete a webhook",
        "Its pending deliveries are no longer sent, and its deliveries are no longer visible.",
    );
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
        &routes::CREATE_WEBHOOK,
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
        &routes::UPDATE_WEBHOOK,
        "Update a webhook",
        "Given fields replace the present ones; an empty description removes the description. A disabled webhook gets no events. 409 means that concurrent requests changed it.",
    )
    .body(body, json!({ "events": ["run.failed"], "enabled": true }))
    .fails(&[Failure::Conflict])
    .answers(Success::of::<WebhookShape>(schemas, 200, "The webhook."))
}

fn rotate(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &routes::ROTATE_WEBHOOK_SECRET,
        "Rotate the secret of a webhook",
        "Only this response has the new secret. For 24 hours the previous one also signs. Another rotation within that time ends the older one at once. 409 means that concurrent requests changed the webhook.",
    )
    .optional_body(Empty.schema(schemas), json!({}))
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<NewSecretShape>(schemas, 200, "The new secret."))
}

fn test(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &routes::TEST_WEBHOOK,
        "Test a webhook",
        "Makes one immediate attempt with an event of the type `webhook.test` whose data is `{webhookId}`, even to a disabled webhook. It is not a delivery: it is neither retried nor listed, and changes nothing. 429 if four deliveries to the webhook are under way.",
    )
    .optional_body(Empty.schema(schemas), json!({}))
    .late()
    .answers(Success::of::<TestShape>(schemas, 200, "The outcome."))
}

fn deliveries(schemas: &mut Schemas) -> Operation {
    let page = plain_list("deliveries", &schemas.of::<DeliveryShape>());
    let status = schemas.of::<DeliveryStatus>();
    Operation::of(
        &routes::LIST_DELIVERIES,
        "List the deliveries of a webhook",
        "Newest first, each with its attempts and the time of the next one. They are stored for 30 days.",
    )
    .query("status", status, "Those of this status.")
    .pages(DEFAULT_LIMIT)
    .answers(Success::with(200, "A page of deliveries.", page))
}

fn redeliver(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &routes::REDELIVER,
        "Deliver once more",
        "Creates a new delivery of the same event and body, due at once, with its own attempts. 409 if the delivery is still pending or the webhook is disabled.",
    )
    .optional_body(Empty.schema(schemas), json!({}))
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<DeliveryShape>(schemas, 200, "The new delivery."))
}
