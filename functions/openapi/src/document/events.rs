//! The events of a run's timeline and the payloads of webhooks, as unions that their `type`
//! discriminates. Their data comes from the types that write it.

use awo_domain::control::RunnerEvent;
use awo_domain::event::{Payload, TimelineEventType};
use awo_domain::schema::TypeSchema;
use awo_domain::verification::{Level, Status};
use awo_domain::webhook::{EventSource, EventType, OrganizationEvent, TEST_EVENT};
use awo_domain::work_order::TenantContext;
use awo_domain::{EventId, RunId, Timestamp, WebhookId, WorkOrderId};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use awo_contract::schema::{Schemas, described, named, reference, tidied, word};

/// Of a plugin's result, what webhooks get.
#[derive(ToSchema)]
#[schema(as = WebhookPluginResult, rename_all = "camelCase")]
#[expect(dead_code, reason = "its schema alone is needed")]
struct PluginOutcome {
    /// `built-in:tests` and the like.
    plugin_id: String,
    /// Its level.
    level: Level,
    /// The worst of its checks.
    status: Status,
    /// One sentence.
    summary: String,
}

/// Keeps the schemas of all events and payloads. Answers the `webhooks` of the document.
pub fn events(schemas: &mut Schemas) -> Value {
    let events: Vec<Value> = TimelineEventType::all()
        .map(|kind| event(schemas, kind))
        .collect();
    let names = TimelineEventType::all().map(|kind| (kind.as_str(), event_name(kind)));
    let union = union(
        "One event of a run's timeline. Types may be added: ignore those that you do not know.",
        events,
        names,
    );
    schemas.of::<awo_domain::event::TimelineEvent>();
    schemas.replace("TimelineEvent", union);
    webhooks(schemas)
}

fn event_name(kind: TimelineEventType) -> String {
    format!("{}Event", kind.schema_name())
}

fn union(
    description: &str,
    of: Vec<Value>,
    names: impl Iterator<Item = (&'static str, String)>,
) -> Value {
    let to = |name: String| json!(format!("#/components/schemas/{name}"));
    let mapping: Map<String, Value> = names
        .map(|(kind, name)| (kind.to_owned(), to(name)))
        .collect();
    json!({
        "description": description,
        "oneOf": of,
        "discriminator": { "propertyName": "type", "mapping": mapping },
    })
}

/// The event of a type, as a component.
fn event(schemas: &mut Schemas, kind: TimelineEventType) -> Value {
    let data = data(schemas, kind);
    let name = format!("{}EventData", kind.schema_name());
    let schema = json!({
        "type": "object",
        "description": kind.description(),
        "required": ["sequence", "type", "timestamp", "data"],
        "properties": {
            "sequence": { "type": "integer", "format": "int64", "minimum": 1, "description": "From 1, without gaps, in the order in which events were committed." },
            "type": described(word([kind.as_str()]), "The type of the event."),
            "timestamp": described(schemas.of::<Timestamp>(), "When it was committed."),
            "data": named(&name, data),
        },
    });
    named(&event_name(kind), schema)
}

/// The data of a type: its own members, and those that every event of a run has.
fn data(schemas: &mut Schemas, kind: TimelineEventType) -> Value {
    let own = match kind.payload() {
        Payload::Own(of) => written(schemas, of),
        Payload::Reported(variant) => reported(schemas, variant),
    };
    of_run(schemas, kind, own)
}

/// The schema of a type, and the components that it refers to.
fn written(schemas: &mut Schemas, of: TypeSchema) -> Value {
    schemas.refer(of);
    tidied(json!((of.schema)()))
}

/// The members of what a runner reports, by the name of its variant.
fn reported(schemas: &mut Schemas, variant: &str) -> Value {
    let all = written(schemas, TypeSchema::of::<RunnerEvent>());
    let all = all["oneOf"].as_array().cloned().unwrap_or_default();
    let is_wanted = |of: &Value| of["properties"]["type"]["enum"] == json!([variant]);
    let found = all.into_iter().find(is_wanted);
    let Some(found) = found else {
        panic!("runners report no {variant}");
    };
    let mut properties = Map::new();
    for (name, of) in found["properties"].as_object().into_iter().flatten() {
        properties.insert(camel(name), of.clone());
    }
    properties.remove("type");
    let required = found["required"].as_array().into_iter().flatten();
    let required: Vec<String> = required
        .filter_map(Value::as_str)
        .map(camel)
        .filter(|name| name != "type")
        .collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, rest) = word.split_at(1);
        name + &head.to_ascii_uppercase() + rest
    })
}

/// Adds the fields of every event of a run.
fn of_run(schemas: &mut Schemas, kind: TimelineEventType, mut data: Value) -> Value {
    let sequence = json!({ "type": "integer", "format": "int64", "minimum": 1, "description": "The number of the event in its run, from 1." });
    for (name, of) in [
        ("runId", described(schemas.of::<RunId>(), "The run.")),
        (
            "workOrderId",
            described(schemas.of::<WorkOrderId>(), "Its work order."),
        ),
        ("sequence", sequence),
        (
            "tenantContext",
            described(
                schemas.of::<TenantContext>(),
                "The tenant of the work order, if it has one.",
            ),
        ),
    ] {
        data["properties"][name] = of;
    }
    let mut required = data["required"].as_array().cloned().unwrap_or_default();
    for name in ["runId", "workOrderId", "sequence"].map(Value::from) {
        if !required.contains(&name) {
            required.push(name);
        }
    }
    data["required"] = json!(required);
    described(data, &format!("The data of `{}`.", kind.as_str()))
}

/// What webhooks get: a payload for each type, and the union of them.
fn webhooks(schemas: &mut Schemas) -> Value {
    let (mut hooks, mut payloads, mut names) = (Map::new(), Vec::new(), Vec::new());
    for kind in EventType::ALL {
        let (base, description, data) = match kind.source() {
            EventSource::Run(of) => of_timeline(schemas, of),
            EventSource::Organization(event) => of_organization(schemas, kind, event),
        };
        let name = format!("{base}Webhook");
        let payload = payload(schemas, &name, kind.as_str(), description, data);
        payloads.push(payload);
        hooks.insert(
            kind.as_str().to_owned(),
            hook(&name, kind.as_str(), description),
        );
        names.push((kind.as_str(), name));
    }
    let data = json!({
        "type": "object",
        "description": "The data of `webhook.test`.",
        "required": ["webhookId"],
        "properties": { "webhookId": described(schemas.of::<WebhookId>(), "The webhook that was tested.") },
    });
    let (name, description) = (
        "WebhookTestWebhook",
        "A client requested a test of the webhook.",
    );
    let data = named("WebhookTestEventData", data);
    payloads.push(payload(schemas, name, TEST_EVENT, description, data));
    names.push((TEST_EVENT, name.to_owned()));
    hooks.insert(TEST_EVENT.to_owned(), hook(name, TEST_EVENT, description));
    let all = union(
        "The body of a delivery to a webhook. Types and members may be added: ignore unknown ones.",
        payloads,
        names.into_iter(),
    );
    schemas.keep("WebhookPayload", all);
    Value::Object(hooks)
}

/// Of a webhook's event that delivers the timeline's: the beginning of its schemas' names, what it
/// means, and its data.
fn of_timeline(schemas: &mut Schemas, kind: TimelineEventType) -> (String, &'static str, Value) {
    let base = kind.schema_name();
    let data = data(schemas, kind);
    let data = match data["properties"].get("results") {
        None => named(&format!("{base}EventData"), data),
        Some(_) => named(&format!("{base}WebhookData"), with_outcomes(schemas, data)),
    };
    (base, kind.description(), data)
}

/// The same of one that is of no run.
fn of_organization(
    schemas: &mut Schemas,
    kind: EventType,
    event: &OrganizationEvent,
) -> (String, &'static str, Value) {
    let base = format!("{kind:?}");
    let data = written(schemas, event.data);
    let data = described(data, &format!("The data of `{}`.", event.name));
    (
        base.clone(),
        event.description,
        named(&format!("{base}EventData"), data),
    )
}

/// Of results the webhooks get less than the timeline has.
fn with_outcomes(schemas: &mut Schemas, mut data: Value) -> Value {
    let results = &mut data["properties"]["results"];
    results["items"] = schemas.of::<PluginOutcome>();
    data
}

fn payload(schemas: &mut Schemas, name: &str, kind: &str, description: &str, data: Value) -> Value {
    let schema = json!({
        "type": "object",
        "description": description,
        "required": ["id", "type", "timestamp", "data"],
        "properties": {
            "id": described(schemas.of::<EventId>(), "The event's id: the same at each attempt, and in the header `webhook-id`."),
            "type": described(word([kind]), "The type of the event."),
            "timestamp": described(schemas.of::<Timestamp>(), "When it happened."),
            "data": data,
        },
    });
    named(name, schema)
}

/// One entry of the document's `webhooks`.
fn hook(name: &str, kind: &str, description: &str) -> Value {
    let header = |name: &str, required: bool, description: &str| {
        json!({
            "name": name, "in": "header", "required": required,
            "schema": { "type": "string" }, "description": description,
        })
    };
    json!({ "post": {
        "operationId": format!("on{}", name.trim_end_matches("Webhook")),
        "summary": kind,
        "description": format!("{description} The service sends this to webhooks that subscribe to `{kind}`; verify its signature before you parse it."),
        // A tag of their own: generators make a file of each, and one called `webhooks` is there.
        "tags": ["webhook-payloads"],
        "security": [],
        "parameters": [
            header("webhook-id", true, "The event's id: store it for a day, and respond with 204 to a known id."),
            header("webhook-timestamp", true, "The Unix second of sending; reject deliveries older than five minutes."),
            header("webhook-signature", true, "Signatures by Standard Webhooks, `v1,…`, separated by a space."),
            header("X-Service-Signature", true, "`sha256=` and the hex HMAC of the body."),
            header("X-Service-Signature-Previous", false, "For 24 hours after a rotation, the same with the previous secret."),
        ],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": reference(name) } },
        },
        "responses": {
            "2XX": { "description": "It was received. The body is not read." },
            "410": { "description": "The receiver no longer exists: the webhook is disabled." },
        },
    } })
}
