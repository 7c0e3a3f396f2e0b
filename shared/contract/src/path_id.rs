//! Ids and names in paths.

use awo_domain::environment::{EnvironmentName, SecretName};
use awo_domain::plugin::PluginId;
use awo_domain::profile::ProfileName;
use awo_domain::statement::Month;
use awo_domain::template::TemplateId;
use awo_domain::{
    BudgetId, DeliveryId, InboxDeliveryId, InboxId, Resource, RunId, ScheduleId, TriggerId,
    WebhookId, WorkOrderId,
};
use serde_json::{Value as Json, json};

use crate::environments::input::VARIABLE;
use crate::schema::{named, reference};

/// An id or a name that is a parameter of paths.
pub trait PathId: Sized {
    /// Names of the parameter in paths.
    const NAMES: [&'static str; 2];
    /// The kind of resource that it names.
    const RESOURCE: Resource;
    /// Description of the parameter.
    const DESCRIPTION: &'static str;

    /// Reads the parameter; `None` for what is no id, which nothing can have.
    fn parse(text: &str) -> Option<Self>;

    /// Returns the schema of the parameter.
    fn schema() -> Json;
}

/// Ids that are parameters of paths under one of two names, with their resource and description.
macro_rules! path_ids {
    ($($id:ident $names:expr, $resource:ident, $description:literal, $parse:expr, $schema:expr;)*) => {
        $(impl PathId for $id {
            const NAMES: [&'static str; 2] = $names;
            const RESOURCE: Resource = Resource::$resource;
            const DESCRIPTION: &'static str = $description;

            fn parse(text: &str) -> Option<$id> {
                $parse(text).ok()
            }

            fn schema() -> Json {
                $schema
            }
        })*
    };
}

path_ids! {
    WorkOrderId ["id", "workOrderId"], WorkOrder, "The id of a work order.",
        WorkOrderId::parse, reference("WorkOrderId");
    RunId ["id", "runId"], Run, "The id of a run.", RunId::parse, reference("RunId");
    TemplateId ["id", "templateId"], Template, "The id of a template.",
        TemplateId::parse, reference("TemplateId");
    PluginId ["id", "pluginId"], Plugin, "The id of a verification plugin.",
        plugin_id, reference("PluginId");
    ProfileName ["name", "profileName"], Profile, "The name of a harness profile.",
        ProfileName::parse, reference("ProfileName");
    EnvironmentName ["name", "environmentName"], Environment, "The name of an environment.",
        EnvironmentName::parse, reference("EnvironmentName");
    SecretName ["secret", "secret"], EnvironmentSecret, "The name of a secret of this environment.",
        SecretName::parse, secret_name();
    WebhookId ["id", "webhookId"], Webhook, "The id of a webhook.",
        WebhookId::parse, reference("WebhookId");
    DeliveryId ["deliveryId", "deliveryId"], Delivery, "The id of a delivery of this webhook.",
        DeliveryId::parse, reference("DeliveryId");
    BudgetId ["id", "budgetId"], Budget, "The id of a budget.", BudgetId::parse, reference("BudgetId");
    TriggerId ["id", "triggerId"], Trigger, "The id of a trigger.",
        TriggerId::parse, reference("TriggerId");
    ScheduleId ["id", "scheduleId"], Schedule, "The id of a schedule.",
        ScheduleId::parse, reference("ScheduleId");
    InboxId ["id", "inboxId"], Inbox, "The id of an inbox.", InboxId::parse, reference("InboxId");
    InboxDeliveryId ["deliveryId", "inboxDeliveryId"], Delivery, "The id of a delivery to this inbox.",
        InboxDeliveryId::parse, reference("InboxDeliveryId");
    Month ["month", "month"], Statement, "A month in UTC, such as `2026-11`.", Month::parse, month();
}

fn plugin_id(text: &str) -> Result<PluginId, String> {
    PluginId::parse(&decoded_plugin_id(text))
}

fn secret_name() -> Json {
    let name = json!({
        "type": "string",
        "pattern": VARIABLE,
        "description": "A part of a path.",
    });
    named("EnvironmentSecretName", name)
}

fn month() -> Json {
    let month = json!({
        "type": "string",
        "pattern": "^[0-9]{4}-[0-9]{2}$",
        "description": "A part of a path.",
    });
    named("StatementMonth", month)
}

/// The text of a plugin's id. A gateway that hands parameters over as they were sent may have left its
/// colon encoded; no id holds a percent sign.
#[must_use]
pub fn decoded_plugin_id(text: &str) -> String {
    text.replace("%3A", ":").replace("%3a", ":")
}
