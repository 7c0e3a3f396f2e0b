//! Sources of workspaces: a git repository, or a template with values for its placeholders.

use std::collections::BTreeMap;

use awo_domain::source::{Branch, CommitId, GitSource, MAX_BRANCH, MAX_REPOSITORY, Repository};
use awo_domain::template::{MAX_VALUE, MAX_VARIABLE_NAME, MAX_VARIABLES, TemplateId};
use serde_json::{Value as Json, json};

use crate::body::Value;
use crate::field::{Field, Word, parsed, text, typed};
use crate::record::{Component, Members, Record};
use crate::schema::{Schemas, input};

use super::fields::TextMap;

/// A source, as it was read.
#[derive(Debug)]
pub enum WorkspaceSource {
    /// A git repository.
    Git(GitSource),
    /// A template.
    Template {
        /// Id of the template.
        id: TemplateId,
        /// Values of its placeholders; `None` if they are faulty.
        variables: Option<BTreeMap<String, String>>,
    },
}

/// A source of one of the two types.
pub(super) struct SourceInput {
    pub(super) allow_file: bool,
}

impl Field for SourceInput {
    type Output = WorkspaceSource;

    fn read(&self, value: Value) -> Option<WorkspaceSource> {
        value.object(|object| {
            let is_git = object.required("type", |value| {
                value.parsed(|name| match name {
                    "git" => Ok(true),
                    "template" => Ok(false),
                    _ => Err("must be \"git\" or \"template\"".to_owned()),
                })
            });
            match is_git {
                Some(false) => template(object),
                Some(true) => git(object, self.allow_file),
                None => git(object, self.allow_file).and(None),
            }
        })
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        let git = GitInput(self.allow_file).schema(schemas);
        let template = TemplateInput.schema(schemas);
        let path = |name: &str| format!("#/components/schemas/{name}");
        let either = json!({
            "oneOf": [git, template],
            "discriminator": { "propertyName": "type", "mapping": {
                "git": path("GitSourceInput"), "template": path("TemplateSourceInput"),
            } },
        });
        input(
            "WorkspaceSourceInput",
            "The source of the workspace.",
            either,
        )
    }
}

struct GitInput(bool);

impl Record for GitInput {
    const COMPONENT: Option<Component> = Some(Component {
        name: "GitSourceInput",
        description: "A git repository.",
    });
    type Output = WorkspaceSource;

    fn members<M: Members>(&self, members: &mut M) -> Option<WorkspaceSource> {
        members.required("type", Word("git").described("A git repository."));
        git(members, self.0)
    }
}

struct TemplateInput;

impl Record for TemplateInput {
    const COMPONENT: Option<Component> = Some(Component {
        name: "TemplateSourceInput",
        description: "A template, with the values of its placeholders.",
    });
    type Output = WorkspaceSource;

    fn members<M: Members>(&self, members: &mut M) -> Option<WorkspaceSource> {
        members.required("type", Word("template").described("A template."));
        template(members)
    }
}

/// The members of a git source beside its type.
fn git<M: Members>(members: &mut M, allow_file: bool) -> Option<WorkspaceSource> {
    let repository = members.required(
        "repository",
        parsed(text(1..=MAX_REPOSITORY), |url| {
            Repository::parse(url, allow_file)
        })
        .described("An `https://` URL without user info."),
    );
    let branch = members.optional(
        "branch",
        parsed(text(1..=MAX_BRANCH), Branch::parse)
            .described("The branch; the default is the remote's default branch."),
    );
    let commit = members.optional(
        "commit",
        parsed(text(40..=64), CommitId::parse).described(
            "For the agent type `verify`: the whole id of the commit; the default is the branch's head.",
        ),
    );
    repository.map(|repository| {
        WorkspaceSource::Git(GitSource {
            repository,
            branch,
            commit,
        })
    })
}

/// The members of a template source beside its type.
fn template<M: Members>(members: &mut M) -> Option<WorkspaceSource> {
    let id = members.required(
        "templateId",
        typed::<TemplateId, _, _>(TemplateId::parse).described("The id of the template."),
    );
    let variables = members.optional(
        "variables",
        Variables.described("The values of the template's placeholders."),
    );
    id.map(|id| WorkspaceSource::Template {
        id,
        variables: variables.unwrap_or_else(|| Some(BTreeMap::new())),
    })
}

/// Values of placeholders. Faulty ones are read as `None`, which is not the same as absent ones.
struct Variables;

impl Variables {
    const VALUES: TextMap = TextMap {
        most: MAX_VARIABLES,
        name: 0..=MAX_VARIABLE_NAME,
        value: 0..=MAX_VALUE,
    };
}

impl Field for Variables {
    type Output = Option<BTreeMap<String, String>>;

    fn read(&self, value: Value) -> Option<Self::Output> {
        Some(Variables::VALUES.read(value))
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        Variables::VALUES.schema(schemas)
    }
}
