//! What sets a checkout up: files that point package managers at the environment's registries, and its
//! steps, in the order written. What the steps leave behind holds no secret that the phase which follows
//! does not have.

use std::path::Path;
use std::time::{Duration, SystemTime};

use awo_domain::RunId;
use awo_domain::control::RunnerEvent;
use awo_domain::environment::{DEFAULT_STEP_MS, SecretPhase};
use awo_supervisor::Limits;

use super::{Environment, NotSearched, scrub_in_background};
use crate::agent_user::AgentUser;
use crate::contained_process::ContainedProcesses;
use crate::registries::Registries;
use crate::reporter::Reporter;
use crate::shell::{Script, ScriptFailure};
use crate::stop::StopOutcome;

/// A checkout, and what sets it up.
pub(crate) struct Setup<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) registries: &'a Registries,
    pub(crate) processes: &'a ContainedProcesses,
    pub(crate) run_id: &'a RunId,
    pub(crate) user: Option<AgentUser>,
    pub(crate) checkout: &'a Path,
    pub(crate) home: &'a Path,
    pub(crate) tmp: &'a Path,
    /// What each step may take of the machine.
    pub(crate) limits: Limits,
    /// The phase that follows.
    pub(crate) before: SecretPhase,
    /// Reports each step; absent where a client waits for the result.
    pub(crate) reporter: Option<&'a Reporter>,
}

/// Why a checkout is not set up.
#[derive(Debug)]
pub(crate) enum NotSetUp {
    /// A sentence for the person who can act.
    Failed(String),
    /// The same of a step, which may be the fault of the code that is set up.
    StepFailed(String),
    /// There was no time left.
    OutOfTime,
    /// The checkout may hold values that the next phase must not see.
    NotSearched(NotSearched),
    Stopped(StopOutcome),
}

impl From<StopOutcome> for NotSetUp {
    fn from(stopped: StopOutcome) -> NotSetUp {
        NotSetUp::Stopped(stopped)
    }
}

impl Setup<'_> {
    /// Runs the steps for as long as there is time left. All that they started is dead when it returns.
    ///
    /// # Errors
    /// [`NotSetUp`], at the first step that did not succeed.
    pub(crate) async fn run(&self, left: impl Fn() -> Duration) -> Result<(), NotSetUp> {
        let Some(of_run) = &self.environment.of_run else {
            return Ok(());
        };
        let since = SystemTime::now();
        let written = self.registries.write_files(self.user, self.home);
        let written = written.and_then(|()| self.registries.localize(self.user, self.checkout));
        written.map_err(|why| {
            let message = format!("package managers could not be pointed at registries: {why}");
            NotSetUp::Failed(message)
        })?;
        let variables = self.environment.variables(SecretPhase::Setup);
        for step in &of_run.setup {
            let own = Duration::from_millis(step.timeout_ms.unwrap_or(DEFAULT_STEP_MS));
            let script = Script {
                run: &step.run,
                run_id: self.run_id,
                variables: &variables,
                dir: self.checkout,
                home: self.home,
                tmp: self.tmp,
                limits: self.limits.clone(),
                limit: own.min(left()),
            };
            let ended = script.run(self.processes).await?;
            self.report(&step.name, &ended).await;
            let Err(failure) = ended else {
                continue;
            };
            if failure.timed_out && left().is_zero() {
                return Err(NotSetUp::OutOfTime);
            }
            let (step, name, why) = (&step.name, &of_run.name, failure.why);
            let message = format!("the step {step:?} of the environment {name} {why}");
            let refused = self.registries.refused();
            return Err(if refused.is_empty() {
                NotSetUp::StepFailed(message)
            } else {
                NotSetUp::Failed(refused.explain(message, name))
            });
        }
        let masks = self.environment.masks_before(self.before);
        let folders = [self.checkout, self.home, self.tmp];
        let folders = folders.map(Path::to_owned).to_vec();
        let limit = self.processes.search_limit(left());
        let scrubbed = scrub_in_background(masks, folders, since, self.user, (limit, ())).await;
        scrubbed.map_err(NotSetUp::NotSearched)
    }

    async fn report(&self, name: &str, ended: &Result<Duration, ScriptFailure>) {
        let Some(reporter) = self.reporter else {
            return;
        };
        let (took, exit_code) = match ended {
            Ok(took) => (*took, Some(0)),
            Err(failure) => (failure.took, failure.exit_code),
        };
        let phase = match self.before {
            SecretPhase::Verify => SecretPhase::Verify,
            SecretPhase::Setup | SecretPhase::Agent => SecretPhase::Setup,
        };
        let step = RunnerEvent::EnvironmentStep {
            name: name.to_owned(),
            phase,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            exit_code,
        };
        reporter.event(step).await;
    }
}
