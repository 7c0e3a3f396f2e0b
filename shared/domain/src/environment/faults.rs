//! What is wrong with an environment. Lengths and counts are its reader's.

use std::collections::BTreeSet;

use super::{AllowedImages, EnvironmentContent, MAX_ENVIRONMENT_BYTES, MAX_NAME, MAX_PATH};
use crate::Fault;
use crate::webhook::private_hosts::PrivateHosts;

/// What a deployment lets environments have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// The images that environments may name; none if tasks are no containers.
    pub images: Option<AllowedImages>,
    /// True if registries may be spoken to in plain HTTP on loopback: for tests and one machine.
    pub allow_loopback: bool,
    /// Servers that registries may be at.
    pub private_hosts: PrivateHosts,
    /// True if the machine cannot keep commands from a network: a machine of one's own with an older
    /// kernel.
    pub no_egress: bool,
}

/// Variables that the product sets, or by which programs of the product's own would be changed that
/// start before the agent's user is taken on.
const RESERVED: [&str; 7] = [
    "HOME",
    "PATH",
    "TMPDIR",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
];
/// The beginnings of others.
const RESERVED_PREFIXES: [&str; 3] = ["AWO_", "LD_", "DYLD_"];

/// Checks the name of a variable or a secret: `^[A-Za-z_][A-Za-z0-9_]{0,127}$`.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_name(text: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let is_name = (1..=MAX_NAME).contains(&text.len())
        && text.bytes().all(allowed)
        && !text.starts_with(|c: char| c.is_ascii_digit());
    if !is_name {
        return Err(format!(
            "must be 1 to {MAX_NAME} letters, digits and underscores, and not begin with a digit"
        ));
    }
    let is_reserved = RESERVED.contains(&text)
        || RESERVED_PREFIXES
            .iter()
            .any(|prefix| text.starts_with(prefix));
    if is_reserved {
        Err(format!(
            "must not be {text}, which the service sets or keeps unset"
        ))
    } else {
        Ok(text.to_owned())
    }
}

/// Checks a path that is cached: relative to the workspace, or with `~/` to the home.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_cache(text: &str) -> Result<String, String> {
    let inner = text.strip_prefix("~/").unwrap_or(text);
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part != ".git";
    let is_path = text.len() <= MAX_PATH
        && inner.split('/').all(is_part)
        && !text.chars().any(char::is_control)
        && !inner.starts_with(['~', '-']);
    if is_path {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be a path of at most {MAX_PATH} characters inside the workspace (node_modules) or \
         the home (~/.cache/pip), without . or .. or .git"
        ))
    }
}

pub(super) fn fault(path: impl Into<String>, message: impl Into<String>) -> Fault {
    Fault {
        path: path.into(),
        message: message.into(),
    }
}

impl EnvironmentContent {
    /// What is wrong with it as a whole, with JSON pointers, by path.
    #[must_use]
    pub fn faults(&self, deployment: &Deployment) -> Vec<Fault> {
        let mut faults = self.repeated();
        faults.extend(self.wrong_registries(deployment));
        faults.extend(self.wrong_containers(deployment.images.as_ref()));
        faults.extend(self.wrong_egress(deployment));
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_ENVIRONMENT_BYTES {
            let message =
                format!("describes an environment larger than {MAX_ENVIRONMENT_BYTES} bytes");
            faults.push(fault("", message));
        }
        faults.sort_by(|a, b| a.path.cmp(&b.path));
        faults
    }

    /// Names that stand for two things.
    fn repeated(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut known: BTreeSet<&str> = self.variables.keys().map(String::as_str).collect();
        for (i, secret) in self.secrets.iter().enumerate() {
            if !known.insert(&secret.name) {
                let message = format!("is the name of another variable or secret: {}", secret.name);
                faults.push(fault(format!("/secrets/{i}/name"), message));
            }
            let phases: BTreeSet<_> = secret.phases.iter().collect();
            if phases.len() < secret.phases.len() {
                faults.push(fault(format!("/secrets/{i}/phases"), "names a phase twice"));
            }
        }
        let steps = self.setup.iter().map(|step| step.name.as_str());
        faults.extend(twice("setup", steps));
        let services = self.services.iter().map(|service| service.name.as_str());
        faults.extend(twice("services", services));
        faults
    }
}

fn twice<'a>(list: &str, names: impl Iterator<Item = &'a str>) -> Vec<Fault> {
    let mut known = BTreeSet::new();
    let again = names.enumerate().filter(|(_, name)| !known.insert(*name));
    again
        .map(|(i, name)| {
            let message = format!("is the name of another item: {name}");
            fault(format!("/{list}/{i}/name"), message)
        })
        .collect()
}
