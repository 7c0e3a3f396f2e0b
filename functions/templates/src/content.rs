//! A client's template, read and checked: a complete one, or a change of one, whose result is
//! checked completely.

use awo_domain::Error;
use awo_domain::environment::EnvironmentName;
use awo_domain::source::{MAX_BRANCH, MAX_REPOSITORY};
use awo_domain::template::{
    Hooks, MAX_COMMAND, MAX_COMMANDS, MAX_DESCRIPTION, MAX_NAME, MAX_TAG, MAX_TAGS, MAX_VALUE,
    MAX_VARIABLES, SourceKind, TemplateContent, TemplateId, TemplateSource, Variable,
    check_variable_name,
};
use awo_http::body::{Object, Value};

/// Reads the body of a create.
pub fn read_new(
    mut body: Object,
    allow_file: bool,
) -> Result<(TemplateId, TemplateContent), Error> {
    let id = body.required("id", |v| v.parsed(TemplateId::parse));
    let name = body.required("name", name);
    let source = body.required("source", source);
    let rest = rest(&mut body);
    let read = id.zip(name).zip(source).map(|((id, name), source)| {
        let content = TemplateContent {
            name,
            description: rest.description.unwrap_or_default(),
            source,
            variables: rest.variables.unwrap_or_default(),
            hooks: rest.hooks.unwrap_or_default(),
            tags: rest.tags.unwrap_or_default(),
            environment: rest.environment.flatten(),
        };
        (id, content)
    });
    let (id, content) = body.finish(read)?;
    Ok((id, checked(content, allow_file)?))
}

/// Reads the body of an update: fields that it omits stay as they are.
pub fn read_update(
    mut body: Object,
    old: TemplateContent,
    allow_file: bool,
) -> Result<TemplateContent, Error> {
    let name = body.optional("name", name);
    let source = body.optional("source", source);
    let rest = rest(&mut body);
    let content = TemplateContent {
        name: name.unwrap_or(old.name),
        description: rest.description.unwrap_or(old.description),
        source: source.unwrap_or(old.source),
        variables: rest.variables.unwrap_or(old.variables),
        hooks: rest.hooks.unwrap_or(old.hooks),
        tags: rest.tags.unwrap_or(old.tags),
        environment: rest.environment.unwrap_or(old.environment),
    };
    checked(body.finish(Some(content))?, allow_file)
}

/// The fields that a body can always do without.
struct Rest {
    description: Option<String>,
    variables: Option<Vec<Variable>>,
    hooks: Option<Hooks>,
    tags: Option<Vec<String>>,
    /// Null takes the environment away that a template has.
    environment: Option<Option<EnvironmentName>>,
}

fn rest(body: &mut Object) -> Rest {
    Rest {
        description: body.optional("description", |v| v.text(0..=MAX_DESCRIPTION)),
        variables: body.optional("variables", |v| v.list(0..=MAX_VARIABLES, variable)),
        hooks: body.optional("hooks", hooks),
        tags: body.optional("tags", |v| v.list(0..=MAX_TAGS, |v| v.text(1..=MAX_TAG))),
        environment: body.optional("environment", |v| {
            if v.is_null() {
                Some(None)
            } else {
                v.parsed(EnvironmentName::parse).map(Some)
            }
        }),
    }
}

fn checked(content: TemplateContent, allow_file: bool) -> Result<TemplateContent, Error> {
    let mut faults = content.faults(allow_file);
    faults.sort_by(|a, b| a.path.cmp(&b.path));
    if faults.is_empty() {
        Ok(content)
    } else {
        Err(Error::Invalid(faults))
    }
}

fn name(value: Value) -> Option<String> {
    value.text(1..=MAX_NAME)
}

fn source(value: Value) -> Option<TemplateSource> {
    value.object(|o| {
        let kind = o.required("type", |v| {
            v.parsed(|name| match name {
                "git" => Ok(SourceKind::Git),
                _ => Err("must be \"git\"".to_owned()),
            })
        });
        let repository = o.required("repository", |v| v.text(1..=MAX_REPOSITORY));
        let branch = o.optional("branch", |v| v.text(1..=MAX_BRANCH));
        kind.zip(repository)
            .map(|(kind, repository)| TemplateSource {
                kind,
                repository,
                branch,
            })
    })
}

fn variable(value: Value) -> Option<Variable> {
    value.object(|o| {
        let name = o.required("name", |v| v.parsed(check_variable_name));
        let description = o.optional("description", |v| v.text(0..=MAX_DESCRIPTION));
        let required = o.optional("required", Value::flag);
        let default = o.optional("default", |v| v.text(0..=MAX_VALUE));
        name.map(|name| Variable {
            name,
            description: description.unwrap_or_default(),
            required,
            default,
        })
    })
}

fn hooks(value: Value) -> Option<Hooks> {
    value.object(|o| {
        let post_create = o.optional("postCreate", |v| {
            v.list(0..=MAX_COMMANDS, |v| v.text(1..=MAX_COMMAND))
        });
        Some(Hooks {
            post_create: post_create.unwrap_or_default(),
        })
    })
}
