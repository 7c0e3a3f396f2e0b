//! The environment's setup: before the agent begins, and again in each clean checkout before it is
//! verified. Caches are restored before it and kept after it, and what it leaves behind holds no
//! secret that the agent does not have.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use awo_domain::control::{RunEnvironment, RunnerEvent};
use awo_domain::environment::{DEFAULT_STEP_MS, SecretPhase};
use awo_domain::run::RunErrorCode;
use tokio::time::Instant;

use super::services::{FIRST_PATIENCE, LATER_PATIENCE};
use super::shell::Script;
use super::{Abort, Tally, Work, fail, millis};
use crate::environment::{CacheKey, Masks, Places, lock_files, scrub};
use crate::git::GitError;
use crate::stop::Stopped;
use crate::verify::Subject;

/// The folders of a setup.
struct Folders<'a> {
    workspace: &'a Path,
    home: &'a Path,
    tmp: &'a Path,
}

impl Work<'_> {
    /// Sets the agent's workspace up. All that it started is dead when it returns.
    pub(super) async fn set_up(&self, tally: &mut Tally) -> Result<(), Abort> {
        let Some(environment) = &self.environment.of_run else {
            return Ok(());
        };
        let (began, since) = (Instant::now(), SystemTime::now());
        let (workspace, home, tmp) = (
            self.layout.workspace(),
            self.layout.home(),
            self.layout.tmp(),
        );
        let folders = Folders {
            workspace: &workspace,
            home: &home,
            tmp: &tmp,
        };
        self.services_answer(environment, FIRST_PATIENCE).await?;
        tally.executed |= !environment.setup.is_empty();
        let key = self.cache_key(environment).await?;
        let restored = self.set_up_in(environment, key.as_ref(), &folders).await?;
        self.forget(since, vec![workspace.clone(), home.clone(), tmp.clone()])
            .await?;
        if let (Some(cache), Some(key)) = (self.cache, &key) {
            let places = Places {
                workspace: &workspace,
                home: &home,
            };
            cache.keep(key, &environment.caches, places).await;
        }
        self.repository
            .ignore_untracked()
            .await
            .map_err(not_set_up)?;
        let ready = RunnerEvent::EnvironmentReady {
            name: environment.name.clone(),
            restored,
            duration_ms: millis(began.elapsed()),
        };
        self.reporter.event(ready).await;
        Ok(())
    }

    /// Sets a clean checkout up that is to be verified.
    pub(super) async fn set_up_checkout(&self, subject: &Subject) -> Result<(), Abort> {
        let Some(environment) = &self.environment.of_run else {
            return Ok(());
        };
        let folders = Folders {
            workspace: &subject.dir,
            home: &subject.home,
            tmp: &subject.tmp,
        };
        self.services_answer(environment, LATER_PATIENCE).await?;
        let key = self.cache_key(environment).await?;
        self.set_up_in(environment, key.as_ref(), &folders).await?;
        Ok(())
    }

    /// The caches that were restored.
    async fn set_up_in(
        &self,
        environment: &RunEnvironment,
        key: Option<&CacheKey>,
        folders: &Folders<'_>,
    ) -> Result<Vec<String>, Abort> {
        let mut restored = Vec::new();
        if let (Some(cache), Some(key)) = (self.cache, key) {
            let places = Places {
                workspace: folders.workspace,
                home: folders.home,
            };
            let paths = &environment.caches;
            restored = cache.restore(key, paths, places, self.layout).await;
        }
        let written = self.registries.write_files(self.layout, folders.home);
        written.map_err(|why| {
            let message = format!("package managers could not be pointed at registries: {why}");
            fail(RunErrorCode::WorkspaceFailed, &message)
        })?;
        let variables = self.environment.variables(SecretPhase::Setup);
        for step in &environment.setup {
            let script = Script {
                run: &step.run,
                variables: &variables,
                dir: folders.workspace,
                home: folders.home,
                tmp: folders.tmp,
                measured: &[folders.workspace, folders.home, folders.tmp],
                limit: Duration::from_millis(step.timeout_ms.unwrap_or(DEFAULT_STEP_MS)),
            };
            if let Err(why) = self.shell(&script).await? {
                let name = &environment.name;
                let message = format!("the step {:?} of the environment {name} {why}", step.name);
                return Err(fail(RunErrorCode::WorkspaceFailed, &message));
            }
        }
        Ok(restored)
    }

    /// None where the environment caches nothing, or nothing tells what it would cache.
    async fn cache_key(&self, environment: &RunEnvironment) -> Result<Option<CacheKey>, Abort> {
        if self.cache.is_none() || environment.caches.is_empty() {
            return Ok(None);
        }
        let listed = self.repository.list(&self.base.commit).await;
        let listed = listed.map_err(not_set_up)?;
        Ok(CacheKey::of(&environment.name, &lock_files(&listed)))
    }

    /// Takes out of what a setup has left behind the secrets that its agent does not have, and of the
    /// workspace all of them.
    async fn forget(&self, since: SystemTime, folders: Vec<PathBuf>) -> Result<(), Abort> {
        let before_agent = self.environment.masks_before_agent();
        self.scrub(before_agent, folders, since).await?;
        self.scrub_workspace(since).await
    }

    /// Takes every secret out of the workspace.
    pub(super) async fn scrub_workspace(&self, since: SystemTime) -> Result<(), Abort> {
        let masks = self.environment.masks.clone();
        let workspace = self.layout.workspace();
        self.scrub(masks, vec![workspace], since).await
    }

    async fn scrub(
        &self,
        masks: Masks,
        folders: Vec<PathBuf>,
        since: SystemTime,
    ) -> Result<(), Abort> {
        let scrubbed = tokio::task::spawn_blocking(move || scrub(&masks, &folders, since)).await;
        let why = match scrubbed {
            Ok(Ok(0)) => return Ok(()),
            Ok(Ok(files)) => {
                tracing::info!(
                    event = "secrets_scrubbed",
                    files,
                    "secrets were taken out of files"
                );
                return Ok(());
            }
            Ok(Err(why)) => why.to_string(),
            Err(_) => "a thread was lost".to_owned(),
        };
        let message = format!("the workspace could not be searched for secrets: {why}");
        Err(fail(RunErrorCode::WorkspaceFailed, &message))
    }
}

fn not_set_up(why: GitError) -> Abort {
    match why {
        GitError::Stopped => Abort::Stopped(Stopped::default()),
        why => {
            let message = format!("the workspace could not be set up: {why}");
            fail(RunErrorCode::WorkspaceFailed, &message)
        }
    }
}
