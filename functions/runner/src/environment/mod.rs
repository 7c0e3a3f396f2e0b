//! The environment of a run: its variables by phase, what must not be seen of it, the commands that
//! set a checkout up, and the folders that are cached.
//!
//! What it keeps:
//! - a secret is a variable of the processes of its phases, and of no other's;
//! - a value stands in nothing that leaves the runner: not in what a process prints, and not in a file
//!   of the workspace, the home or the temporary folder that outlives a phase;
//! - a cache is written by a setup that succeeded, and read into folders that nothing stands in.

mod archive;
mod cache;
mod scrub;
mod search_limit;
mod setup;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use awo_domain::control::RunEnvironment;
use awo_domain::environment::{EgressHosts, SecretPhase};
use awo_domain::webhook::private_hosts::PrivateHosts;

use crate::contained_process::{ContainedProcesses, Variables};
use crate::egress::EgressProxy;
use crate::masks::Masks;
use crate::registries::Registries;

pub(crate) use archive::Archiver;
pub(crate) use cache::{Cache, CacheKey, CachedCode, Places, clean as clean_caches, lock_files};
pub(crate) use scrub::scrub_in_background;
pub(crate) use search_limit::{NotSearched, SearchLimit};
pub(crate) use setup::{NotSetUp, Setup};

/// The environment of a run; of a run without one it is empty.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) of_run: Option<RunEnvironment>,
    /// All values of it that must not be seen.
    pub(crate) masks: Masks,
    /// Variables that point programs at the environment's registries; the environment's own variables count before.
    pub(crate) proxies: Variables,
    /// The way to the hosts that it names; absent where commands reach every network in every phase.
    egress: Option<EgressProxy>,
    /// True while the commands of the present phase reach loopback alone.
    is_limited: Arc<AtomicBool>,
}

impl Environment {
    /// The environment, and the way to its registries, which is open as long as that value lives.
    ///
    /// # Errors
    /// A sentence for the person who can act, if a secret has no value, or this machine cannot limit
    /// what commands reach.
    pub(crate) async fn open(
        of_run: Option<&RunEnvironment>,
        private_hosts: &PrivateHosts,
    ) -> Result<(Environment, Registries), String> {
        let mut environment = Environment::of(of_run)?;
        let wanted = of_run.map_or(&[][..], |one| &one.registries);
        let registries = Registries::start(wanted, private_hosts)
            .await
            .map_err(|why| format!("there is no way to the environment's registries: {why}"))?;
        environment.proxies = registries.variables();
        if of_run.is_some_and(|one| !one.egress.is_open()) {
            let opened = environment.limit_egress().await;
            opened.map_err(|why| format!("egress of the environment cannot be limited: {why}"))?;
            environment.enter(SecretPhase::Setup);
        }
        Ok((environment, registries))
    }

    /// The hosts of a phase; absent where every host may be reached.
    pub(crate) fn hosts_in(&self, phase: SecretPhase) -> Option<EgressHosts> {
        let of_run = self.of_run.as_ref();
        of_run.and_then(|one| one.egress.hosts_in(phase))
    }

    async fn limit_egress(&mut self) -> Result<(), String> {
        let tried = tokio::task::spawn_blocking(awo_supervisor::check_loopback_only).await;
        tried
            .map_err(|why| why.to_string())?
            .map_err(|why| why.to_string())?;
        self.egress = Some(EgressProxy::start().await?);
        Ok(())
    }

    /// Lets the commands that are started from now on reach the hosts of this phase.
    fn enter(&self, phase: SecretPhase) {
        let hosts = self.hosts_in(phase);
        self.is_limited.store(hosts.is_some(), Ordering::SeqCst);
        if let Some(proxy) = &self.egress {
            proxy.limit(hosts);
        }
    }

    /// Processes for its commands: its secrets are masked in what they print, and they reach the hosts
    /// that it lets them reach.
    pub(crate) fn processes(&self, all: ContainedProcesses) -> ContainedProcesses {
        all.masking(self.masks.clone())
            .loopback_only(Arc::clone(&self.is_limited))
    }

    fn of(of_run: Option<&RunEnvironment>) -> Result<Environment, String> {
        let Some(environment) = of_run.cloned() else {
            return Ok(Environment::default());
        };
        if let Some(missing) = environment.missing_secrets.first() {
            return Err(format!(
                "the environment {0} names the secret {missing}, and it has no value of 8 bytes or more: \
                 have the operator set it with `awo admin set-secret --name env:{0}:{missing}`",
                environment.name
            ));
        }
        Ok(Environment {
            masks: Masks::of(environment.values()),
            of_run: Some(environment),
            ..Environment::default()
        })
    }

    /// Begins a phase: the variables that its commands have beyond what every command has. They reach the hosts
    /// of this phase from now on.
    pub(crate) fn variables(&self, phase: SecretPhase) -> Variables {
        let of_run = self.of_run.as_ref();
        let own = of_run.map_or(Vec::new(), |one| one.variables_in(phase));
        self.begin(phase, own)
    }

    /// The same without any secret, for hooks and installations, which reach the hosts of the setup.
    pub(crate) fn plain_variables(&self) -> Variables {
        let of_run = self.of_run.as_ref();
        let plain = of_run.into_iter().flat_map(|one| &one.variables);
        let plain = plain.map(|(name, value)| (name.as_str(), value.as_str()));
        self.begin(SecretPhase::Setup, plain.collect())
    }

    fn begin(&self, phase: SecretPhase, variables: Vec<(&str, &str)>) -> Variables {
        self.enter(phase);
        let is_limited = self.hosts_in(phase).is_some();
        let egress = self.egress.iter().filter(|_| is_limited);
        let egress = egress.flat_map(EgressProxy::variables);
        let own = variables.into_iter();
        let own = own.map(|(name, value)| (name.to_owned(), value.into()));
        self.proxies
            .iter()
            .cloned()
            .chain(egress)
            .chain(own)
            .collect()
    }

    /// The values that must not outlive a setup: those that the phase which follows does not have.
    fn masks_before(&self, phase: SecretPhase) -> Masks {
        let Some(environment) = &self.of_run else {
            return Masks::default();
        };
        let secrets = environment.secrets.iter();
        let hidden = secrets.filter(|secret| !secret.phases.contains(&phase));
        let registries = environment.registries.iter();
        Masks::of(
            hidden
                .map(|secret| secret.value.as_str())
                .chain(registries.map(|one| one.credential.as_str()))
                .collect(),
        )
    }
}
