//! The effective profile: its own keys over those of the profile that it extends, and so on, over
//! `default`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::partial::{Groups, PartialContent};
use super::{Profile, ProfileName, built_in};
use crate::Fault;

/// Most profiles in a chain, the first one included; `default` counts only where it is named.
pub const MAX_CHAIN: usize = 10;

/// Fills the gaps of a profile. `known` finds the organization's own profiles; the built-in ones
/// need not be among them, and cannot be replaced by them.
///
/// # Errors
/// What is wrong with the chain: a parent that is not there, a cycle, too many.
pub fn resolve(
    name: &ProfileName,
    content: &PartialContent,
    known: impl Fn(&ProfileName) -> Option<PartialContent>,
) -> Result<Profile, Fault> {
    let mut names = vec![name.clone()];
    let mut groups = vec![content.groups.clone()];
    let mut next = content.extends.clone();
    while let Some(parent) = next {
        let joined = |names: &[ProfileName]| {
            let names: Vec<&str> = names.iter().map(ProfileName::as_str).collect();
            names.join(" → ")
        };
        if names.contains(&parent) {
            let message = format!("creates a cycle: {} → {parent}", joined(&names));
            return Err(wrong(message));
        }
        if names.len() == MAX_CHAIN {
            let message = format!(
                "creates a chain of more than {MAX_CHAIN} profiles: {} → {parent}",
                joined(&names)
            );
            return Err(wrong(message));
        }
        let found = built_in(&parent).or_else(|| known(&parent));
        let content = found.ok_or_else(|| {
            wrong(format!(
                "is not the name of a profile: there is no {parent}; GET /api/v1/profiles lists them"
            ))
        })?;
        next = content.extends;
        groups.push(content.groups);
        names.push(parent);
    }
    Ok(filled(name, groups))
}

/// A built-in profile whole, if there is one of that name.
#[must_use]
pub fn resolve_built_in(name: &str) -> Option<Profile> {
    let name = ProfileName::parse(name).ok()?;
    let content = built_in(&name)?;
    resolve(&name, &content, |_| None).ok()
}

fn wrong(message: String) -> Fault {
    let path = "/extends".to_owned();
    Fault { path, message }
}

/// The merged profile of these; the first one takes precedence. What has been read and
/// checked key by key always fits; a whole that did not would be `default` as it is.
fn filled(name: &ProfileName, groups: Vec<Groups>) -> Profile {
    let default = Profile {
        name: name.as_str().to_owned(),
        ..Profile::default_profile()
    };
    let mut whole = json(&default);
    for partial in groups.into_iter().rev() {
        merge(&mut whole, json(&partial));
    }
    serde_json::from_value(whole).unwrap_or(default)
}

fn json(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap_or(Value::Null)
}

/// Objects deep, everything else replaced.
pub(super) fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (name, value) in over {
                match base.get_mut(&name) {
                    Some(known) => merge(known, value),
                    None => drop(base.insert(name, value)),
                }
            }
        }
        (base, over) => *base = over,
    }
}

/// The organization's own profiles, by name.
pub type Contents = BTreeMap<ProfileName, PartialContent>;

/// The effective profile with this `content`, among the others of its organization. It must
/// not spoil one of them either.
///
/// # Errors
/// What is wrong with its chain, or with that of a profile that stands on it.
pub fn resolve_among(
    name: &ProfileName,
    content: &PartialContent,
    others: &Contents,
) -> Result<Profile, Fault> {
    let mut all = others.clone();
    all.insert(name.clone(), content.clone());
    let resolved = |name: &ProfileName, content: &PartialContent| {
        resolve(name, content, |name| all.get(name).cloned())
    };
    let profile = resolved(name, content)?;
    for (other, content) in others.iter().filter(|(other, _)| *other != name) {
        resolved(other, content).map_err(|fault| {
            wrong(format!(
                "makes the profile {other}, which extends it, invalid: its extends {}",
                fault.message
            ))
        })?;
    }
    Ok(profile)
}

/// The profiles that extend this one directly.
#[must_use]
pub fn children<'a>(name: &ProfileName, all: &'a Contents) -> Vec<&'a ProfileName> {
    let extends = |content: &PartialContent| content.extends.as_ref() == Some(name);
    let found = all.iter().filter(|(_, content)| extends(content));
    found.map(|(child, _)| child).collect()
}
