//! Registries that want a credential: for each a server on loopback that adds it, so that neither an
//! agent nor a verifier nor a setup holds one.
//!
//! What it keeps:
//! - a credential goes to its registry's own origin, and never along with a redirect, which is the
//!   client's to follow without it;
//! - only reading, only below the registry's own path, or what one of its answers has named;
//! - callers show the run's key for it, so that no other process of the machine is served.

mod access;
mod files;
mod lock_files;
mod managers;
mod pages;
mod refusals;
mod serving;

use std::io;
use std::path::Path;

use awo_domain::control::RegistryAccess;
use awo_domain::environment::RegistryKind;
use awo_domain::webhook::private_hosts::PrivateHosts;
use tokio::task::AbortHandle;

use crate::agent_user::AgentUser;
use crate::contained_process::Variables;
use crate::loopback;

use access::Upstream;
pub(crate) use refusals::Refusals;
use serving::Serving;

/// A registry as commands reach it.
#[derive(Debug, Clone)]
struct Local {
    kind: RegistryKind,
    /// The name of its secret, by which its variable is called.
    secret: String,
    /// Name of the registry, where it has one.
    name: Option<String>,
    scopes: Vec<String>,
    /// True if it takes the place of the package manager's own registry.
    is_default: bool,
    /// `https://host[:port]` of the registry.
    origin: String,
    /// `127.0.0.1:…`
    address: String,
    /// The path of the registry's URL, with a slash at its end.
    path: String,
    /// The registry's own host, with the port where it is written.
    host: String,
    /// The registry's URL as it was given.
    url: String,
    /// What a caller shows.
    key: String,
}

/// The servers of a run; they end with this value.
#[derive(Default)]
pub(crate) struct Registries {
    locals: Vec<Local>,
    refused: Refusals,
    serving: Vec<AbortHandle>,
}

impl Drop for Registries {
    fn drop(&mut self) {
        self.serving.iter().for_each(AbortHandle::abort);
    }
}

impl Registries {
    /// Starts a server for each registry.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) async fn start(
        registries: &[RegistryAccess],
        private_hosts: &PrivateHosts,
    ) -> Result<Registries, String> {
        let mut started = Registries::default();
        for one in registries {
            let (listener, address) = loopback::listen().await?;
            let key = loopback::new_key("awo-registry")?;
            let origin = format!("http://{address}");
            let upstream = Upstream::new(one, &origin, started.refused.clone(), private_hosts)?;
            started.locals.push(Local {
                kind: one.registry.kind,
                secret: one.registry.secret.clone(),
                name: one.registry.name.clone(),
                scopes: one.registry.scopes.clone(),
                is_default: one.registry.is_default(),
                origin: upstream.origin(),
                address: address.to_string(),
                path: upstream.path().to_owned(),
                host: upstream.host(),
                url: one.registry.url.clone(),
                key: key.clone(),
            });
            let is_scoped = !one.registry.scopes.is_empty();
            let serving = Serving::new(upstream, key, is_scoped);
            let answer = move |request| {
                let serving = serving.clone();
                async move { serving.answer(request).await }
            };
            started.serving.push(loopback::serve(listener, answer));
        }
        Ok(started)
    }

    /// Credentials that registries did not accept.
    pub(crate) fn refused(&self) -> &Refusals {
        &self.refused
    }

    /// What points package managers at the servers: what of it are variables.
    pub(crate) fn variables(&self) -> Variables {
        let variables = managers::variables(&self.locals).into_iter();
        variables
            .map(|(name, value)| (name, value.into()))
            .collect()
    }

    /// What of it are files in a home.
    ///
    /// # Errors
    /// If one cannot be written.
    pub(crate) fn write_files(&self, user: Option<AgentUser>, home: &Path) -> io::Result<()> {
        for (path, text) in managers::files(&self.locals) {
            files::write(user, home, Path::new(path), &text)?;
        }
        Ok(())
    }

    /// Lets the lock files of a checkout name the servers in the place of the registries, where a package
    /// manager takes addresses from there. No command may be running.
    ///
    /// # Errors
    /// If one cannot be read or written.
    pub(crate) fn localize(&self, user: Option<AgentUser>, checkout: &Path) -> io::Result<()> {
        if self.locals.is_empty() {
            return Ok(());
        }
        lock_files::rewrite(user, checkout, &|file, text| {
            lock_files::localized(&self.locals, file, text)
        })
    }

    /// Lets the lock files of a checkout name the registries again.
    ///
    /// # Errors
    /// If one cannot be read or written.
    pub(crate) fn restore(&self, user: Option<AgentUser>, checkout: &Path) -> io::Result<()> {
        if self.locals.is_empty() {
            return Ok(());
        }
        lock_files::rewrite(user, checkout, &|_, text| {
            lock_files::restored(&self.locals, text)
        })
    }
}
