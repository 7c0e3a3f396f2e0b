//! Starts a task of an organization: from the deployment's task definition, or, if the deployment
//! has a file system that tasks share, from the organization's own, which is created when it is
//! first needed and again after a deployment. Rivals, and a crash after any call, leave at most a
//! superfluous revision: the access point is the same for every caller, and tasks are requested by
//! the family, whose newest revision counts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use awo_cloud::compute::{Compute, Launch};
use awo_cloud::definitions::own_family;
use awo_cloud::files::Files;
use awo_cloud::{Cloud, SetupError};
use awo_domain::{Error, OrgId};
use awo_store::Store;
use awo_store::settings::task_definitions::OwnDefinition;

/// How long the deployment's definition is taken for what it was: ECS limits how often it is asked.
const KNOWN_FOR: Duration = Duration::from_secs(60);

/// Knows how tasks are started.
#[derive(Debug, Clone)]
pub struct Launcher {
    store: Store,
    compute: Compute,
    launch: Launch,
    files: Option<Files>,
    known: Arc<Mutex<Option<(Instant, Base)>>>,
}

/// The deployment's definition, by its ARN and its family.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Base {
    arn: String,
    family: String,
}

impl Launcher {
    /// As the environment says.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn new(cloud: &Cloud) -> Result<Launcher, SetupError> {
        Ok(Launcher {
            store: cloud.store()?,
            compute: cloud.compute()?,
            launch: Launch::new(&cloud.environment)?,
            files: cloud.files(),
            known: Arc::default(),
        })
    }

    /// How to start tasks of this organization.
    ///
    /// # Errors
    /// Internal, when a call fails; asking again goes on where this ended.
    pub async fn launch_for(&self, org: &OrgId) -> Result<Launch, Error> {
        let Some(files) = &self.files else {
            return Ok(self.launch.clone());
        };
        let own = self.store.own_definition(org).await?;
        let is_current = |base: &Base| {
            let own = own.as_ref();
            own.is_some_and(|own| own.base == base.arn && own.file_system == files.file_system())
        };
        let base = match self.known().filter(is_current) {
            Some(base) => base,
            None => self.ask().await?,
        };
        if !is_current(&base) && !self.make(org, own.as_ref(), &base, files).await? {
            return Ok(self.launch.clone());
        }
        Ok(self.launch.of(own_family(&base.family, org)))
    }

    /// The families of which tasks of this organization are.
    #[must_use]
    pub fn families(&self, org: &OrgId) -> Vec<String> {
        // A family, one of its revisions, or the ARN of one.
        let name = self.launch.task_definition();
        let name = name.rsplit('/').next().unwrap_or(name);
        let family = name.split(':').next().unwrap_or(name).to_owned();
        let own = self.files.as_ref().map(|_| own_family(&family, org));
        own.into_iter().chain([family]).collect()
    }

    /// Makes the organization's definition. False if there can be none.
    async fn make(
        &self,
        org: &OrgId,
        seen: Option<&OwnDefinition>,
        base: &Base,
        files: &Files,
    ) -> Result<bool, Error> {
        let Some(access_point) = files.access_point(org).await? else {
            tracing::error!(event = "no_access_point", %org, "the file system has no access point left: workspaces of the organization are not archived");
            return Ok(false);
        };
        let like = self.compute.task_definition(&base.arn).await?;
        let family = own_family(&base.family, org);
        let file_system = files.file_system();
        let definition = self
            .compute
            .register_like(like, &family, file_system, &access_point)
            .await?;
        tracing::info!(event = "task_definition_made", %org, definition, "created a task definition");
        let made = OwnDefinition {
            base: base.arn.clone(),
            file_system: file_system.to_owned(),
            access_point,
            definition,
        };
        self.store.note_own_definition(org, seen, &made).await?;
        Ok(true)
    }

    fn known(&self) -> Option<Base> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = known.as_ref().filter(|(at, _)| at.elapsed() < KNOWN_FOR);
        fresh.map(|(_, base)| base.clone())
    }

    /// The deployment's definition as it is now.
    async fn ask(&self) -> Result<Base, Error> {
        let name = self.launch.task_definition();
        let found = self.compute.task_definition(name).await?;
        let parts = found.task_definition_arn.zip(found.family);
        let (arn, family) =
            parts.ok_or_else(|| Error::internal("DescribeTaskDefinition: no ARN or no family"))?;
        let base = Base { arn, family };
        let now = Instant::now();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, base.clone()));
        Ok(base)
    }
}
