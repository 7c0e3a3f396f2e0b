//! Fields of a request for a work order, each read by itself.

use std::collections::BTreeMap;

use awo_domain::WorkOrderId;
use awo_domain::agent::{Agent, AgentType};
use awo_domain::money::MicroCredits;
use awo_domain::usage::MAX_MODEL_NAME;
use awo_domain::work_order::{
    DURATION_MS, Limits, MAX_ARGUMENT, MAX_COMMAND, MAX_METADATA, MAX_METADATA_KEY,
    MAX_METADATA_VALUE, MAX_TENANT, TenantContext,
};

use crate::body::Value;

pub(super) fn parent_id(value: Value) -> Option<WorkOrderId> {
    value.parsed(|text| WorkOrderId::parse(text).map_err(|why| why.to_string()))
}

pub(super) fn tenant(value: Value) -> Option<TenantContext> {
    value.object(|o| {
        let tenant_id = o.required("tenantId", |v| v.text(1..=MAX_TENANT));
        let tenant_user_id = o.optional("tenantUserId", |v| v.text(1..=MAX_TENANT));
        tenant_id.map(|tenant_id| TenantContext {
            tenant_id,
            tenant_user_id,
        })
    })
}

pub(super) fn agent(value: Value) -> Option<Agent> {
    value.object(|o| {
        let kind = o.required("type", |v| {
            v.parsed(|name| {
                AgentType::parse(name).ok_or_else(|| {
                    format!(
                        "must be one of {}",
                        AgentType::ALL.map(AgentType::as_str).join(", ")
                    )
                })
            })
        });
        let model = o.optional("model", |v| v.text(1..=MAX_MODEL_NAME));
        let command = o.optional("command", |v| {
            v.list(1..=MAX_COMMAND, |v| v.text(0..=MAX_ARGUMENT))
        });
        if command.is_some() && kind.is_some_and(|kind| kind != AgentType::Command) {
            o.fault("command", "is allowed only for agents of type command");
        }
        if model.is_some() && kind.is_some_and(AgentType::is_verification) {
            o.fault(
                "model",
                "is not allowed with the type verify, which has no agent",
            );
        }
        if command.as_ref().is_some_and(|argv| argv[0].is_empty()) {
            o.fault("command", "must begin with the name of a program");
        }
        kind.map(|kind| Agent {
            kind,
            model,
            command,
        })
    })
}

pub(super) fn limits(value: Value) -> Option<Limits> {
    value.object(|o| {
        let max_credits = o.optional("maxCredits", |v| {
            v.decimal(|credits| match MicroCredits::from_decimal(credits)? {
                MicroCredits::ZERO => Err("must be more than 0".to_owned()),
                credits => Ok(credits),
            })
        });
        let max_duration_ms = o.optional("maxDurationMs", |v| v.whole(DURATION_MS));
        Some(Limits {
            max_credits,
            max_duration_ms,
        })
    })
}

pub(super) fn metadata(value: Value) -> Option<BTreeMap<String, String>> {
    let pairs = value.map(MAX_METADATA, 1..=MAX_METADATA_KEY, |v| {
        v.text(0..=MAX_METADATA_VALUE)
    })?;
    Some(pairs.into_iter().collect())
}
