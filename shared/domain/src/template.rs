//! Templates: workspace sources with gaps, and hooks after the clone.
//!
//! `{{name}}` is a gap that a variable fills: literally in the source, where the result must be a
//! valid source, and as exactly one shell word in hooks, whatever the value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::environment::EnvironmentName;
use crate::source::{Branch, GitSource, Repository};
use crate::{Fault, Timestamp};

pub use built_in::{built_in, built_in_template};

mod built_in;
mod gaps;
mod script;

/// Most templates of an organization.
pub const MAX_TEMPLATES: u32 = 100;
/// Longest name, in characters.
pub const MAX_NAME: usize = 100;
/// Longest description, of a template or of a variable, in characters.
pub const MAX_DESCRIPTION: usize = 1_000;
/// Most variables of a template.
pub const MAX_VARIABLES: usize = 20;
/// Longest name of a variable, in characters.
pub const MAX_VARIABLE_NAME: usize = 64;
/// Longest value of a variable, its default included, in characters.
pub const MAX_VALUE: usize = 1_024;
/// Most commands of a hook.
pub const MAX_COMMANDS: usize = 20;
/// Longest command, in characters.
pub const MAX_COMMAND: usize = 4_096;
/// Most tags.
pub const MAX_TAGS: usize = 20;
/// Longest tag, in characters.
pub const MAX_TAG: usize = 50;
/// Largest template, in bytes of its JSON: all of an organization's are read to list them.
pub const MAX_TEMPLATE_BYTES: usize = 16_384;
/// Largest hooks of a work order, in bytes: they are stored beside a body of 256 KiB in one item.
pub const MAX_RESOLVED_BYTES: usize = 65_536;

/// The id of a template: `^[a-z0-9][a-z0-9-]{0,62}$`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TemplateId(String);

impl TemplateId {
    /// Reads an id from outside.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if (1..=63).contains(&text.len()) && text.bytes().all(allowed) && !text.starts_with('-') {
            Ok(Self(text.to_owned()))
        } else {
            Err(
                "must be 1 to 63 lower-case letters, digits and hyphens, and not begin with a hyphen"
                    .to_owned(),
            )
        }
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TemplateId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<TemplateId> for String {
    fn from(id: TemplateId) -> String {
        id.0
    }
}

/// The kinds of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = TemplateSourceType)]
pub enum SourceKind {
    /// A git repository.
    Git,
}

/// A source with gaps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSource {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: SourceKind,
    /// URL of the repository.
    pub repository: String,
    /// The branch; the remote's default branch where it is absent or comes out empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// The value of a gap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TemplateVariable)]
pub struct Variable {
    /// Its name, as in `{{name}}`.
    pub name: String,
    /// For people.
    pub description: String,
    /// True if its value must not come out empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Its value where none is given; empty where there is no default either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Commands at certain moments of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TemplateHooks)]
pub struct Hooks {
    /// After the clone, each by `sh -c` in the workspace, one after the other.
    #[serde(default)]
    pub post_create: Vec<String>,
}

impl Hooks {
    /// True if there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.post_create.is_empty()
    }
}

/// The fields of a template that a client sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TemplateContent)]
pub struct TemplateContent {
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// Where workspaces come from.
    pub source: TemplateSource,
    /// The values of the gaps.
    pub variables: Vec<Variable>,
    /// The commands after the clone.
    pub hooks: Hooks,
    /// For finding it.
    pub tags: Vec<String>,
    /// The environment of work orders that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentName>,
}

/// A template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its id, unique in its organization.
    pub id: TemplateId,
    /// Its content.
    pub content: TemplateContent,
    /// True if it is part of the product and cannot be changed.
    pub built_in: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Option<Timestamp>,
}

/// A template whose gaps are filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedTemplate {
    /// The source.
    pub source: GitSource,
    /// The commands after the clone.
    pub hooks: Hooks,
    /// Where it is done, if the work order names no environment.
    pub environment: Option<EnvironmentName>,
}

/// Checks the name of a variable: `^[A-Za-z][A-Za-z0-9_-]{0,63}$`.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_variable_name(text: &str) -> Result<String, String> {
    if gaps::is_name(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be 1 to {MAX_VARIABLE_NAME} letters, digits, underscores and hyphens, and begin with a letter"
        ))
    }
}

fn fault(path: impl Into<String>, message: impl Into<String>) -> Fault {
    Fault {
        path: path.into(),
        message: message.into(),
    }
}

impl TemplateContent {
    /// What is wrong with it as a whole, with JSON pointers; lengths and counts are its reader's.
    #[must_use]
    pub fn faults(&self, allow_file: bool) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (i, variable) in self.variables.iter().enumerate() {
            if self.variables[..i].iter().any(|v| v.name == variable.name) {
                let message = format!("is the name of another variable: {}", variable.name);
                faults.push(fault(format!("/variables/{i}/name"), message));
            }
        }
        let source = [
            ("repository", Some(&self.source.repository)),
            ("branch", self.source.branch.as_ref()),
        ];
        for (name, text) in source {
            let wrong = text.and_then(|text| self.wrong_source(name, text, allow_file).err());
            faults.extend(wrong.map(|why| fault(format!("/source/{name}"), why)));
        }
        for (i, command) in self.hooks.post_create.iter().enumerate() {
            let wrong = script::script(command, &self.variables).err();
            faults.extend(wrong.map(|why| fault(format!("/hooks/postCreate/{i}"), why)));
        }
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_TEMPLATE_BYTES {
            let message = format!("describes a template larger than {MAX_TEMPLATE_BYTES} bytes");
            faults.push(fault("", message));
        }
        faults.sort_by(|a, b| a.path.cmp(&b.path));
        faults
    }

    /// Checks a part of the source with its defaults, and with "1" where there are none: that is
    /// good in a host, a port, a path and a branch. A URL that begins with a gap can be anything.
    fn wrong_source(&self, name: &str, text: &str, allow_file: bool) -> Result<(), String> {
        gaps::check(text, &self.variables)?;
        let sample = gaps::fill(text, |name| {
            let variable = self.variables.iter().find(|v| v.name == name);
            let default = variable.and_then(|v| v.default.as_deref());
            default.unwrap_or("1")
        });
        match name {
            "repository" if sample.starts_with('1') && text.starts_with("{{") => Ok(()),
            "repository" => Repository::parse(&sample, allow_file).map(drop),
            _ if sample.is_empty() && !text.is_empty() => Ok(()),
            _ => Branch::parse(&sample).map(drop),
        }
    }

    /// Fills the gaps.
    ///
    /// # Errors
    /// What is wrong with what was given, with pointers such as `/variables/name`.
    pub fn resolve(
        &self,
        given: &BTreeMap<String, String>,
        allow_file: bool,
    ) -> Result<ResolvedTemplate, Vec<Fault>> {
        let values = self.values(given)?;
        let value = |name: &str| {
            let at = self.variables.iter().position(|v| v.name == name);
            at.map_or("", |at| values[at].as_str())
        };
        let broken = |what: &str, text: &str, why: &str| {
            let path = if self.variables.is_empty() {
                "/templateId"
            } else {
                "/variables"
            };
            vec![fault(
                path,
                format!("make the {what} {text:?}, which {why}"),
            )]
        };
        let url = gaps::fill(&self.source.repository, value);
        let repository = Repository::parse(&url, allow_file)
            .map_err(|why| broken("repository", &cut(&url), &why))?;
        let branch = self.source.branch.as_ref();
        let branch = branch
            .map(|text| gaps::fill(text, value))
            .filter(|name| !name.is_empty())
            .map(|name| Branch::parse(&name).map_err(|why| broken("branch", &cut(&name), &why)))
            .transpose()?;
        let post_create: Result<Vec<String>, String> = (self.hooks.post_create.iter())
            .map(|command| Ok(script::script(command, &self.variables)?.with(&values)))
            .collect();
        let post_create = post_create.map_err(|why| vec![fault("/templateId", why)])?;
        if post_create.iter().map(String::len).sum::<usize>() > MAX_RESOLVED_BYTES {
            let message = format!("make the hooks longer than {MAX_RESOLVED_BYTES} bytes");
            return Err(vec![fault("/variables", message)]);
        }
        Ok(ResolvedTemplate {
            source: GitSource {
                repository,
                branch,
                commit: None,
            },
            hooks: Hooks { post_create },
            environment: self.environment.clone(),
        })
    }

    /// The value of each variable, in their order.
    fn values(&self, given: &BTreeMap<String, String>) -> Result<Vec<String>, Vec<Fault>> {
        let names: Vec<&str> = self.variables.iter().map(|v| v.name.as_str()).collect();
        let mut faults = Vec::new();
        for name in given.keys().filter(|name| !names.contains(&name.as_str())) {
            let known = if names.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", names.join(", "))
            };
            let message = format!("is not a variable of this template: {known}");
            faults.push(fault(pointer(name), message));
        }
        let mut values = Vec::new();
        for variable in &self.variables {
            let value = given.get(&variable.name).or(variable.default.as_ref());
            let value = value.cloned().unwrap_or_default();
            let is_required = variable.required == Some(true);
            let wrong = match value.is_empty() {
                true if is_required && given.contains_key(&variable.name) => {
                    Some("must not be empty".to_owned())
                }
                true if is_required => Some("is required".to_owned()),
                _ if value.chars().count() > MAX_VALUE => {
                    Some(format!("must not be longer than {MAX_VALUE} characters"))
                }
                _ if value.contains('\0') => Some("must not hold NUL characters".to_owned()),
                _ => None,
            };
            faults.extend(wrong.map(|why| fault(pointer(&variable.name), why)));
            values.push(value);
        }
        if faults.is_empty() {
            Ok(values)
        } else {
            Err(faults)
        }
    }
}

fn pointer(name: &str) -> String {
    format!("/variables/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Enough of a text for people to know it again.
fn cut(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests;
