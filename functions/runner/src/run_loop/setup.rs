//! The environment's setup: before the agent begins, and again in each clean checkout before it is
//! verified. Caches are restored before it and stored after it, and what it leaves behind holds no
//! secret that the agent does not have.

use std::path::Path;
use std::time::SystemTime;

use awo_domain::control::{RunEnvironment, RunnerEvent};
use awo_domain::environment::SecretPhase;
use awo_domain::run::RunErrorCode;
use tokio::time::Instant;

use super::services::{FIRST_PATIENCE, LATER_PATIENCE};
use super::{Abort, Work, fail, millis};
use crate::environment::{
    CacheKey, CachedCode, NotSearched, NotSetUp, Places, Setup, lock_files, scrub_in_background,
};
use crate::git::GitError;
use crate::limits::limits;
use crate::stop::StopOutcome;
use crate::verify::Subject;

/// The folders of a setup.
struct Folders<'a> {
    workspace: &'a Path,
    home: &'a Path,
    tmp: &'a Path,
}

impl Work<'_> {
    /// Sets the agent's workspace up. All that it started is dead when it returns.
    pub(super) async fn set_up(&self) -> Result<(), Abort> {
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
        let differing = self.repository.differing_now().await.map_err(not_set_up)?;
        let key = self.cache_key(environment).await?;
        let before = SecretPhase::Agent;
        let restored = self.set_up_in(environment, key.as_ref(), &folders, before);
        let restored = restored.await?.map_err(|why| step_failed(&why))?;
        self.scrub_workspace(since).await?;
        if let (Some(cache), Some(key)) = (self.cache, &key) {
            let places = Places {
                workspace: &workspace,
                home: &home,
            };
            cache.keep(key, &environment.caches, places).await;
        }
        self.restore_names()?;
        let noted = async {
            self.repository.note_setup(&differing).await?;
            self.repository.ignore_untracked().await
        };
        noted.await.map_err(not_set_up)?;
        let ready = RunnerEvent::EnvironmentReady {
            name: environment.name.clone(),
            restored,
            duration_ms: millis(began.elapsed()),
        };
        self.reporter.event(ready).await;
        Ok(())
    }

    /// Sets a clean checkout up that is to be verified: a sentence if a step failed that succeeded in the
    /// workspace of the base, so that the agent may repair it.
    pub(super) async fn set_up_checkout(
        &self,
        subject: &Subject,
        is_agents: bool,
    ) -> Result<Option<String>, Abort> {
        let Some(environment) = &self.environment.of_run else {
            return Ok(None);
        };
        let folders = Folders {
            workspace: &subject.dir,
            home: &subject.home,
            tmp: &subject.tmp,
        };
        self.services_answer(environment, LATER_PATIENCE).await?;
        let key = self.cache_key(environment).await?;
        let before = SecretPhase::Verify;
        let done = self.set_up_in(environment, key.as_ref(), &folders, before);
        match done.await? {
            Ok(_) => Ok(None),
            Err(why) if is_agents => Ok(Some(why)),
            Err(why) => Err(step_failed(&why)),
        }
    }

    /// The caches that were restored, or a sentence about the step that failed.
    async fn set_up_in(
        &self,
        environment: &RunEnvironment,
        key: Option<&CacheKey>,
        folders: &Folders<'_>,
        before: SecretPhase,
    ) -> Result<Result<Vec<String>, String>, Abort> {
        let mut restored = Vec::new();
        if let (Some(cache), Some(key)) = (self.cache, key) {
            let places = Places {
                workspace: folders.workspace,
                home: folders.home,
            };
            let paths = &environment.caches;
            restored = cache.restore(key, paths, places, self.layout).await;
        }
        let places = [folders.workspace, folders.home, folders.tmp];
        let setup = Setup {
            environment: self.environment,
            registries: self.registries,
            processes: self.processes,
            run_id: &self.spec.run_id,
            user: self.layout.user(),
            checkout: folders.workspace,
            home: folders.home,
            tmp: folders.tmp,
            limits: limits(&self.spec.profile.execution_limits, &places),
            before,
            reporter: Some(self.reporter),
        };
        match setup.run(|| self.left()).await {
            Ok(()) => Ok(Ok(restored)),
            Err(NotSetUp::StepFailed(why)) => Ok(Err(why)),
            Err(NotSetUp::Failed(why)) => Err(fail(RunErrorCode::WorkspaceFailed, &why)),
            Err(NotSetUp::OutOfTime) => Err(self.out_of_time()),
            Err(NotSetUp::NotSearched(why)) => Err(self.not_searched(&why)),
            Err(NotSetUp::Stopped(stopped)) => Err(stopped.into()),
        }
    }

    /// None where the environment caches nothing, or has no key for its caches.
    async fn cache_key(&self, environment: &RunEnvironment) -> Result<Option<CacheKey>, Abort> {
        if self.cache.is_none() || environment.caches.is_empty() {
            return Ok(None);
        }
        let listed = self.repository.list(&self.base.commit).await;
        let locks = lock_files(&listed.map_err(not_set_up)?);
        let source = &self.spec.source;
        let default_branch = match &source.branch {
            None => None,
            Some(_) => self.repository.default_branch(source, self.left()).await,
        };
        let code = CachedCode {
            environment: &environment.name,
            repository: source.repository.as_str(),
            branch: self
                .base
                .result_branch
                .as_ref()
                .unwrap_or(&self.base.branch),
            default_branch: default_branch.as_deref(),
            writes: self.is_head_of_branch(),
        };
        Ok(CacheKey::of(&code, &locks))
    }

    /// False where the setup runs code of an agent, or of a commit that is on no branch: what it leaves is for
    /// this run alone.
    fn is_head_of_branch(&self) -> bool {
        let spec = &self.spec;
        self.base.thread.is_none()
            && spec.gate.is_none()
            && spec.start_commit.is_none()
            && spec.parent_id.is_none()
            && spec.resumption.is_none()
    }

    /// Lets lock files of the workspace name the environment's registries, as what is committed does.
    pub(super) fn restore_names(&self) -> Result<(), Abort> {
        let restored = self
            .registries
            .restore(self.layout.user(), &self.layout.workspace());
        restored.map_err(|why| lock_files_failed(&why))
    }

    /// Lets them name the runner's servers, for commands.
    pub(super) fn localize_names(&self) -> Result<(), Abort> {
        let localized = self
            .registries
            .localize(self.layout.user(), &self.layout.workspace());
        localized.map_err(|why| lock_files_failed(&why))
    }

    /// Takes every secret out of the workspace.
    pub(super) async fn scrub_workspace(&self, since: SystemTime) -> Result<(), Abort> {
        let masks = self.environment.masks.clone();
        let folders = vec![self.layout.workspace()];
        let limit = (self.processes.search_limit(self.left()), ());
        let scrubbed = scrub_in_background(masks, folders, since, self.processes.user(), limit);
        scrubbed.await.map_err(|why| self.not_searched(&why))
    }

    /// Ends a run whose workspace may hold secrets: nothing of it is delivered, and nobody finds it.
    fn not_searched(&self, why: &NotSearched) -> Abort {
        let moved = self.layout.discard_workspace();
        match (why, moved) {
            (NotSearched::Stopped, Ok(())) => Abort::Stopped(StopOutcome::default()),
            (NotSearched::OutOfTime, Ok(())) => {
                let message = format!(
                    "the workspace was deleted: {why}. Raise limits.maxDurationMs, or have commands leave fewer and smaller files"
                );
                fail(RunErrorCode::Timeout, &message)
            }
            (_, moved) => {
                let also = moved
                    .err()
                    .map(|why| format!("; it could not be deleted: {why}"));
                let message = format!(
                    "the workspace was discarded: {why}{}",
                    also.unwrap_or_default()
                );
                fail(RunErrorCode::WorkspaceFailed, &message)
            }
        }
    }
}

fn lock_files_failed(why: &std::io::Error) -> Abort {
    let message = format!("the workspace's lock files could not be rewritten: {why}");
    fail(RunErrorCode::WorkspaceFailed, &message)
}

fn step_failed(why: &str) -> Abort {
    fail(RunErrorCode::WorkspaceFailed, why)
}

pub(super) fn not_set_up(why: GitError) -> Abort {
    match why {
        GitError::Stopped => Abort::Stopped(StopOutcome::default()),
        why => {
            let message = format!("the workspace could not be set up: {why}");
            fail(RunErrorCode::WorkspaceFailed, &message)
        }
    }
}
