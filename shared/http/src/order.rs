//! A request for a work order, read and checked: the body of a create, and an agent's request for a
//! child, which has the same fields except those that children inherit.

use std::collections::BTreeMap;

use awo_domain::agent::{Agent, AgentType};
use awo_domain::environment::{EnvironmentContent, EnvironmentName};
use awo_domain::money::MicroCredits;
use awo_domain::profile::{Profile, ProfileName};
use awo_domain::source::{Branch, GitSource, Repository};
use awo_domain::template::{
    Hooks, MAX_VALUE, MAX_VARIABLE_NAME, MAX_VARIABLES, Resolved, TemplateContent, TemplateId,
};
use awo_domain::usage::MAX_MODEL_NAME;
use awo_domain::work_order::{
    ChosenEnvironment, DURATION_MS, Limits, MAX_ARGUMENT, MAX_COMMAND, MAX_ITERATIONS,
    MAX_METADATA, MAX_METADATA_KEY, MAX_METADATA_VALUE, MAX_TASK_PROMPT, MAX_TENANT, Order,
    TenantContext,
};
use awo_domain::{Error, WorkOrderId};
use awo_store::work_orders::WorkOrder;
use awo_store::work_orders::parents::why_no_parent;

use crate::body::{Object, Value};

/// What holds where the body does not say.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The agent.
    pub agent: AgentType,
    /// Whether `file:///` repositories may be cloned.
    pub allow_file_repositories: bool,
}

/// The template that a body names, before anything else of it is read.
#[must_use]
pub fn named_template(mut body: Object) -> Option<TemplateId> {
    body.optional("workspaceSource", |v| {
        v.object(|o| o.optional("templateId", |v| v.parsed(TemplateId::parse)))
    })
}

/// The work order that a body names as its parent, before anything else of it is read.
#[must_use]
pub fn named_parent(mut body: Object) -> Option<WorkOrderId> {
    body.optional("parentId", parent_id)
}

/// The profile that a body names, before anything else of it is read.
#[must_use]
pub fn named_profile(mut body: Object) -> Option<ProfileName> {
    body.optional("harness", |v| v.parsed(ProfileName::parse))
}

/// The environment that a body names, before anything else of it is read.
#[must_use]
pub fn named_environment(mut body: Object) -> Option<EnvironmentName> {
    body.optional("environment", |v| v.parsed(EnvironmentName::parse))
}

/// What there is of what a body names.
pub struct Named<'a> {
    /// The template.
    pub template: Option<&'a TemplateContent>,
    /// What the profile comes to.
    pub profile: Option<Profile>,
    /// The parent.
    pub parent: Option<&'a WorkOrder>,
    /// What the environment says that the body names, or its template, or its profile.
    pub environment: Option<EnvironmentContent>,
}

/// What a child has of its parent.
pub struct Inherited<'a> {
    /// The parent.
    pub parent: &'a WorkOrder,
    /// What the parent's profile comes to.
    pub profile: Profile,
    /// The branch that the parent's run has pushed.
    pub branch: Branch,
    /// The commit of it that the child begins from.
    pub commit: String,
    /// The parent's environment.
    pub environment: Option<ChosenEnvironment>,
}

/// What a body says of the work itself.
struct Work {
    task_prompt: Option<String>,
    max_iterations: Option<u32>,
    profile: Option<Profile>,
    agent: Option<Agent>,
    limits: Limits,
    metadata: BTreeMap<String, String>,
}

impl Work {
    fn read(body: &mut Object, named: Option<Profile>) -> Work {
        let iterations = body.optional("maxIterations", |v| v.whole(1..=u64::from(MAX_ITERATIONS)));
        Work {
            task_prompt: body.required("taskPrompt", |v| v.text(1..=MAX_TASK_PROMPT)),
            max_iterations: iterations.and_then(|n| u32::try_from(n).ok()),
            profile: body.optional("harness", |v| profile(v, named)),
            agent: body.optional("agent", agent),
            limits: body.optional("limits", limits).unwrap_or_default(),
            metadata: body.optional("metadata", metadata).unwrap_or_default(),
        }
    }
}

/// Reads what an agent asks of a child: task, iterations, harness, agent, limits and metadata. The
/// rest is the parent's, which it may not say otherwise.
///
/// # Errors
/// [`Error::Invalid`] with every fault.
pub fn read_child(
    mut body: Object,
    inherited: Inherited<'_>,
    named: Option<Profile>,
) -> Result<(Order, Profile), Error> {
    let work = Work::read(&mut body, named);
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
    let parent = inherited.parent;
    let profile = work.profile.unwrap_or(inherited.profile);
    let order = work.task_prompt.map(|task_prompt| Order {
        task_prompt,
        source: GitSource {
            repository: parent.source.repository.clone(),
            branch: Some(inherited.branch),
        },
        hooks: parent.hooks.clone(),
        max_iterations: work.max_iterations,
        tenant_context: parent.tenant_context.clone(),
        harness: profile.name.clone(),
        agent: work.agent.unwrap_or_else(|| parent.agent.clone()),
        limits: work.limits,
        metadata: work.metadata,
        parent_id: Some(parent.id.clone()),
        start_commit: Some(inherited.commit),
        environment: inherited.environment,
    });
    body.finish(order).map(|order| (order, profile))
}

/// Reads the body; the profile it names comes with it.
///
/// # Errors
/// [`Error::Invalid`] with every fault.
pub fn read_order(
    mut body: Object,
    defaults: &Defaults,
    named: Named<'_>,
) -> Result<(Order, Profile), Error> {
    let work = Work::read(&mut body, named.profile);
    let source = body.required("workspaceSource", |v| {
        source(v, named.template, defaults.allow_file_repositories)
    });
    let tenant_context = body.optional("tenantContext", tenant);
    let profile = work.profile.unwrap_or_else(Profile::default_profile);
    let parent_id = body.optional("parentId", parent_id);
    if let Some(why) = parent_id.as_ref().and_then(|_| why_no_parent(named.parent)) {
        body.fault("parentId", why);
    }
    let own = body.optional("environment", |v| v.parsed(EnvironmentName::parse));
    let of_source = source
        .as_ref()
        .and_then(|source| source.environment.clone());
    let environment = chosen(
        &body,
        own.or(of_source).or(profile.environment.clone()),
        named.environment,
    );
    let asked = work.task_prompt.zip(source);
    let order = asked.map(|(task_prompt, source)| Order {
        task_prompt,
        source: source.source,
        hooks: source.hooks,
        max_iterations: work.max_iterations,
        tenant_context,
        harness: profile.name.clone(),
        agent: work.agent.unwrap_or(Agent {
            kind: defaults.agent,
            model: None,
            command: None,
        }),
        limits: work.limits,
        metadata: work.metadata,
        parent_id,
        start_commit: None,
        environment,
    });
    body.finish(order).map(|order| (order, profile))
}

/// The environment of that name, which must be there.
fn chosen(
    body: &Object,
    name: Option<EnvironmentName>,
    content: Option<EnvironmentContent>,
) -> Option<ChosenEnvironment> {
    let name = name?;
    let Some(content) = content else {
        let message = format!(
            "is not the name of an environment: there is no {name}; GET /v1/environments lists those \
             there are"
        );
        body.fault("environment", message);
        return None;
    };
    Some(ChosenEnvironment { name, content })
}

fn source(value: Value, template: Option<&TemplateContent>, allow_file: bool) -> Option<Resolved> {
    value.object(|o| {
        let is_git = o.required("type", |v| {
            v.parsed(|name| match name {
                "git" => Ok(true),
                "template" => Ok(false),
                _ => Err("must be \"git\" or \"template\"".to_owned()),
            })
        });
        match is_git {
            Some(false) => from_template(o, template, allow_file),
            Some(true) => git(o, allow_file),
            None => git(o, allow_file).and(None),
        }
    })
}

fn git(o: &mut Object, allow_file: bool) -> Option<Resolved> {
    let repository = o.required("repository", |v| {
        v.parsed(|url| Repository::parse(url, allow_file))
    });
    let branch = o.optional("branch", |v| v.parsed(Branch::parse));
    repository.map(|repository| Resolved {
        source: GitSource { repository, branch },
        hooks: Hooks::default(),
        environment: None,
    })
}

fn from_template(
    o: &mut Object,
    template: Option<&TemplateContent>,
    allow_file: bool,
) -> Option<Resolved> {
    let id = o.required("templateId", |v| v.parsed(TemplateId::parse));
    // What was given and is no object of texts must not count as nothing given.
    let given = o.optional("variables", |v| {
        Some(v.map(MAX_VARIABLES, 0..=MAX_VARIABLE_NAME, |v| {
            v.text(0..=MAX_VALUE)
        }))
    });
    let given = given.unwrap_or_else(|| Some(Vec::new()));
    id?;
    let Some(template) = template else {
        o.fault(
            "templateId",
            "is not the id of a template: GET /v1/templates lists them",
        );
        return None;
    };
    template
        .resolve(&given?.into_iter().collect(), allow_file)
        .map_err(|faults| o.faults(faults))
        .ok()
}

fn parent_id(value: Value) -> Option<WorkOrderId> {
    value.parsed(|text| WorkOrderId::parse(text).map_err(|why| why.to_string()))
}

fn tenant(value: Value) -> Option<TenantContext> {
    value.object(|o| {
        let tenant_id = o.required("tenantId", |v| v.text(1..=MAX_TENANT));
        let tenant_user_id = o.optional("tenantUserId", |v| v.text(1..=MAX_TENANT));
        tenant_id.map(|tenant_id| TenantContext {
            tenant_id,
            tenant_user_id,
        })
    })
}

fn profile(value: Value, named: Option<Profile>) -> Option<Profile> {
    value.parsed(|_| {
        let unknown = "is not the name of a profile: GET /api/v1/profiles lists them";
        let profile = named.ok_or_else(|| unknown.to_owned())?;
        match profile.not_runnable() {
            Some(why) => Err(why),
            None => Ok(profile),
        }
    })
}

fn agent(value: Value) -> Option<Agent> {
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

fn limits(value: Value) -> Option<Limits> {
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

fn metadata(value: Value) -> Option<BTreeMap<String, String>> {
    let pairs = value.map(MAX_METADATA, 1..=MAX_METADATA_KEY, |v| {
        v.text(0..=MAX_METADATA_VALUE)
    })?;
    Some(pairs.into_iter().collect())
}
