//! The body of a follow-up: the members of a create that a thread does not fix.

use awo_domain::environment::EnvironmentName;

use super::{TaskFields, is_verification};
use crate::field::{Field, flag, typed};
use crate::record::{Members, Record};

/// The body of a follow-up.
#[derive(Debug)]
pub struct FollowUpBody;

/// A body, as it was read. The resources that it names are not known yet.
#[derive(Debug, Clone)]
pub struct FollowUpFields {
    /// The members that a create has, too.
    pub task: TaskFields,
    /// The environment of its commands.
    pub environment: Option<EnvironmentName>,
    /// True if the target branch is merged first.
    pub merge_target: bool,
}

impl Record for FollowUpBody {
    type Output = FollowUpFields;

    fn members<M: Members>(&self, members: &mut M) -> Option<FollowUpFields> {
        Some(FollowUpFields::of(members))
    }
}

impl FollowUpFields {
    /// Reads or declares the members of a follow-up.
    pub fn of<M: Members>(members: &mut M) -> FollowUpFields {
        let fields = FollowUpFields {
            task: TaskFields::of(members),
            environment: members.optional(
                "environment",
                typed::<EnvironmentName, _, _>(EnvironmentName::parse)
                    .described("The environment of its commands; the default is that of the turn before."),
            ),
            merge_target: members
                .optional(
                    "mergeTarget",
                    flag().described(
                        "Merges the head of the target branch before the agent begins; conflicts are given to the agent.",
                    ),
                )
                .unwrap_or_default(),
        };
        if is_verification(fields.task.agent.as_ref()) {
            members.fault(
                "agent",
                "must not be verify: a turn continues the work on its branch, and a verification delivers nothing",
            );
        }
        fields
    }
}
