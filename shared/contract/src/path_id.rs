//! Ids and names in paths.

use awo_domain::environment::EnvironmentName;
use awo_domain::plugin::PluginId;
use awo_domain::profile::ProfileName;
use awo_domain::statement::Month;
use awo_domain::template::TemplateId;
use awo_domain::{BudgetId, DeliveryId, Resource, RunId, WebhookId, WorkOrderId};
use serde_json::{Value as Json, json};

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

impl PathId for WorkOrderId {
    const NAMES: [&'static str; 2] = ["id", "workOrderId"];
    const RESOURCE: Resource = Resource::WorkOrder;
    const DESCRIPTION: &'static str = "The id of a work order.";

    fn parse(text: &str) -> Option<WorkOrderId> {
        WorkOrderId::parse(text).ok()
    }

    fn schema() -> Json {
        reference("WorkOrderId")
    }
}

impl PathId for RunId {
    const NAMES: [&'static str; 2] = ["id", "runId"];
    const RESOURCE: Resource = Resource::Run;
    const DESCRIPTION: &'static str = "The id of a run.";

    fn parse(text: &str) -> Option<RunId> {
        RunId::parse(text).ok()
    }

    fn schema() -> Json {
        reference("RunId")
    }
}

impl PathId for TemplateId {
    const NAMES: [&'static str; 2] = ["id", "templateId"];
    const RESOURCE: Resource = Resource::Template;
    const DESCRIPTION: &'static str = "The id of a template.";

    fn parse(text: &str) -> Option<TemplateId> {
        TemplateId::parse(text).ok()
    }

    fn schema() -> Json {
        reference("TemplateId")
    }
}

impl PathId for PluginId {
    const NAMES: [&'static str; 2] = ["id", "pluginId"];
    const RESOURCE: Resource = Resource::Plugin;
    const DESCRIPTION: &'static str = "The id of a verification plugin.";

    fn parse(text: &str) -> Option<PluginId> {
        PluginId::parse(&decoded_plugin_id(text)).ok()
    }

    fn schema() -> Json {
        reference("PluginId")
    }
}

impl PathId for ProfileName {
    const NAMES: [&'static str; 2] = ["name", "profileName"];
    const RESOURCE: Resource = Resource::Profile;
    const DESCRIPTION: &'static str = "The name of a harness profile.";

    fn parse(text: &str) -> Option<ProfileName> {
        ProfileName::parse(text).ok()
    }

    fn schema() -> Json {
        reference("ProfileName")
    }
}

impl PathId for EnvironmentName {
    const NAMES: [&'static str; 2] = ["name", "environmentName"];
    const RESOURCE: Resource = Resource::Environment;
    const DESCRIPTION: &'static str = "The name of an environment.";

    fn parse(text: &str) -> Option<EnvironmentName> {
        EnvironmentName::parse(text).ok()
    }

    fn schema() -> Json {
        reference("EnvironmentName")
    }
}

impl PathId for WebhookId {
    const NAMES: [&'static str; 2] = ["id", "webhookId"];
    const RESOURCE: Resource = Resource::Webhook;
    const DESCRIPTION: &'static str = "The id of a webhook.";

    fn parse(text: &str) -> Option<WebhookId> {
        WebhookId::parse(text).ok()
    }

    fn schema() -> Json {
        reference("WebhookId")
    }
}

impl PathId for DeliveryId {
    const NAMES: [&'static str; 2] = ["deliveryId", "deliveryId"];
    const RESOURCE: Resource = Resource::Delivery;
    const DESCRIPTION: &'static str = "The id of a delivery of this webhook.";

    fn parse(text: &str) -> Option<DeliveryId> {
        DeliveryId::parse(text).ok()
    }

    fn schema() -> Json {
        reference("DeliveryId")
    }
}

impl PathId for BudgetId {
    const NAMES: [&'static str; 2] = ["id", "budgetId"];
    const RESOURCE: Resource = Resource::Budget;
    const DESCRIPTION: &'static str = "The id of a budget.";

    fn parse(text: &str) -> Option<BudgetId> {
        BudgetId::parse(text).ok()
    }

    fn schema() -> Json {
        reference("BudgetId")
    }
}

impl PathId for Month {
    const NAMES: [&'static str; 2] = ["month", "month"];
    const RESOURCE: Resource = Resource::Statement;
    const DESCRIPTION: &'static str = "A month in UTC, such as `2026-11`.";

    fn parse(text: &str) -> Option<Month> {
        Month::parse(text).ok()
    }

    fn schema() -> Json {
        let month = json!({
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}$",
            "description": "A part of a path.",
        });
        named("StatementMonth", month)
    }
}

/// The text of a plugin's id. A gateway that hands parameters over as they were sent may have left its
/// colon encoded; no id holds a percent sign.
#[must_use]
pub fn decoded_plugin_id(text: &str) -> String {
    text.replace("%3A", ":").replace("%3a", ":")
}
