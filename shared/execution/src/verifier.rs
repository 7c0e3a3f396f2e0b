//! Manual verification: a permit, a task, and the wait for its result. The waiting function also
//! polls ECS, to notice a task that ended; if it stops waiting, the sweep does the rest.
//!
//! A verification of a run's workspace happens in the run's environment, in a task as the work order's
//! next run would have.

mod charge;

use std::time::{Duration, Instant};

use awo_cloud::compute::{Compute, EcsError, TaskEnd, TaskOutcome, TaskState};
use awo_cloud::{Clock, Cloud, Mint, SetupError, settings};
use awo_domain::ledger::Rates;
use awo_domain::manual::{Request, run_named_by};
use awo_domain::run::RunStatus;
use awo_domain::verification::CombinedResult;
use awo_domain::{Error, OrgId, Timestamp, VerificationId};
use awo_store::Store;
use awo_store::capacity::permits::MaxTasks;
use awo_store::runs::verifications::{
    BEGIN_MS, LOOK_MS, SLACK_MS, Verification, VerificationStanding, request_ms,
};
use awo_store::runs::verified_run::VerifiedRun;

use self::charge::{Failure, is_platforms};
use crate::launcher::Launcher;

/// First and longest pause between two readings of the item.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LONGEST_LOOK: Duration = Duration::from_millis(500);
/// First and longest pause between two questions to ECS, which limits how often it is asked.
const FIRST_QUESTION: Duration = Duration::from_secs(1);
const LONGEST_QUESTION: Duration = Duration::from_secs(5);
/// How long ECS may not know a task that it has just started.
const UNKNOWN_LIMIT: Duration = Duration::from_secs(15);
/// How long a task's report waits for its caller, before the sweep takes it for forgotten.
const FORGOTTEN_MS: i64 = 60_000;

/// Manual verification.
#[derive(Debug, Clone)]
pub struct Verifier {
    store: Store,
    compute: Compute,
    launcher: Launcher,
    clock: Clock,
    mint: Mint,
    rates: Rates,
}

/// What a reading of a verification shows.
enum Observation {
    NothingNew,
    Begun,
    Finished(Box<CombinedResult>),
}

impl Verifier {
    /// By the environment's settings.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn new(cloud: &Cloud) -> Result<Verifier, SetupError> {
        Ok(Verifier {
            store: cloud.store()?,
            compute: cloud.compute()?,
            launcher: Launcher::new(cloud)?,
            clock: cloud.clock.clone(),
            mint: cloud.mint.clone(),
            rates: settings::rates(&cloud.environment)?,
        })
    }

    /// Takes its permits and its hold, asks for the task, and returns when the task has found that the
    /// workspace is the organization's and has a plan that reads.
    ///
    /// # Errors
    /// [`Error::TooManyAtOnce`], [`Error::InsufficientCredits`], [`Error::OverBudget`], [`Error::Invalid`] at
    /// the path that is wrong, or internal; its permits are free again then, and its hold is settled.
    pub async fn begin(
        &self,
        org: &OrgId,
        request: Request,
        max: MaxTasks,
    ) -> Result<Verification, Error> {
        let run = self.verified_run(org, &request).await?;
        let now = self.clock.now();
        let id = VerificationId::new(now, self.mint.random(now));
        let hold = self.hold(&request, &run);
        let subject = (request, run);
        let new = Verification::new(org, &id, subject, self.mint.secret(), now).holding(hold);
        let mut verification = self.store.begin_verification(new, max, now).await?;
        match self.start(&verification).await {
            Ok(task_arn) => verification.task_arn = Some(task_arn),
            Err(error) => return Err(self.over(&verification, error.into()).await),
        }
        let limit = Duration::from_millis(BEGIN_MS.unsigned_abs());
        match self.wait(&verification, limit, false).await {
            Ok(_) => Ok(verification),
            Err(failure) => Err(self.over(&verification, failure).await),
        }
    }

    /// Waits for the result; the permit is free again then and the hold is settled, whatever it is.
    ///
    /// # Errors
    /// Internal, when the task was lost or took longer than it may.
    pub async fn result(&self, of: &Verification) -> Result<CombinedResult, Error> {
        let whole_ms = request_ms(&of.request) + SLACK_MS;
        let limit = Duration::from_millis(whole_ms.unsigned_abs());
        match self.wait(of, limit, true).await {
            Ok(Observation::Finished(result)) => {
                if let Err(error) = self.end(of, false).await {
                    tracing::warn!(
                        event = "verification_permit_not_returned",
                        ?error,
                        "a permit of a verification could not be returned; the sweep returns it"
                    );
                }
                Ok(*result)
            }
            Ok(_) => {
                let error = Error::internal("waited for too little");
                Err(self.over(of, error.into()).await)
            }
            Err(failure) => Err(self.over(of, failure).await),
        }
    }

    /// Handles a verification whose deadline seems to have come: as it is now, one that goes on as
    /// it may is left alone, any other is over.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn handle(&self, org: &OrgId, permit: u32, now: Timestamp) -> Result<(), Error> {
        match self.store.verification_at(org, permit).await? {
            Some(of) if of.due_at <= now.epoch_ms() => self.handle_overdue(&of, now).await,
            _ => Ok(()),
        }
    }

    async fn handle_overdue(&self, of: &Verification, now: Timestamp) -> Result<(), Error> {
        let task_arn = match &of.task_arn {
            Some(task_arn) => Some(task_arn.clone()),
            None => {
                let (org, id) = (&of.org_id, &of.verification_id);
                self.compute.find_verification(org, id).await?
            }
        };
        let state = match &task_arn {
            Some(task_arn) => Some(self.compute.describe_task(task_arn).await?),
            None => None,
        };
        let is_alive = matches!(state, Some(TaskState::Alive(_)));
        let has_time = now < of.ends_at;
        let is_fresh = now.ms_since(of.changed_at) < FORGOTTEN_MS;
        if has_time && (is_alive || is_fresh) {
            let next = now.plus_ms(LOOK_MS);
            return self.store.postpone_verification(of, next).await;
        }
        // A living one is over by its own deadline, which nothing extends.
        if let Some(task_arn) = task_arn.filter(|_| is_alive) {
            self.compute.stop_task(&task_arn, OVERDUE).await?;
        }
        let Some(of) = &self.store.as_it_stands(of).await? else {
            return Ok(());
        };
        // A task that still runs is not lost.
        let is_free = match &state {
            Some(TaskState::Alive(_)) => false,
            Some(TaskState::Gone(gone)) => is_platforms(gone),
            None => true,
        };
        let charge = self.charge(of, is_free, now);
        let ended = self.store.end_forgotten_verification(of, &charge, now);
        if ended.await? {
            tracing::warn!(event = "verification_ended_by_service", id = %of.verification_id, "ended a verification that did not end itself");
        }
        Ok(())
    }

    /// The run that the path names, in whose environment it happens and to which its cost is put down.
    async fn verified_run(&self, org: &OrgId, request: &Request) -> Result<VerifiedRun, Error> {
        let refused = |why: &str| Err(Error::invalid("/workDir", why));
        let Some(run_id) = run_named_by(org, &request.work_dir) else {
            return refused(OF_NO_RUN);
        };
        let Some(run) = self.store.run(org, &run_id).await? else {
            return refused(OF_NO_RUN);
        };
        let Some(order) = self.store.work_order(org, &run.work_order_id).await? else {
            return refused(OF_NO_RUN);
        };
        let verified = VerifiedRun::of(&run, &order);
        if order.environment.is_none() {
            return Ok(verified);
        }
        // A run that was stopped ends before its processes do.
        let has_ended = run.status == RunStatus::Succeeded || run.compute_stopped_at.is_some();
        if !run.status.is_terminal() || !has_ended {
            return refused(AT_WORK);
        }
        match order.own_containers()? {
            Some(_) => refused(OWN_CONTAINERS),
            None => Ok(verified),
        }
    }

    async fn start(&self, of: &Verification) -> Result<String, Error> {
        let launch = match self.launcher.launch_for(&of.org_id).await {
            Ok(launch) => launch,
            Err(EcsError::Busy { reason }) => return Err(no_capacity(&reason)),
            Err(EcsError::Failed(error)) => return Err(error),
        };
        match self.compute.run_verification(&launch, of).await? {
            TaskOutcome::Started { task_arn } => {
                self.store.note_verification_task(of, &task_arn).await?;
                Ok(task_arn)
            }
            TaskOutcome::NoDefinition => {
                self.launcher.forget(&of.org_id, None).await?;
                Err(Error::internal(
                    "the task definition of a verification is out of use: the next one gets another",
                ))
            }
            TaskOutcome::NoCapacity { reason } => Err(no_capacity(&reason)),
        }
    }

    /// Ends a verification without a result; what could not be done for it is left to the sweep.
    async fn over(&self, of: &Verification, failure: Failure) -> Error {
        let Failure { error, is_free } = failure;
        let ended = async {
            if let Some(task_arn) = &of.task_arn {
                self.compute.stop_task(task_arn, OVERDUE).await?;
            }
            self.end(of, is_free).await
        };
        if let Err(why) = ended.await {
            tracing::warn!(event = "verification_left_to_sweep", id = %of.verification_id, ?why, "a verification is left to the sweep");
        }
        error
    }

    /// Waits until the workspace was read, or for the result.
    async fn wait(
        &self,
        of: &Verification,
        limit: Duration,
        whole: bool,
    ) -> Result<Observation, Failure> {
        let began = Instant::now();
        let (mut pause, mut patience) = (FIRST_LOOK, FIRST_QUESTION);
        let mut asked_at = began;
        while began.elapsed() < limit {
            // Asked before the reading: what a task reported before its end is read after it.
            let ask = asked_at.elapsed() >= patience;
            let gone = if ask {
                self.is_gone(of, began).await
            } else {
                None
            };
            if ask {
                asked_at = Instant::now();
                patience = (patience * 2).min(LONGEST_QUESTION);
            }
            match (self.observe(of).await?, gone) {
                (Observation::Finished(result), _) => return Ok(Observation::Finished(result)),
                (Observation::Begun, _) if !whole => return Ok(Observation::Begun),
                (_, Some(gone)) => {
                    return Err(Failure {
                        error: Self::lost(&gone),
                        is_free: is_platforms(&gone),
                    });
                }
                _ => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LONGEST_LOOK);
        }
        let why = format!(
            "the task of a verification did not report within {} ms",
            limit.as_millis()
        );
        Err(Failure::of_content(Error::internal(why)))
    }

    async fn observe(&self, of: &Verification) -> Result<Observation, Failure> {
        let now_is = self.store.as_it_stands(of).await?;
        let gone = || Error::internal("a verification was ended by another request");
        match now_is.ok_or_else(gone)?.standing {
            VerificationStanding::Asked {} => Ok(Observation::NothingNew),
            VerificationStanding::Begun {} => Ok(Observation::Begun),
            VerificationStanding::Refused { file, message } => {
                let file = file.map(|file| format!("/modifiedFiles/{file}"));
                let path = file.as_deref().unwrap_or("/workDir");
                Err(Failure::of_content(Error::invalid(path, message)))
            }
            VerificationStanding::Finished { result } => {
                Ok(Observation::Finished(Box::new(result)))
            }
        }
    }

    /// The error of a task that ended without a result.
    fn lost(gone: &TaskEnd) -> Error {
        let code = gone.exit_code;
        let code = code.map_or("no exit code".to_owned(), |code| code.to_string());
        let why = format!(
            "the task of a verification was lost: {}, {code}",
            gone.reason
        );
        Error::internal(why)
    }

    /// How its task ended, if it is known to have.
    async fn is_gone(&self, of: &Verification, began: Instant) -> Option<TaskEnd> {
        let task_arn = of.task_arn.as_ref()?;
        let state = self.compute.describe_task(task_arn).await;
        match state {
            Ok(TaskState::Alive(_)) => None,
            Ok(TaskState::Gone(gone)) => {
                let is_known = gone.exit_code.is_some() || began.elapsed() > UNKNOWN_LIMIT;
                is_known.then_some(gone)
            }
            Err(error) => {
                tracing::warn!(
                    event = "verification_task_query_failed",
                    ?error,
                    "the task of a verification could not be read"
                );
                None
            }
        }
    }
}

/// The fault of a path that no run's cost could be put down to.
const OF_NO_RUN: &str = "must lie in the folder of a run of your organization, such as the run's own \
    workDir; a purged run has none";
/// The fault of the path of a run whose agent could see the secrets of its environment.
const AT_WORK: &str = "belongs to a run that has not ended and has an environment: ask again once the \
    run has ended";
/// The fault of the path of a run whose workspace is nowhere.
const OWN_CONTAINERS: &str = "belongs to a run whose environment has an image or services, and the workspaces \
    of such runs are not archived: their tasks mount no file system, since a client's program could use it as well";

/// The reason that ECS gets for a task that is stopped.
const OVERDUE: &str = "no request waits for this verification";

fn no_capacity(reason: &str) -> Error {
    Error::internal(format!(
        "no capacity for the task of a verification: {reason}"
    ))
}
