//! A request for another turn of a thread. Members that it leaves out are those of the turn before, but
//! limits and iterations are the profile's; repository, branch, tenant and cost labels are the thread's.

use std::collections::BTreeMap;

use awo_contract::body::{FaultList, Object};
use awo_contract::work_orders::input::FollowUpFields;
use awo_domain::Error;
use awo_domain::environment::{EnvironmentContent, EnvironmentName};
use awo_domain::profile::{Profile, ProfileName};
use awo_domain::work_order::{ChosenEnvironment, Order, Terms};
use awo_store::work_orders::WorkOrder;

use super::{chosen, runnable};

/// Members of a create that a thread fixes.
const FIXED: [&str; 6] = [
    "workspaceSource",
    "tenantContext",
    "parentId",
    "resultBranch",
    "verifyBase",
    "protect",
];

/// The body of a follow-up, as it was read. The resources that it names are not known yet.
#[derive(Debug, Clone)]
pub struct FollowUpRequest {
    fields: FollowUpFields,
    faults: FaultList,
}

/// The resources of a follow-up.
#[derive(Debug)]
pub struct TurnBefore<'a> {
    /// The turn before.
    pub order: &'a WorkOrder,
    /// The profile of the turn before.
    pub profile: Profile,
    /// The profile that the request names, if there is one of that name.
    pub named: Option<Profile>,
    /// The content of the environment that the request names, if there is one of that name.
    pub content: Option<EnvironmentContent>,
    /// The environment of the turn before.
    pub environment: Option<ChosenEnvironment>,
}

impl FollowUpRequest {
    /// Reads a body.
    #[must_use]
    pub fn read(mut body: Object) -> FollowUpRequest {
        let fields = FollowUpFields::of(&mut body);
        for name in FIXED {
            if body.optional(name, |_| Some(())).is_some() {
                body.fault(name, "is the thread's: omit it");
            }
        }
        FollowUpRequest {
            fields,
            faults: body.close(),
        }
    }

    /// Checks the body as far as it does not depend on the thread.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault.
    pub fn check(self) -> Result<(), Error> {
        self.faults.finish(Some(()))
    }

    /// The name of the profile.
    #[must_use]
    pub fn profile(&self) -> Option<&ProfileName> {
        self.fields.task.profile.as_ref()
    }

    /// The name of the environment.
    #[must_use]
    pub fn environment(&self) -> Option<&EnvironmentName> {
        self.fields.environment.as_ref()
    }

    /// The labels that the request names.
    #[must_use]
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        self.fields.task.metadata.as_ref()
    }

    /// The request with the turn before it.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault.
    pub fn resolve(mut self, before: TurnBefore<'_>) -> Result<(Order, Profile), Error> {
        let FollowUpFields {
            task,
            environment,
            merge_target,
        } = self.fields;
        let named = runnable(&task, before.named, &mut self.faults);
        let profile = named.unwrap_or(before.profile);
        let environment = match environment {
            Some(name) => chosen(Some(name), before.content, &mut self.faults),
            None => before.environment,
        };
        let order = before.order;
        if task.agent.is_none() && order.terms.agent.kind.is_verification() {
            let message = "is required: the turn before verified a commit and had no agent";
            self.faults.add("/agent", message);
        }
        let order = task.prompt.map(|task_prompt| Order {
            task_prompt,
            source: order.source.clone(),
            hooks: order.hooks.clone(),
            max_iterations: task.max_iterations,
            terms: Terms {
                tenant_context: order.terms.tenant_context.clone(),
                harness: profile.name.clone(),
                agent: task.agent.unwrap_or_else(|| order.terms.agent.clone()),
                limits: task.limits,
                metadata: task
                    .metadata
                    .unwrap_or_else(|| order.terms.metadata.clone()),
                parent_id: None,
                verify_base: None,
                protect: false,
                merge_target,
                result_branch: order.terms.result_branch.clone(),
            },
            start_commit: None,
            environment,
        });
        self.faults.finish(order).map(|order| (order, profile))
    }
}
