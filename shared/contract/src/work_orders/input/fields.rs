//! Parts of a request for a work order.

use std::collections::BTreeMap;

use awo_domain::agent::{Agent, AgentType};
use awo_domain::usage::MAX_MODEL_NAME;
use awo_domain::work_order::{
    DURATION_MS, Limits, MAX_ARGUMENT, MAX_COMMAND, MAX_METADATA, MAX_METADATA_KEY,
    MAX_METADATA_VALUE, MAX_TENANT, TenantContext,
};
use serde_json::Value as Json;

use crate::body::Value;
use crate::field::{Field, credits, list, map, one_of, text, typed, whole};
use crate::record::{Component, Members, Record};
use crate::schema::Schemas;

pub(super) struct TenantInput;

impl Record for TenantInput {
    const COMPONENT: Option<Component> = Some(Component {
        name: "TenantContextInput",
        description: "The tenant of the work.",
    });
    type Output = TenantContext;

    fn members<M: Members>(&self, members: &mut M) -> Option<TenantContext> {
        let tenant_id = members.required(
            "tenantId",
            text(1..=MAX_TENANT).described("A customer of yours."),
        );
        let tenant_user_id = members.optional(
            "tenantUserId",
            text(1..=MAX_TENANT).described("A user of that customer."),
        );
        tenant_id.map(|tenant_id| TenantContext {
            tenant_id,
            tenant_user_id,
        })
    }
}

pub(super) struct AgentInput;

impl Record for AgentInput {
    const COMPONENT: Option<Component> = Some(Component {
        name: "AgentInput",
        description: "The agent that does the work; the default is the deployment's.",
    });
    type Output = Agent;

    fn members<M: Members>(&self, members: &mut M) -> Option<Agent> {
        let kind = members.required(
            "type",
            typed::<AgentType, _, _>(|name| one_of(name, AgentType::ALL, AgentType::as_str))
                .described("Its type."),
        );
        let model = members.optional(
            "model",
            text(1..=MAX_MODEL_NAME).described(
                "The model of the agent, if the agent uses one; not for the type `verify`.",
            ),
        );
        let command = members.optional(
            "command",
            list(text(0..=MAX_ARGUMENT), 1..=MAX_COMMAND).described(
                "Program and arguments, for the type `command`; the program is not empty.",
            ),
        );
        if command.is_some() && kind.is_some_and(|kind| kind != AgentType::Command) {
            members.fault("command", "is allowed only for agents of type command");
        }
        if model.is_some() && kind.is_some_and(AgentType::is_verification) {
            members.fault(
                "model",
                "is not allowed with the type verify, which has no agent",
            );
        }
        if command.as_ref().is_some_and(|argv| argv[0].is_empty()) {
            members.fault("command", "must begin with the name of a program");
        }
        kind.map(|kind| Agent {
            kind,
            model,
            command,
        })
    }
}

pub(super) struct LimitsInput;

impl Record for LimitsInput {
    const COMPONENT: Option<Component> = Some(Component {
        name: "WorkOrderLimitsInput",
        description: "Limits of each run, below those of the profile.",
    });
    type Output = Limits;

    fn members<M: Members>(&self, members: &mut M) -> Option<Limits> {
        Some(Limits {
            max_credits: members.optional(
                "maxCredits",
                credits().described(
                    "The maximum cost of a run; also its hold. In credits, with at most six decimal places.",
                ),
            ),
            max_duration_ms: members.optional(
                "maxDurationMs",
                whole(DURATION_MS)
                    .described("The maximum duration of a run, in milliseconds."),
            ),
        })
    }
}

pub(super) fn metadata() -> impl Field<Output = BTreeMap<String, String>> {
    TextMap {
        most: MAX_METADATA,
        name: 1..=MAX_METADATA_KEY,
        value: 0..=MAX_METADATA_VALUE,
    }
    .described("Labels of your own.")
}

/// Texts by their names.
pub(super) struct TextMap {
    pub(super) most: usize,
    pub(super) name: std::ops::RangeInclusive<usize>,
    pub(super) value: std::ops::RangeInclusive<usize>,
}

impl TextMap {
    fn map(&self) -> impl Field<Output = Vec<(String, String)>> {
        map(text(self.value.clone()), self.most, self.name.clone())
    }
}

impl Field for TextMap {
    type Output = BTreeMap<String, String>;

    fn read(&self, value: Value) -> Option<BTreeMap<String, String>> {
        Some(self.map().read(value)?.into_iter().collect())
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        self.map().schema(schemas)
    }
}
