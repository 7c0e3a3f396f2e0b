//! A request for a work order: the body of a create, and an agent's request for a child, which has the
//! same fields except those that children inherit. A body is read once; then the resources that it
//! names are read, and it is resolved with them. Faults of both are reported together.

use awo_cloud::{Environment, SetupError, settings};
use awo_contract::body::{FaultList, Object};
use awo_contract::work_orders::input::{
    TaskFields, UNKNOWN_PROFILE, WorkOrderFields, WorkspaceSource,
};
use awo_domain::agent::{Agent, AgentType};
use awo_domain::environment::{EnvironmentContent, EnvironmentName, SecretOwners};
use awo_domain::profile::{Profile, ProfileName};
use awo_domain::source::{Branch, GitSource};
use awo_domain::template::{TemplateContent, TemplateId};
use awo_domain::work_order::{ChosenEnvironment, Order, Terms};
use awo_domain::{Error, WorkOrderId};
use awo_store::work_orders::WorkOrder;
use awo_store::work_orders::parents::why_no_parent;

pub use follow_up::{FollowUpRequest, TurnBefore};
use sources::resolved;

mod follow_up;
mod sources;

/// The defaults of a body.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The agent.
    pub agent: AgentType,
    /// Whether `file:///` repositories may be cloned.
    pub allow_file_repositories: bool,
}

impl Defaults {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting is not valid.
    pub fn of(environment: &Environment) -> Result<Defaults, SetupError> {
        Ok(Defaults {
            agent: settings::default_agent(environment)?,
            allow_file_repositories: settings::allow_file_repositories(environment),
        })
    }
}

/// The body of a create, as it was read. The resources that it names are not known yet.
#[derive(Debug)]
pub struct WorkOrderRequest {
    fields: WorkOrderFields,
    faults: FaultList,
}

/// An agent's request for a child, as it was read.
#[derive(Debug)]
pub struct ChildRequest {
    task: TaskFields,
    faults: FaultList,
}

/// The resources that a request names, as far as they exist.
#[derive(Debug)]
pub struct NamedResources<'a> {
    /// The template.
    pub template: Option<&'a TemplateContent>,
    /// The effective profile.
    pub profile: Option<Profile>,
    /// The parent.
    pub parent: Option<&'a WorkOrder>,
    /// The content of [`WorkOrderRequest::environment`].
    pub environment: Option<EnvironmentContent>,
}

/// The inheritance of a child from its parent.
#[derive(Debug)]
pub struct Inheritance<'a> {
    /// The parent.
    pub parent: &'a WorkOrder,
    /// The parent's effective profile.
    pub profile: Profile,
    /// The branch that the parent's run has pushed.
    pub branch: Branch,
    /// The commit of it that the child begins from.
    pub commit: String,
    /// The parent's environment.
    pub environment: Option<ChosenEnvironment>,
}

impl ChildRequest {
    /// Reads task, iterations, harness, agent, limits and metadata. The rest is the parent's, and
    /// naming it is a fault.
    #[must_use]
    pub fn read(mut body: Object) -> ChildRequest {
        let task = TaskFields::of(&mut body);
        for name in [
            "workspaceSource",
            "tenantContext",
            "parentId",
            "environment",
        ] {
            if body.optional(name, |_| Some(())).is_some() {
                body.fault(name, "is inherited from the parent: omit it");
            }
        }
        ChildRequest {
            task,
            faults: body.close(),
        }
    }

    /// The name of the profile.
    #[must_use]
    pub fn profile(&self) -> Option<&ProfileName> {
        self.task.profile.as_ref()
    }

    /// The request with the profile that it names, if that exists, and with what it inherits.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault.
    pub fn resolve(
        mut self,
        inherited: Inheritance<'_>,
        named: Option<Profile>,
    ) -> Result<(Order, Profile), Error> {
        let named = runnable(&self.task, named, &mut self.faults);
        let (task, parent) = (self.task, inherited.parent);
        let profile = named.unwrap_or(inherited.profile);
        let order = task.prompt.map(|task_prompt| Order {
            task_prompt,
            source: GitSource {
                repository: parent.source.repository.clone(),
                branch: Some(inherited.branch),
                commit: None,
            },
            hooks: parent.hooks.clone(),
            max_iterations: task.max_iterations,
            terms: Terms {
                tenant_context: parent.terms.tenant_context.clone(),
                harness: profile.name.clone(),
                agent: task.agent.unwrap_or_else(|| parent.terms.agent.clone()),
                limits: task.limits,
                metadata: task.metadata.unwrap_or_default(),
                parent_id: Some(parent.id.clone()),
                verify_base: None,
                protect: false,
                merge_target: false,
                result_branch: None,
            },
            start_commit: Some(inherited.commit),
            environment: inherited.environment,
        });
        self.faults.finish(order).map(|order| (order, profile))
    }
}

impl WorkOrderRequest {
    /// Reads a body.
    #[must_use]
    pub fn read(mut body: Object, defaults: &Defaults) -> WorkOrderRequest {
        WorkOrderRequest {
            fields: WorkOrderFields::of(&mut body, defaults.allow_file_repositories),
            faults: body.close(),
        }
    }

    /// The id of the template.
    #[must_use]
    pub fn template(&self) -> Option<&TemplateId> {
        match self.fields.source.as_ref()? {
            WorkspaceSource::Template { id, .. } => Some(id),
            WorkspaceSource::Git(_) => None,
        }
    }

    /// The name of the profile.
    #[must_use]
    pub fn profile(&self) -> Option<&ProfileName> {
        self.fields.task.profile.as_ref()
    }

    /// The id of the parent.
    #[must_use]
    pub fn parent(&self) -> Option<&WorkOrderId> {
        self.fields.parent_id.as_ref()
    }

    /// The name of the environment: the request's own, else its template's, else its profile's.
    #[must_use]
    pub fn environment(
        &self,
        template: Option<&TemplateContent>,
        profile: Option<&Profile>,
    ) -> Option<EnvironmentName> {
        (self.fields.environment.clone())
            .or_else(|| template?.environment.clone())
            .or_else(|| profile?.environment.clone())
    }

    /// The request with the resources that it names.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault.
    pub fn resolve(
        mut self,
        defaults: &Defaults,
        named: NamedResources<'_>,
    ) -> Result<(Order, Profile), Error> {
        let environment = self.environment(named.template, named.profile.as_ref());
        let environment = chosen(environment, named.environment, &mut self.faults);
        let fields = self.fields;
        let profile = runnable(&fields.task, named.profile, &mut self.faults);
        let profile = profile.unwrap_or_else(Profile::default_profile);
        let allow_file = defaults.allow_file_repositories;
        let source = resolved(fields.source, named.template, allow_file, &mut self.faults);
        if let Some(why) = (fields.parent_id.as_ref()).and_then(|_| why_no_parent(named.parent)) {
            self.faults.add("/parentId", why);
        }
        let task = fields.task;
        let order = (task.prompt.zip(source)).map(|(task_prompt, source)| Order {
            task_prompt,
            source: source.source,
            hooks: source.hooks,
            max_iterations: task.max_iterations,
            terms: Terms {
                tenant_context: fields.tenant_context,
                harness: profile.name.clone(),
                agent: task.agent.unwrap_or(Agent {
                    kind: defaults.agent,
                    model: None,
                    command: None,
                }),
                limits: task.limits,
                metadata: task.metadata.unwrap_or_default(),
                parent_id: fields.parent_id,
                verify_base: fields.verify_base,
                protect: fields.protect,
                merge_target: false,
                result_branch: fields.result_branch,
            },
            start_commit: None,
            environment,
        });
        self.faults.finish(order).map(|order| (order, profile))
    }
}

/// The profile that the request names, if it is one that runs can have.
fn runnable(task: &TaskFields, named: Option<Profile>, faults: &mut FaultList) -> Option<Profile> {
    task.profile.as_ref()?;
    let Some(profile) = named else {
        faults.add("/harness", UNKNOWN_PROFILE);
        return None;
    };
    if let Some(why) = profile.not_runnable() {
        faults.add("/harness", why);
        return None;
    }
    Some(profile)
}

/// The environment of that name, which must exist.
fn chosen(
    name: Option<EnvironmentName>,
    content: Option<EnvironmentContent>,
    faults: &mut FaultList,
) -> Option<ChosenEnvironment> {
    let name = name?;
    let Some(content) = content else {
        let message = format!(
            "is not the name of an environment: there is no {name}; GET /v1/environments lists those \
             there are"
        );
        faults.add("/environment", message);
        return None;
    };
    Some(ChosenEnvironment {
        name,
        content,
        secret_owners: SecretOwners::new(),
    })
}
