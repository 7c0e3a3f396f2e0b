//! The OpenAPI schemas of types that are not plain structs: their JSON form.

use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::Timestamp;
use crate::environment::EnvironmentName;
use crate::money::{MicroCredits, NanoUsd};
use crate::plugin::PluginId;
use crate::profile::ProfileName;
use crate::template::TemplateId;
use crate::webhook::EventType;

/// The schema of a type, as a value.
#[derive(Debug, Clone, Copy)]
pub struct TypeSchema {
    /// Its own.
    pub schema: fn() -> RefOr<Schema>,
    /// Adds those that it refers to, by name.
    pub parts: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl TypeSchema {
    /// That of `T`.
    #[must_use]
    pub const fn of<T: ToSchema>() -> TypeSchema {
        TypeSchema {
            schema: T::schema,
            parts: T::schemas,
        }
    }
}

/// A string of this pattern.
pub(crate) fn text(pattern: &str, description: &str) -> RefOr<Schema> {
    let schema = ObjectBuilder::new().schema_type(Type::String);
    schema
        .pattern(Some(pattern))
        .description(Some(description))
        .into()
}

fn amount(description: &str) -> RefOr<Schema> {
    let schema = ObjectBuilder::new().schema_type(Type::Number);
    schema.description(Some(description)).into()
}

impl PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .pattern(Some(r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$"))
            .description(Some("A moment in UTC, to the millisecond."))
            .into()
    }
}

impl ToSchema for Timestamp {}

impl PartialSchema for EventType {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "The event types of webhooks. Those of runs and verifications are also types \
                 of events of a run's timeline, of which they are deliveries; types of the \
                 timeline that are not here are not delivered.",
            ))
            .enum_values(Some(EventType::ALL.map(EventType::as_str)))
            .into()
    }
}

impl ToSchema for EventType {
    fn name() -> std::borrow::Cow<'static, str> {
        "WebhookEventType".into()
    }
}

impl PartialSchema for MicroCredits {
    fn schema() -> RefOr<Schema> {
        amount("Credits, with up to 6 decimal places.")
    }
}

impl ToSchema for MicroCredits {
    fn name() -> std::borrow::Cow<'static, str> {
        "Credits".into()
    }
}

impl PartialSchema for NanoUsd {
    fn schema() -> RefOr<Schema> {
        amount("US dollars, with up to 9 decimal places.")
    }
}

impl ToSchema for NanoUsd {
    fn name() -> std::borrow::Cow<'static, str> {
        "Usd".into()
    }
}

impl PartialSchema for TemplateId {
    fn schema() -> RefOr<Schema> {
        text("^[a-z0-9][a-z0-9-]{0,62}$", "The id of a template.")
    }
}

impl ToSchema for TemplateId {}

impl PartialSchema for PluginId {
    fn schema() -> RefOr<Schema> {
        text(
            "^(built-in:[a-z]+|custom:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$",
            "The id of a verification plugin.",
        )
    }
}

impl ToSchema for PluginId {}

impl PartialSchema for ProfileName {
    fn schema() -> RefOr<Schema> {
        text("^[A-Za-z0-9-]{1,128}$", "The name of a profile.")
    }
}

impl ToSchema for ProfileName {}

impl PartialSchema for EnvironmentName {
    fn schema() -> RefOr<Schema> {
        text("^[A-Za-z0-9-]{1,128}$", "The name of an environment.")
    }
}

impl ToSchema for EnvironmentName {}
