//! Registries of an environment: one takes the place of a package manager's own, and others are beside it by
//! names and scopes.

use std::collections::BTreeSet;

use url::{Host, Url};

use super::faults::fault;
use super::{Deployment, EnvironmentContent, EnvironmentRegistry, MAX_REGISTRY_NAME, RegistryKind};
use crate::Fault;

/// Longest scope, in characters.
const MAX_SCOPE: usize = 100;

/// Checks the name of a registry, which package managers and variables repeat.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_registry_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = (1..=MAX_REGISTRY_NAME).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(allowed);
    is_name.then(|| text.to_owned()).ok_or_else(|| {
        format!(
            "must be 1 to {MAX_REGISTRY_NAME} letters, digits, hyphens, underscores and dots, and begin with a letter \
             or digit"
        )
    })
}

/// Checks a scope of npm, such as `@acme`.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_scope(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.~".contains(c);
    let name = text.strip_prefix('@').unwrap_or_default();
    let is_scope = !name.is_empty()
        && text.len() <= MAX_SCOPE
        && name.chars().all(allowed)
        && !name.starts_with(['.', '_']);
    is_scope
        .then(|| text.to_owned())
        .ok_or_else(|| "must be a scope of npm in lower case, such as @acme".to_owned())
}

/// Checks the URL of a registry: the proxy adds what is behind it, and the credential.
fn check_registry(registry: &EnvironmentRegistry, deployment: &Deployment) -> Result<(), String> {
    let text = registry.url.as_str();
    let text = match registry.kind {
        RegistryKind::Cargo => text.strip_prefix("sparse+").unwrap_or(text),
        _ => text,
    };
    let url = Url::parse(text).map_err(|why| format!("is not a URL: {why}"))?;
    deployment
        .private_hosts
        .judge(&url)
        .map_err(|why| why.to_string())?;
    let is_loopback = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match url.scheme() {
        "https" => {}
        "http" if is_loopback && deployment.allow_loopback => {}
        _ => return Err("must begin with https://".to_owned()),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold a user or a password: name the secret instead".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        Err("must have no query and no fragment".to_owned())
    } else {
        Ok(())
    }
}

impl EnvironmentContent {
    /// Faults of the registries.
    pub(super) fn wrong_registries(&self, deployment: &Deployment) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (i, registry) in self.registries.iter().enumerate() {
            if let Err(why) = check_registry(registry, deployment) {
                faults.push(fault(format!("/registries/{i}/url"), why));
            }
            let of_kind = self.registries[..i]
                .iter()
                .filter(|one| one.kind == registry.kind);
            let earlier: Vec<&EnvironmentRegistry> = of_kind.collect();
            if let Some((member, why)) = registry.fault_beside(&earlier) {
                faults.push(fault(format!("/registries/{i}/{member}"), why));
            }
        }
        faults
    }
}

impl EnvironmentRegistry {
    /// The member that is wrong by itself, or beside the earlier registries of its kind.
    fn fault_beside(&self, earlier: &[&EnvironmentRegistry]) -> Option<(&'static str, String)> {
        let kind = self.kind.as_str();
        let is_npm = self.kind == RegistryKind::Npm;
        if !self.scopes.is_empty() && !is_npm {
            return Some(("scopes", format!("are npm's: {kind} has none")));
        }
        if is_npm && self.name.is_some() && self.scopes.is_empty() && !self.default {
            let why =
                "must name a scope, as @acme: npm finds a registry beside the default one by scope";
            return Some(("scopes", why.to_owned()));
        }
        if self.default && self.kind == RegistryKind::Generic {
            let why = "has no meaning for generic: no package manager is pointed at it";
            return Some(("default", why.to_owned()));
        }
        if self.is_default() && earlier.iter().any(|one| one.is_default()) {
            let member = if self.default { "default" } else { "kind" };
            let why = format!(
                "is the default of another {kind} registry, too: give this one a name{}",
                if is_npm { " and scopes" } else { "" }
            );
            return Some((member, why));
        }
        let names = || earlier.iter().filter_map(|one| one.name.as_deref());
        if self
            .name
            .as_deref()
            .is_some_and(|name| names().any(|other| other == name))
        {
            let why = format!("is the name of another {kind} registry");
            return Some(("name", why));
        }
        let mut scopes: BTreeSet<&String> = earlier.iter().flat_map(|one| &one.scopes).collect();
        let again = self.scopes.iter().find(|scope| !scopes.insert(scope));
        again.map(|scope| {
            (
                "scopes",
                format!("names {scope} twice, or another registry does"),
            )
        })
    }
}
