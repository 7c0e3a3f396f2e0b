//! Sources of workspaces: a git repository, or a template with values for its placeholders.

use std::collections::BTreeMap;

use awo_domain::source::{Branch, CommitId, GitSource, Repository};
use awo_domain::template::{
    Hooks, MAX_VALUE, MAX_VARIABLE_NAME, MAX_VARIABLES, ResolvedTemplate, TemplateContent,
    TemplateId,
};

use crate::body::{FaultList, Object, Value};

#[derive(Debug)]
pub(super) enum Source {
    Git(GitSource),
    Template {
        id: TemplateId,
        /// None if they are faulty.
        variables: Option<BTreeMap<String, String>>,
    },
}

/// Reads a workspace source.
pub(super) fn source(value: Value, allow_file: bool) -> Option<Source> {
    value.object(|o| {
        let is_git = o.required("type", |v| {
            v.parsed(|name| match name {
                "git" => Ok(true),
                "template" => Ok(false),
                _ => Err("must be \"git\" or \"template\"".to_owned()),
            })
        });
        match is_git {
            Some(false) => template(o),
            Some(true) => git(o, allow_file),
            None => git(o, allow_file).and(None),
        }
    })
}

fn git(o: &mut Object, allow_file: bool) -> Option<Source> {
    let repository = o.required("repository", |v| {
        v.parsed(|url| Repository::parse(url, allow_file))
    });
    let branch = o.optional("branch", |v| v.parsed(Branch::parse));
    let commit = o.optional("commit", |v| v.parsed(CommitId::parse));
    repository.map(|repository| {
        Source::Git(GitSource {
            repository,
            branch,
            commit,
        })
    })
}

fn template(o: &mut Object) -> Option<Source> {
    let id = o.required("templateId", |v| v.parsed(TemplateId::parse));
    // What was given and is no object of texts must not count as nothing given.
    let given = o.optional("variables", |v| {
        Some(v.map(MAX_VARIABLES, 0..=MAX_VARIABLE_NAME, |v| {
            v.text(0..=MAX_VALUE)
        }))
    });
    let given = given.unwrap_or_else(|| Some(Vec::new()));
    id.map(|id| Source::Template {
        id,
        variables: given.map(|given| given.into_iter().collect()),
    })
}

/// The source with the template that it names.
pub(super) fn resolved(
    source: Option<Source>,
    template: Option<&TemplateContent>,
    allow_file: bool,
    faults: &mut FaultList,
) -> Option<ResolvedTemplate> {
    let variables = match source? {
        Source::Git(source) => {
            return Some(ResolvedTemplate {
                source,
                hooks: Hooks::default(),
                environment: None,
            });
        }
        Source::Template { variables, .. } => variables,
    };
    let Some(template) = template else {
        faults.add(
            "/workspaceSource/templateId",
            "is not the id of a template: GET /v1/templates lists them",
        );
        return None;
    };
    let source = template.resolve(&variables?, allow_file);
    source
        .map_err(|own_faults| {
            for fault in own_faults {
                faults.add(&format!("/workspaceSource{}", fault.path), fault.message);
            }
        })
        .ok()
}
