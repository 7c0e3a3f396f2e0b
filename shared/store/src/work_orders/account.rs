//! The allocation of the cost of a work order and of its runs.

use std::collections::BTreeMap;

use awo_domain::WorkOrderId;
use awo_domain::api_key::KeyId;
use awo_domain::cost::Attribution;
use awo_domain::schedule::Schedule;
use awo_domain::trigger::Trigger;

use super::WorkOrder;

/// Whom the cost of a new work order is put down to.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// The values of its cost labels.
    pub labels: BTreeMap<String, String>,
    /// The id of a key, or of the schedule or trigger that stands as one.
    pub key_id: Option<String>,
    /// The id of the key that last wrote that schedule or trigger.
    pub written_by: Option<String>,
    /// The thread in whose outcome it counts, of what an agent asks for.
    pub root_thread: Option<WorkOrderId>,
    /// The version of the organization's declaration by which the labels are; nothing if they are
    /// the parent's.
    pub policy: u64,
}

impl Account {
    /// That of a client's key.
    #[must_use]
    pub fn of_key(key: &KeyId, labels: BTreeMap<String, String>, policy: u64) -> Account {
        Account {
            labels,
            key_id: Some(key.as_str().to_owned()),
            written_by: None,
            root_thread: None,
            policy,
        }
    }

    /// That of a schedule.
    #[must_use]
    pub fn of_schedule(
        schedule: &Schedule,
        labels: BTreeMap<String, String>,
        policy: u64,
    ) -> Account {
        Account {
            labels,
            key_id: Some(schedule.id.to_string()),
            written_by: Some(schedule.created_by.to_string()),
            root_thread: None,
            policy,
        }
    }

    /// The account of a trigger.
    #[must_use]
    pub fn of_trigger(trigger: &Trigger, labels: BTreeMap<String, String>, policy: u64) -> Account {
        Account {
            labels,
            key_id: Some(trigger.id.to_string()),
            written_by: Some(trigger.created_by.to_string()),
            root_thread: None,
            policy,
        }
    }

    /// That of a parent, for what its agent asks for.
    #[must_use]
    pub fn of_parent(parent: &WorkOrder) -> Account {
        Account {
            labels: parent.cost_labels.clone(),
            key_id: parent.key_id.clone(),
            written_by: parent.written_by.clone(),
            root_thread: Some(parent.outcome_thread().clone()),
            policy: 0,
        }
    }
}

impl WorkOrder {
    /// The thread in whose outcome its cost counts.
    pub(crate) fn outcome_thread(&self) -> &WorkOrderId {
        self.root_thread
            .as_ref()
            .unwrap_or_else(|| self.thread_id())
    }

    /// The dimensions of its runs' cost.
    pub(crate) fn attribution(&self) -> Attribution {
        Attribution {
            repository: self.source.repository.as_str().to_owned(),
            agent: self.terms.agent.kind.as_str().to_owned(),
            harness: self.terms.harness.clone(),
            key_id: self.key_id.clone(),
            written_by: self.written_by.clone(),
            thread_id: Some(self.outcome_thread().clone()),
            labels: self.cost_labels.clone(),
        }
    }
}
