//! Starts a task of an organization: from the deployment's task definition; if the deployment
//! has a file system that tasks share, from the organization's own; or, if the environment of the run
//! names an image or services, from a definition with these. Definitions are created when they are
//! first needed and again after a deployment. Rivals, and a crash after any call, leave at most a
//! superfluous revision, which the sweep takes out of use: the access point is the same for every
//! caller, and tasks are requested by the family, whose newest revision counts.
//!
//! ECS refuses a registration while another one of its family is under way, and accepts about one a
//! second. So the launches of a process register one after the other, and a launch that is refused waits for the
//! definition of its rival, registers once more, and then leaves its run to wait as for any other capacity.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use awo_cloud::compute::{Compute, EcsError, Launch};
use awo_cloud::definitions::{Derivation, Mount, own_family};
use awo_cloud::files::Files;
use awo_cloud::{Clock, Cloud, Mint, SetupError};
use awo_domain::environment::{Containers, ContainersId};
use awo_domain::{Error, OrgId, WorkOrderId};
use awo_store::Store;
use awo_store::runs::lifecycle::lease::{Lease, UNASKED_MS};
use awo_store::settings::task_definitions::{Origin, OwnDefinition};
use tokio::sync::Mutex as AsyncMutex;

/// How long the deployment's definition is taken for what it was: ECS limits how often it is asked.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// Readings of a definition that a rival registers, and the time before each, of which up to as much again is random.
const RIVAL_READINGS: u32 = 4;
const RIVAL_PAUSE_MS: u64 = 400;

/// Knows how tasks are started.
#[derive(Debug, Clone)]
pub struct Launcher {
    store: Store,
    compute: Compute,
    launch: Launch,
    files: Option<Files>,
    clock: Clock,
    mint: Mint,
    known: Arc<Mutex<Option<(Instant, Base)>>>,
    /// Held during a registration.
    registering: Arc<AsyncMutex<()>>,
}

/// The deployment's definition, by its ARN and its family.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Base {
    arn: String,
    family: String,
}

/// The containers of a task, and the work order that defines them.
type Of<'a> = (&'a ContainersId, &'a WorkOrderId);

impl Launcher {
    /// By the environment's settings.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn new(cloud: &Cloud) -> Result<Launcher, SetupError> {
        Ok(Launcher {
            store: cloud.store()?,
            compute: cloud.compute()?,
            launch: Launch::new(&cloud.environment)?,
            files: cloud.files(),
            clock: cloud.clock.clone(),
            mint: cloud.mint.clone(),
            known: Arc::default(),
            registering: Arc::default(),
        })
    }

    /// How to start a task of this organization that no environment is about.
    ///
    /// # Errors
    /// Busy, when ECS accepts no definition now; failed, when a call fails. Asking again goes on where this ended.
    pub async fn launch_for(&self, org: &OrgId) -> Result<Launch, EcsError> {
        self.launch(org, None, true).await
    }

    /// How to start the task of a lease.
    ///
    /// # Errors
    /// As [`Launcher::launch_for`].
    pub async fn launch_of(&self, lease: &Lease) -> Result<Launch, EcsError> {
        let of = lease.containers.as_ref();
        let of = of.map(|id| (id, &lease.work_order_id));
        // The sweep, which repeats requests, has other leases to look at.
        let is_first = self.clock.now().ms_since(lease.leased_at) < UNASKED_MS;
        self.launch(&lease.org_id, of, is_first).await
    }

    /// Forgets the definition of a task that ECS does not start any more: the next request makes
    /// another one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn forget(
        &self,
        org: &OrgId,
        containers: Option<&ContainersId>,
    ) -> Result<(), Error> {
        tracing::warn!(event = "task_definition_gone", %org, containers = containers.map(ContainersId::as_str), "a task definition is out of use: another one is made");
        *self.lock() = None;
        if self.has_own(containers) {
            self.store.forget_own_definition(org, containers).await
        } else {
            Ok(())
        }
    }

    /// The families of which the task of a lease can be.
    #[must_use]
    pub fn families(&self, lease: &Lease) -> Vec<String> {
        // A family, one of its revisions, or the ARN of one.
        let name = self.launch.task_definition();
        let name = name.rsplit('/').next().unwrap_or(name);
        let family = name.split(':').next().unwrap_or(name).to_owned();
        let containers = lease.containers.as_ref();
        let own = self.has_own(containers);
        let own = own.then(|| own_family(&family, &lease.org_id, containers));
        own.into_iter().chain([family]).collect()
    }

    fn has_own(&self, containers: Option<&ContainersId>) -> bool {
        self.files.is_some() || containers.is_some()
    }

    async fn launch(
        &self,
        org: &OrgId,
        of: Option<Of<'_>>,
        waits: bool,
    ) -> Result<Launch, EcsError> {
        let containers = of.map(|(id, _)| id);
        if !self.has_own(containers) {
            return Ok(self.launch.clone());
        }
        match self.launch_own(org, of).await {
            Err(EcsError::Busy { reason }) if waits => {
                tracing::info!(event = "task_definition_refused", %org, reason, "ECS accepts no task definition now: waiting for that of a rival");
            }
            outcome => return outcome,
        }
        for _ in 0..RIVAL_READINGS {
            tokio::time::sleep(self.rival_pause()).await;
            let own = self.store.own_definition(org, containers).await?;
            let base = self.base(own.as_ref()).await?;
            if self.is_current(own.as_ref(), &base) {
                return Ok(self.launch.of(own_family(&base.family, org, containers)));
            }
        }
        self.launch_own(org, of).await
    }

    fn rival_pause(&self) -> Duration {
        let random = self.mint.random(self.clock.now()) % u128::from(RIVAL_PAUSE_MS);
        let random = u64::try_from(random).unwrap_or_default();
        Duration::from_millis(RIVAL_PAUSE_MS + random)
    }

    /// From the organization's own definition, which is made if it is missing or out of date.
    async fn launch_own(&self, org: &OrgId, of: Option<Of<'_>>) -> Result<Launch, EcsError> {
        let containers = of.map(|(id, _)| id);
        let mut own = self.store.own_definition(org, containers).await?;
        let base = self.base(own.as_ref()).await?;
        if !self.is_current(own.as_ref(), &base) {
            let _registering = match self.registering.try_lock() {
                Ok(first) => first,
                Err(_) => {
                    let next = self.registering.lock().await;
                    own = self.store.own_definition(org, containers).await?;
                    next
                }
            };
            let is_current = self.is_current(own.as_ref(), &base);
            if !is_current && !self.make(org, of, own.as_ref(), &base).await? {
                return Ok(self.launch.clone());
            }
        }
        Ok(self.launch.of(own_family(&base.family, org, containers)))
    }

    /// True for a definition that is derived from the deployment's as it is now.
    fn is_current(&self, own: Option<&OwnDefinition>, base: &Base) -> bool {
        let file_system = self.files.as_ref().map(Files::file_system);
        let Some(own) = own.filter(|own| own.definition.is_some()) else {
            return false;
        };
        own.origin.as_ref().is_some_and(|origin| {
            // Earlier versions let an image of its own mount the organization's folder.
            let mounts_rightly = own.containers.is_none() || origin.access_point.is_none();
            mounts_rightly
                && origin.base == base.arn
                && origin.file_system.as_deref() == file_system
        })
    }

    /// The deployment's definition. ECS is not asked for it where an organization's agrees with the one that is known.
    async fn base(&self, own: Option<&OwnDefinition>) -> Result<Base, EcsError> {
        match self.known().filter(|base| self.is_current(own, base)) {
            Some(base) => Ok(base),
            None => self.ask().await,
        }
    }

    /// Makes a definition. False if there can be none.
    async fn make(
        &self,
        org: &OrgId,
        of: Option<Of<'_>>,
        seen: Option<&OwnDefinition>,
        base: &Base,
    ) -> Result<bool, EcsError> {
        let own = match of {
            Some((_, order)) => Some(self.containers(org, order).await?),
            None => None,
        };
        // A client's image or service could use what its task may mount.
        let access_point = match self.files.as_ref().filter(|_| own.is_none()) {
            Some(files) => self.access_point(files, org).await?,
            None => None,
        };
        if own.is_none() && access_point.is_none() {
            return Ok(false);
        }
        let containers = of.map(|(id, _)| id);
        let family = own_family(&base.family, org, containers);
        // Also where it was there a moment ago: the sweep may have removed it since.
        let now = self.clock.now();
        let begun = self
            .store
            .begin_own_definition(org, containers, &family, now);
        begun.await?;
        let origin = Origin {
            base: base.arn.clone(),
            file_system: self
                .files
                .as_ref()
                .map(|files| files.file_system().to_owned()),
            access_point,
        };
        let mount = origin
            .file_system
            .as_ref()
            .zip(origin.access_point.as_ref());
        let derivation = Derivation {
            family: &family,
            mount: mount.map(|(file_system, access_point)| Mount {
                file_system,
                access_point,
            }),
            containers: own.as_ref(),
        };
        let like = self.compute.task_definition(&base.arn).await?;
        let definition = self.compute.register_like(like, &derivation).await?;
        tracing::info!(event = "task_definition_made", %org, definition, "created a task definition");
        let seen = seen.and_then(|seen| seen.definition.as_deref());
        let noted = self
            .store
            .note_own_definition(org, containers, seen, (&definition, &origin));
        noted.await?;
        Ok(true)
    }

    async fn access_point(&self, files: &Files, org: &OrgId) -> Result<Option<String>, Error> {
        let access_point = files.access_point(org).await?;
        if access_point.is_none() {
            tracing::error!(event = "no_access_point", %org, "the file system has no access point left: workspaces of the organization are not archived");
        }
        Ok(access_point)
    }

    /// What the work order's environment asked of containers when its run was made.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails, or if there are none.
    async fn containers(&self, org: &OrgId, order: &WorkOrderId) -> Result<Containers, Error> {
        let order = self.store.work_order(org, order).await?;
        let own = order.map(|order| order.own_containers()).transpose()?;
        own.flatten()
            .ok_or_else(|| Error::internal("a lease names containers, and its work order does not"))
    }

    fn known(&self) -> Option<Base> {
        let known = self.lock();
        let fresh = known.as_ref().filter(|(at, _)| at.elapsed() < KNOWN_FOR);
        fresh.map(|(_, base)| base.clone())
    }

    /// The deployment's definition as it is now.
    async fn ask(&self) -> Result<Base, EcsError> {
        let name = self.launch.task_definition();
        let found = self.compute.task_definition(name).await?;
        let parts = found.task_definition_arn.zip(found.family);
        let (arn, family) =
            parts.ok_or_else(|| Error::internal("DescribeTaskDefinition: no ARN or no family"))?;
        let base = Base { arn, family };
        let now = Instant::now();
        *self.lock() = Some((now, base.clone()));
        Ok(base)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Instant, Base)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
