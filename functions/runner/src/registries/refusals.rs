//! Credentials that registries did not accept, for the message of a setup that fails: package managers show
//! little of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use awo_domain::environment::{EnvironmentName, secret_name};

/// Most refusals that are noted.
const MAX_NOTED: usize = 10;

/// Hosts with the names of the secrets that they refused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusals(Arc<Mutex<BTreeSet<(String, String)>>>);

impl Refusals {
    pub(super) fn note(&self, host: &str, secret: &str) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() < MAX_NOTED {
            noted.insert((host.to_owned(), secret.to_owned()));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.is_empty()
    }

    /// Adds what was refused since the last call to the message of a failure, with the command that helps.
    pub(crate) fn explain(&self, why: String, environment: &EnvironmentName) -> String {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let refusals = std::mem::take(&mut *noted);
        refusals.into_iter().fold(why, |why, (host, secret)| {
            let name = secret_name(environment, &secret);
            format!(
                "the registry {host} did not accept the credential in the secret {secret} (have the operator set \
                 another: awo admin set-secret --name {name}): {why}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_credential_is_named_in_the_next_failure_alone() {
        let refusals = Refusals::default();
        let name = EnvironmentName::parse("e").unwrap();
        refusals.note("npm.example.com", "NPM_TOKEN");
        refusals.note("npm.example.com", "NPM_TOKEN");
        let why = refusals.explain("the step failed".to_owned(), &name);
        assert_eq!(why.matches("npm.example.com").count(), 1, "{why}");
        assert!(why.contains("env:e:NPM_TOKEN") && why.ends_with("the step failed"));
        assert_eq!(refusals.explain("later".to_owned(), &name), "later");
    }
}
