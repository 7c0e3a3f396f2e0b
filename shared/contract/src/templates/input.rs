//! Bodies of templates: a complete one, or a change of one, whose result is checked completely.

use awo_domain::environment::EnvironmentName;
use awo_domain::source::{MAX_BRANCH, MAX_REPOSITORY};
use awo_domain::template::{
    Hooks, MAX_COMMAND, MAX_COMMANDS, MAX_DESCRIPTION, MAX_NAME, MAX_TAG, MAX_TAGS, MAX_VALUE,
    MAX_VARIABLES, SourceKind, TemplateContent, TemplateId, TemplateSource, Variable,
    check_variable_name,
};
use serde_json::{Value as Json, json};

use crate::body::Value;
use crate::field::{Field, Word, flag, list, pattern, text, typed};
use crate::record::{Component, Members, Record};
use crate::schema::Schemas;

/// The body of a create.
#[derive(Debug)]
pub struct NewTemplate;

impl Record for NewTemplate {
    type Output = (TemplateId, TemplateContent);

    fn members<M: Members>(&self, members: &mut M) -> Option<Self::Output> {
        let id = members.required(
            "id",
            typed::<TemplateId, _, _>(TemplateId::parse)
                .described("Its id, unique in the organization."),
        );
        let name = members.required("name", name());
        let source = members.required("source", Source);
        let rest = Rest::of(members);
        let content = TemplateContent {
            name: name?,
            description: rest.description.unwrap_or_default(),
            source: source?,
            variables: rest.variables.unwrap_or_default(),
            hooks: rest.hooks.unwrap_or_default(),
            tags: rest.tags.unwrap_or_default(),
            environment: rest.environment.flatten(),
        };
        Some((id?, content))
    }
}

/// The body of an update.
#[derive(Debug)]
pub struct TemplateUpdate;

/// The given members of an update.
#[derive(Debug)]
pub struct TemplateChange {
    name: Option<String>,
    source: Option<TemplateSource>,
    rest: Rest,
}

impl TemplateChange {
    /// The content after the change: absent members stay as they are.
    #[must_use]
    pub fn applied_to(self, old: TemplateContent) -> TemplateContent {
        let rest = self.rest;
        TemplateContent {
            name: self.name.unwrap_or(old.name),
            description: rest.description.unwrap_or(old.description),
            source: self.source.unwrap_or(old.source),
            variables: rest.variables.unwrap_or(old.variables),
            hooks: rest.hooks.unwrap_or(old.hooks),
            tags: rest.tags.unwrap_or(old.tags),
            environment: rest.environment.unwrap_or(old.environment),
        }
    }
}

impl Record for TemplateUpdate {
    type Output = TemplateChange;

    fn members<M: Members>(&self, members: &mut M) -> Option<TemplateChange> {
        Some(TemplateChange {
            name: members.optional("name", name()),
            source: members.optional("source", Source),
            rest: Rest::of(members),
        })
    }
}

/// The members that a body can always do without.
#[derive(Debug)]
struct Rest {
    description: Option<String>,
    variables: Option<Vec<Variable>>,
    hooks: Option<Hooks>,
    tags: Option<Vec<String>>,
    /// `Some(None)` removes the environment of a template.
    environment: Option<Option<EnvironmentName>>,
}

impl Rest {
    fn of<M: Members>(members: &mut M) -> Rest {
        let tags = list(text(1..=MAX_TAG), 0..=MAX_TAGS).described("For finding it.");
        Rest {
            description: members.optional("description", description()),
            variables: members.optional(
                "variables",
                list(TemplateVariable, 0..=MAX_VARIABLES).described("The values of the gaps."),
            ),
            hooks: members.optional("hooks", TemplateHooks),
            tags: members.optional("tags", tags),
            environment: members.optional(
                "environment",
                DefaultEnvironment
                    .described("The environment of work orders that name none; null removes it."),
            ),
        }
    }
}

fn name() -> impl Field<Output = String> {
    text(1..=MAX_NAME).described("For people.")
}

fn description() -> impl Field<Output = String> {
    text(0..=MAX_DESCRIPTION).described("For people.")
}

/// The name of an environment, or null.
struct DefaultEnvironment;

impl Field for DefaultEnvironment {
    type Output = Option<EnvironmentName>;

    fn read(&self, value: Value) -> Option<Option<EnvironmentName>> {
        if value.is_null() {
            Some(None)
        } else {
            value.parsed(EnvironmentName::parse).map(Some)
        }
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        json!({ "type": ["string", "null"], "pattern": "^[A-Za-z0-9-]{1,128}$" })
    }
}

struct Source;

impl Record for Source {
    const COMPONENT: Option<Component> = Some(Component {
        name: "TemplateGitSourceInput",
        description: "Sources of workspaces.",
    });
    type Output = TemplateSource;

    fn members<M: Members>(&self, members: &mut M) -> Option<TemplateSource> {
        let kind = members.required("type", Word("git").described("A git repository."));
        let repository = members.required(
            "repository",
            text(1..=MAX_REPOSITORY)
                .described("Its URL; it may contain placeholders such as `{{name}}`."),
        );
        let branch = members.optional(
            "branch",
            text(1..=MAX_BRANCH)
                .described("The branch; the default is the remote's default branch."),
        );
        kind.zip(repository).map(|((), repository)| TemplateSource {
            kind: SourceKind::Git,
            repository,
            branch,
        })
    }
}

struct TemplateVariable;

impl Record for TemplateVariable {
    const COMPONENT: Option<Component> = Some(Component {
        name: "TemplateVariableInput",
        description: "A variable that fills a placeholder.",
    });
    type Output = Variable;

    fn members<M: Members>(&self, members: &mut M) -> Option<Variable> {
        let name = members.required(
            "name",
            pattern("^[A-Za-z][A-Za-z0-9_-]{0,63}$", check_variable_name)
                .described("Its name, as in `{{name}}`."),
        );
        let description = members.optional("description", description());
        let required = members.optional(
            "required",
            flag().described("True if its value must not be empty."),
        );
        let default = members.optional(
            "default",
            text(0..=MAX_VALUE).described("Its value if none is given."),
        );
        name.map(|name| Variable {
            name,
            description: description.unwrap_or_default(),
            required,
            default,
        })
    }
}

struct TemplateHooks;

impl Record for TemplateHooks {
    const COMPONENT: Option<Component> = Some(Component {
        name: "TemplateHooksInput",
        description: "Commands that prepare the workspace.",
    });
    type Output = Hooks;

    fn members<M: Members>(&self, members: &mut M) -> Option<Hooks> {
        let post_create = members.optional(
            "postCreate",
            list(text(1..=MAX_COMMAND), 0..=MAX_COMMANDS)
                .described("They run in order after the clone, with `sh -c` in the workspace."),
        );
        Some(Hooks {
            post_create: post_create.unwrap_or_default(),
        })
    }
}
