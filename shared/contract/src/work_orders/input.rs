//! The body of a create, and an agent's request for a child, which has the same members except those
//! that children inherit.

mod fields;
mod follow_up;
mod sources;

use std::collections::BTreeMap;

use awo_domain::agent::Agent;
use awo_domain::environment::EnvironmentName;
use awo_domain::profile::ProfileName;
use awo_domain::source::{Branch, MAX_BRANCH};
use awo_domain::work_order::{Limits, MAX_ITERATIONS, MAX_TASK_PROMPT, TenantContext};
use awo_domain::{Fault, TaskPrompt, WorkOrderId};

use crate::body::Value;
use crate::field::{Field, flag, parsed, shown_default, small, text, typed};
use crate::record::{Members, Record};
use crate::schema::{self, Schemas};
use fields::{AgentInput, LimitsInput, TenantInput, metadata};
pub use follow_up::{FollowUpBody, FollowUpFields};
use sources::SourceInput;
pub use sources::WorkspaceSource;

/// The fault of a name that no profile has.
pub const UNKNOWN_PROFILE: &str = "is not the name of a profile: GET /api/v1/profiles lists them";
const ONLY_VERIFY: &str = "is allowed only with the agent type verify";

/// The body of a create.
#[derive(Debug)]
pub struct NewWorkOrder {
    /// True if `file:///` repositories may be cloned.
    pub allow_file: bool,
}

/// A body, as it was read. The resources that it names are not known yet.
#[derive(Debug)]
pub struct WorkOrderFields {
    /// The members that requests for children have, too.
    pub task: TaskFields,
    /// The source of the workspace.
    pub source: Option<WorkspaceSource>,
    /// The tenant of the work.
    pub tenant_context: Option<TenantContext>,
    /// The parent.
    pub parent_id: Option<WorkOrderId>,
    /// The environment of its commands.
    pub environment: Option<EnvironmentName>,
    /// The branch whose plan counts.
    pub verify_base: Option<Branch>,
    /// True if protected files have the content of `verify_base`.
    pub protect: bool,
    /// The existing branch onto which the result is pushed.
    pub result_branch: Option<Branch>,
}

/// The members that a create and an agent's request for a child have in common.
#[derive(Debug, Clone)]
pub struct TaskFields {
    /// The task.
    pub prompt: Option<TaskPrompt>,
    /// Number of iterations.
    pub max_iterations: Option<u32>,
    /// Name of the profile.
    pub profile: Option<ProfileName>,
    /// The agent.
    pub agent: Option<Agent>,
    /// Limits of each run.
    pub limits: Limits,
    /// Labels of the client; none if there is no such member.
    pub metadata: Option<BTreeMap<String, String>>,
}

impl Record for NewWorkOrder {
    type Output = WorkOrderFields;

    fn members<M: Members>(&self, members: &mut M) -> Option<WorkOrderFields> {
        Some(WorkOrderFields::of(members, self.allow_file))
    }
}

impl WorkOrderFields {
    /// Reads or declares the members of a create.
    pub fn of<M: Members>(members: &mut M, allow_file: bool) -> WorkOrderFields {
        let source = SourceInput { allow_file };
        let fields = WorkOrderFields {
            task: TaskFields::of(members),
            source: members.required("workspaceSource", source),
            tenant_context: members.optional("tenantContext", TenantInput),
            parent_id: members.optional(
                "parentId",
                typed::<WorkOrderId, _, _>(|text| {
                    WorkOrderId::parse(text).map_err(|why| why.to_string())
                })
                .described("The parent of this work order; it must not be terminal."),
            ),
            environment: members.optional(
                "environment",
                typed::<EnvironmentName, _, _>(EnvironmentName::parse).described(
                    "The environment of its commands; the default is the template's, else the profile's.",
                ),
            ),
            verify_base: members.optional(
                "verifyBase",
                parsed(text(1..=MAX_BRANCH), Branch::parse).described(
                    "For the agent type `verify`: the branch whose plan counts; the default is the repository's default branch.",
                ),
            ),
            protect: members
                .optional(
                    "protect",
                    flag().described(
                        "For the agent type `verify`: protected files and scripts have the content of `verifyBase`.",
                    ),
                )
                .unwrap_or_default(),
            result_branch: members.optional(
                "resultBranch",
                parsed(text(1..=MAX_BRANCH), Branch::parse).described(
                    "The existing branch on which the work begins and onto which its result is pushed; not the repository's default branch, and not for the agent type `verify`.",
                ),
            ),
        };
        if is_verification(fields.task.agent.as_ref()) && fields.result_branch.is_some() {
            members.fault(
                "resultBranch",
                "is not allowed with the agent verify: it delivers nothing",
            );
        }
        if !is_verification(fields.task.agent.as_ref()) {
            members.faults(fields.only_for_verification());
        }
        fields
    }

    /// A fault for each member that only a `verify` order may have.
    fn only_for_verification(&self) -> Vec<Fault> {
        let has_commit = matches!(
            &self.source,
            Some(WorkspaceSource::Git(source)) if source.commit.is_some()
        );
        let members = [
            ("/workspaceSource/commit", has_commit),
            ("/verifyBase", self.verify_base.is_some()),
            ("/protect", self.protect),
        ];
        let given = members.into_iter().filter(|(_, is_given)| *is_given);
        let faults = given.map(|(path, _)| Fault {
            path: path.to_owned(),
            message: ONLY_VERIFY.to_owned(),
        });
        faults.collect()
    }
}

impl TaskFields {
    /// Reads or declares the members that requests for children have, too.
    pub fn of<M: Members>(members: &mut M) -> TaskFields {
        let agent = members.optional("agent", AgentInput);
        let verifies = is_verification(agent.as_ref());
        let prompt = Prompt {
            may_be_empty: verifies,
        };
        let prompt = members.required_if(
            !verifies,
            "taskPrompt",
            prompt.described(
                "The agent's task; required, and not empty, but for the agent type `verify`.",
            ),
        );
        let prompt = if verifies {
            Some(prompt.unwrap_or_default())
        } else {
            prompt
        };
        let max_iterations = members.optional(
            "maxIterations",
            small(1..=u64::from(MAX_ITERATIONS))
                .described("Replaces the profile's own count; not for the agent type `verify`."),
        );
        if verifies && max_iterations.is_some() {
            members.fault(
                "maxIterations",
                "is not allowed with the agent verify: it has no iterations",
            );
        }
        let profile = typed::<ProfileName, _, _>(|name| {
            ProfileName::parse(name).map_err(|_| UNKNOWN_PROFILE.to_owned())
        })
        .described("The name of a harness profile.");
        TaskFields {
            prompt: prompt.map(TaskPrompt::new),
            max_iterations: if verifies { Some(1) } else { max_iterations },
            profile: members.optional("harness", shown_default(profile, "default")),
            agent,
            limits: members.optional("limits", LimitsInput).unwrap_or_default(),
            metadata: members.optional("metadata", metadata()),
        }
    }
}

/// True for a request that only verifies a commit.
fn is_verification(agent: Option<&Agent>) -> bool {
    agent.is_some_and(|agent| agent.kind.is_verification())
}

/// A task, which may be empty for an order that has no agent.
struct Prompt {
    may_be_empty: bool,
}

impl Field for Prompt {
    type Output = String;

    fn read(&self, value: Value) -> Option<String> {
        let least = usize::from(!self.may_be_empty);
        value.text(least..=MAX_TASK_PROMPT)
    }

    fn schema(&self, _: &mut Schemas) -> serde_json::Value {
        schema::text(0..=MAX_TASK_PROMPT)
    }
}
