//! Work orders: a client's tasks, with their only possible transitions.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::agent::Agent;
use crate::environment::{EnvironmentContent, EnvironmentName, SecretOwners};
use crate::names::variants;
use crate::source::Branch;
use crate::{TaskPrompt, WorkOrderId};

/// The status of a work order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum WorkOrderStatus {
    /// Waits for a slot.
    Queued,
    /// Its run has a slot.
    Running,
    /// Its agent is done; its children are not.
    WaitingForChildren,
    /// Its children's branches are merged and verified.
    Integrating,
    /// Done.
    Succeeded,
    /// Its newest run failed.
    Failed,
    /// Stopped by a client.
    Canceled,
}

impl WorkOrderStatus {
    /// True when only a new run can change it.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            WorkOrderStatus::Succeeded | WorkOrderStatus::Failed | WorkOrderStatus::Canceled
        )
    }

    /// True while its newest run has compute, or is being given some.
    #[must_use]
    pub fn has_slot(self) -> bool {
        matches!(
            self,
            WorkOrderStatus::Running | WorkOrderStatus::Integrating
        )
    }

    /// The status after `event`, or none if the event cannot happen in this status.
    #[must_use]
    pub fn after(self, event: WorkOrderEvent) -> Option<WorkOrderStatus> {
        use WorkOrderEvent as E;
        use WorkOrderStatus as S;
        match (self, event) {
            (S::Queued, E::SlotTaken) => Some(S::Running),
            (S::Running, E::NoCapacity) => Some(S::Queued),
            (S::Integrating, E::NoCapacity) => Some(S::WaitingForChildren),
            (S::Running, E::ChildrenOpened) => Some(S::WaitingForChildren),
            (S::WaitingForChildren, E::ChildrenEnded) => Some(S::Integrating),
            (S::Running | S::Integrating, E::Succeeded) => Some(S::Succeeded),
            (S::Running | S::WaitingForChildren | S::Integrating, E::Failed) => Some(S::Failed),
            (S::Queued | S::Running | S::WaitingForChildren | S::Integrating, E::Canceled) => {
                Some(S::Canceled)
            }
            (S::Queued | S::Failed, E::RunStarted) => Some(S::Queued),
            (
                S::Queued,
                E::NoCapacity | E::ChildrenOpened | E::ChildrenEnded | E::Succeeded | E::Failed,
            )
            | (S::Running, E::SlotTaken | E::ChildrenEnded | E::RunStarted)
            | (
                S::WaitingForChildren,
                E::SlotTaken | E::NoCapacity | E::ChildrenOpened | E::Succeeded | E::RunStarted,
            )
            | (
                S::Integrating,
                E::SlotTaken | E::ChildrenOpened | E::ChildrenEnded | E::RunStarted,
            )
            | (
                S::Failed,
                E::SlotTaken
                | E::NoCapacity
                | E::ChildrenOpened
                | E::ChildrenEnded
                | E::Succeeded
                | E::Failed
                | E::Canceled,
            )
            | (
                S::Succeeded | S::Canceled,
                E::SlotTaken
                | E::NoCapacity
                | E::ChildrenOpened
                | E::ChildrenEnded
                | E::Succeeded
                | E::Failed
                | E::Canceled
                | E::RunStarted,
            ) => None,
        }
    }
}

/// What can happen to a work order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, VariantArray)]
pub enum WorkOrderEvent {
    /// Its run was given a slot.
    SlotTaken,
    /// There was no compute for its run, which gave its slot back.
    NoCapacity,
    /// Its agent is done and has open children.
    ChildrenOpened,
    /// Its last child ended and it was given a slot again.
    ChildrenEnded,
    /// Its run succeeded.
    Succeeded,
    /// Its run failed.
    Failed,
    /// A client stopped it.
    Canceled,
    /// A client started a new run.
    RunStarted,
}

impl WorkOrderEvent {
    /// Every event.
    pub const ALL: [WorkOrderEvent; WorkOrderEvent::VARIANTS.len()] = variants();
}

/// The client's own customer, if it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantContext {
    /// The tenant, by which the queue is fair.
    pub tenant_id: String,
    /// A user of the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_user_id: Option<String>,
}

/// The limits that a client sets for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkOrderLimits)]
pub struct Limits {
    /// The most credits that a run may cost; also the hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_credits: Option<crate::money::MicroCredits>,
    /// The longest that a run may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration_ms: Option<u64>,
}

impl Limits {
    fn is_empty(&self) -> bool {
        *self == Limits::default()
    }
}

/// The fields of a work order that no layer changes: they are stored and shown as they were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    /// The tenant for which it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_context: Option<TenantContext>,
    /// The name of its profile.
    pub harness: String,
    /// The agent that does the work.
    pub agent: Agent,
    /// Its own limits; absent if it has none.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// The labels of the create; absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// The work order of which it is a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<WorkOrderId>,
    /// The branch whose plan a `verify` order follows; absent for the repository's default branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub verify_base: Option<Branch>,
    /// True if a `verify` order restores protected files to the base's content; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protect: bool,
    /// True if the target branch is merged before the agent begins; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merge_target: bool,
    /// The existing branch onto which the result is pushed; absent where it gets a branch of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub result_branch: Option<Branch>,
}

/// What a client asks for: the body of a create, read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The task.
    pub task_prompt: TaskPrompt,
    /// Where the workspace comes from.
    pub source: crate::source::GitSource,
    /// What is done after the clone.
    pub hooks: crate::template::Hooks,
    /// The number of iterations, where the client wants its own.
    pub max_iterations: Option<u32>,
    /// What is stored and shown as it was read.
    pub terms: Terms,
    /// The commit of the source's branch to begin from; without it the branch's newest.
    pub start_commit: Option<String>,
    /// Where its commands happen, as it is now.
    pub environment: Option<ChosenEnvironment>,
}

/// The environment of a work order, with its content at the time of the choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenEnvironment {
    /// Its name.
    pub name: EnvironmentName,
    /// Its content at that time.
    pub content: EnvironmentContent,
    /// Its secrets whose values count; none once the environment is deleted.
    pub secret_owners: SecretOwners,
}

/// Deepest work order; one without a parent has depth 0.
pub const MAX_DEPTH: u32 = 3;
/// Most children of a work order, whatever has become of them.
pub const MAX_CHILDREN: u32 = 20;

/// Longest task prompt, in characters.
pub const MAX_TASK_PROMPT: usize = 50_000;
/// Most iterations that a client may ask for.
pub const MAX_ITERATIONS: u32 = 100;
/// Most metadata pairs.
pub const MAX_METADATA: usize = 20;
/// Longest metadata key, in characters.
pub const MAX_METADATA_KEY: usize = 64;
/// Longest metadata value, in characters.
pub const MAX_METADATA_VALUE: usize = 1_024;
/// Longest tenant id and tenant user id, in characters.
pub const MAX_TENANT: usize = 128;
/// Most arguments of a command.
pub const MAX_COMMAND: usize = 64;
/// Longest argument of a command, in characters.
pub const MAX_ARGUMENT: usize = 8_192;
/// Shortest and longest run that a client may ask for.
pub const DURATION_MS: std::ops::RangeInclusive<u64> = 1_000..=86_400_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_transitions_are_possible() {
        use WorkOrderEvent as E;
        use WorkOrderStatus as S;
        let legal = [
            (S::Queued, E::SlotTaken, S::Running),
            (S::Queued, E::Canceled, S::Canceled),
            (S::Queued, E::RunStarted, S::Queued),
            (S::Running, E::NoCapacity, S::Queued),
            (S::Integrating, E::NoCapacity, S::WaitingForChildren),
            (S::Running, E::ChildrenOpened, S::WaitingForChildren),
            (S::Running, E::Succeeded, S::Succeeded),
            (S::Running, E::Failed, S::Failed),
            (S::Running, E::Canceled, S::Canceled),
            (S::WaitingForChildren, E::ChildrenEnded, S::Integrating),
            (S::WaitingForChildren, E::Failed, S::Failed),
            (S::WaitingForChildren, E::Canceled, S::Canceled),
            (S::Integrating, E::Succeeded, S::Succeeded),
            (S::Integrating, E::Failed, S::Failed),
            (S::Integrating, E::Canceled, S::Canceled),
            (S::Failed, E::RunStarted, S::Queued),
        ];
        for from in S::ALL {
            for event in E::ALL {
                let wanted = legal
                    .iter()
                    .find(|(f, e, _)| (*f, *e) == (from, event))
                    .map(|(_, _, to)| *to);
                assert_eq!(from.after(event), wanted, "{from:?} {event:?}");
            }
        }
    }

    #[test]
    fn wire_names_are_the_serde_names() {
        for status in WorkOrderStatus::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(WorkOrderStatus::parse(status.as_str()), Some(status));
        }
    }
}
