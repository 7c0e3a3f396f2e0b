//! A manual verification: an organization's plugins on an existing workspace.
//!
//! It works in place: commands run in the workspace itself and may leave their usual files; this
//! program writes nothing there, but takes out of what they left the secrets of the run's environment. Only the requesting function waits for it, so it ends by its own
//! deadline, regardless of the client.

use std::collections::HashSet;
use std::convert::Infallible;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use awo_domain::VerificationId;
use awo_domain::environment::SecretPhase;
use awo_domain::manual::{
    MAX_REFUSAL_BYTES, VerificationReport, VerificationSpec, check_modified_file,
};
use awo_domain::verification::CombinedResult;
use awo_supervisor::Limits;
use tokio::time::Instant;

use crate::agent_user::UserClaim;
use crate::contained_process::ContainedProcesses;
use crate::control_client::{CallError, NotClaimed, VerificationClient};
use crate::environment::{Environment, NotSetUp, Setup, scrub_in_background};
use crate::exit::{EXIT_FENCED, EXIT_TERMINATED, refuse};
use crate::inspection::{Inspector, MEMORY_MB};
use crate::layout::{self, Room, give_tree, write_anew};
use crate::output::last_bytes;
use crate::plan::{Command, FrozenPlan};
use crate::registries::Registries;
use crate::safe_files;
use crate::settings::Settings;
use crate::stop::{self, STOP_SLACK, StopOutcome, StopReason, StopSignal, StopSwitch};
use crate::stop_listener::{ASK_LIMIT, TerminationSignal};
use crate::verify::{Subject, Verification, error, not_judged};
use crate::work_dir::{NOT_INSIDE, WorkDir};
use crate::workspace_archive::WorkspaceArchive;

/// How long a report is tried.
const REPORT_LIMIT: Duration = Duration::from_secs(20);

/// The check that stands for the environment's setup.
const SETUP: &str = "environment";
/// The error of a path that begins with a run and leads elsewhere.
const ELSEWHERE: &str = "must stay in the folder of the run that it names, in whose environment the \
    verification happens and to which its cost is put down";

/// All of it, from the claim to the last report.
pub(crate) async fn verify(settings: &Settings, id: &VerificationId) -> ExitCode {
    let mut termination = match TerminationSignal::new() {
        Ok(termination) => termination,
        Err(why) => return refuse(&format!("cannot listen for signals: {why}")),
    };
    let claimed = tokio::select! {
        claimed = VerificationClient::claim(settings, id) => claimed,
        () = termination.long_since_received(ASK_LIMIT) => return ExitCode::from(EXIT_TERMINATED),
    };
    let (client, spec) = match claimed {
        Ok(claimed) => claimed,
        Err(why @ NotClaimed::Refused(_)) => {
            tracing::info!(event = "nothing_to_do", %why, "there is nothing to do");
            return ExitCode::from(EXIT_FENCED);
        }
        Err(NotClaimed::Failed(why)) => return refuse(&why),
    };
    let (settings, _user) = match with_user(settings, &spec) {
        Ok((settings, user)) => (&settings.clone(), user),
        Err(why) => return refuse(&format!("the verification has no user: {why}")),
    };
    let (switch, stop) = stop::channel();
    let work = work(settings, &spec, &client, &stop);
    let ended = tokio::select! {
        ended = work => ended,
        never = obey(&mut termination, &switch) => match never {},
        // The caller kills what is still alive then.
        () = stop.overdue(STOP_SLACK) => Err(NotDone::Stopped),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(NotDone::Stopped) => ExitCode::from(EXIT_TERMINATED),
        Err(NotDone::Unheard(CallError::Refused { .. })) => ExitCode::from(EXIT_FENCED),
        Err(NotDone::Unheard(why)) => refuse(&why.to_string()),
        Err(NotDone::Broken(why)) => refuse(&why),
    }
}

/// The settings with the user of the workspace's run. A workspace that belongs to none, such as one of an earlier
/// release, is given to a new one.
fn with_user(
    settings: &Settings,
    spec: &VerificationSpec,
) -> std::io::Result<(Settings, Option<UserClaim>)> {
    let path = Path::new(&spec.work_dir);
    let workspace = WorkDir::open(&settings.workspace_root, &spec.org_id, path).ok();
    // The path of an open folder is a link, and leads into it with a further step.
    let checkout = workspace.as_ref().map(|dir| dir.checkout().join("."));
    let (settings, claim) = settings.with_user(checkout.as_deref())?;
    if let (Some(claim), Some(checkout)) = (&claim, &checkout) {
        give_tree(checkout, claim.user)?;
    }
    Ok((settings, claim))
}

/// Why there is no last report.
enum NotDone {
    /// The platform, or the service, took the task away.
    Stopped,
    Unheard(CallError),
    /// For the operator.
    Broken(String),
}

impl From<StopOutcome> for NotDone {
    fn from(_: StopOutcome) -> NotDone {
        NotDone::Stopped
    }
}

/// Stops everything once the task is asked to stop: its report is no longer needed.
async fn obey(termination: &mut TerminationSignal, switch: &StopSwitch) -> Infallible {
    termination.received().await;
    switch.stop(StopReason::Terminated);
    pending().await
}

async fn work(
    settings: &Settings,
    spec: &VerificationSpec,
    client: &VerificationClient,
    stop: &StopSignal,
) -> Result<(), NotDone> {
    let send = async |report| {
        let reported = client.report(&report, REPORT_LIMIT).await;
        reported.map_err(NotDone::Unheard)
    };
    restore(settings, spec).await?;
    let refused = |Wrong { file, message }| {
        let message = last_bytes(&message, MAX_REFUSAL_BYTES);
        send(VerificationReport::Refused { file, message })
    };
    let dir = match look_at(settings, spec) {
        Ok(dir) => dir,
        Err(wrong) => return refused(wrong).await,
    };
    let of_run = spec.environment.as_ref().map(|of| &of.environment);
    let (environment, registries) = match Environment::open(of_run, &settings.private_hosts).await {
        Ok(opened) => opened,
        Err(why) => {
            let message = format!("belongs to a run whose environment is not there: {why}");
            return refused(Wrong::work_dir(message)).await;
        }
    };
    let processes = ContainedProcesses::new(settings, stop.clone());
    let processes = environment.processes(processes);
    let broken = |why: std::io::Error| {
        NotDone::Broken(format!(
            "the folder for the verification could not be created: {why}"
        ))
    };
    let room =
        Room::create(&dir.org_dir, &spec.verification_id, processes.user()).map_err(broken)?;
    let inspector = Inspector {
        processes: &processes,
        dir: &dir.path(),
        home: &room.home(),
        tmp: &room.tmp(),
        request: room.inspection(),
        memory_mb: MEMORY_MB,
    };
    let limit = Duration::from_millis(spec.timeout_ms);
    let frozen = match inspector.plan(limit).await? {
        Ok(frozen) => frozen,
        Err(why) => {
            let message = format!("holds a plan that cannot be followed, {why}");
            return refused(Wrong::work_dir(message)).await;
        }
    };
    send(VerificationReport::Begun {}).await?;
    let subject = subject(spec, dir.path(), &room).map_err(broken)?;
    let inside = Inside {
        spec,
        environment: &environment,
        registries: &registries,
        processes: &processes,
    };
    let result = inside.verified(&frozen, &subject, dir).await?;
    tracing::info!(
        event = "verified",
        summary = result.summary,
        "the verification is done"
    );
    // Who hears of the result finds nothing of ours beside the workspace.
    drop(room);
    send(VerificationReport::Finished { result }).await
}

/// Brings the workspace here that the path leads into, where tasks have no disk in common.
async fn restore(settings: &Settings, spec: &VerificationSpec) -> Result<(), NotDone> {
    let Some(archive) = WorkspaceArchive::of(settings) else {
        return Ok(());
    };
    archive.sweep();
    let restored = archive
        .restore(&spec.org_id, Path::new(&spec.work_dir))
        .await;
    restored.map_err(|why| NotDone::Broken(format!("the workspace was not unpacked: {why}")))
}

/// A verification whose workspace is found, in its run's environment.
struct Inside<'a> {
    spec: &'a VerificationSpec,
    environment: &'a Environment,
    registries: &'a Registries,
    processes: &'a ContainedProcesses,
}

impl Inside<'_> {
    /// Sets the workspace up and verifies it. What the commands leave in it holds no secret, and
    /// neither does the result.
    async fn verified(
        &self,
        frozen: &FrozenPlan,
        subject: &Subject,
        dir: WorkDir,
    ) -> Result<CombinedResult, StopOutcome> {
        let (began, since) = (Instant::now(), SystemTime::now());
        let plugins = &self.spec.plugins;
        let checkout = dir.checkout();
        let judged = match self.set_up(subject, &checkout, began).await {
            Ok(()) => {
                let limit = Duration::from_millis(self.spec.timeout_ms);
                let install = self.open_installs(frozen, subject);
                let verification = Verification::new(self.processes, &frozen.plan, subject, limit)
                    .begun_at(began)
                    .installing(&install)
                    .of_base(frozen)
                    .with(self.environment.variables(SecretPhase::Verify));
                verification.run(plugins).await.map(|done| done.result)
            }
            Err(NotSetUp::Failed(why) | NotSetUp::StepFailed(why)) => {
                Ok(not_judged(plugins, error(SETUP, &why)))
            }
            Err(NotSetUp::OutOfTime) => {
                let ms = self.spec.timeout_ms;
                let why = format!("the verification's time of {ms} ms is used up");
                Ok(not_judged(plugins, error(SETUP, &why)))
            }
            Err(NotSetUp::NotSearched(why)) => {
                let why = format!("the workspace is not verified: {why}");
                Ok(not_judged(plugins, error(SETUP, &why)))
            }
            Err(NotSetUp::Stopped(stopped)) => Err(stopped),
        };
        let scrubbed = self.scrub(dir, since, began).await;
        let mut result = match (judged?, scrubbed) {
            (result, Ok(())) => result,
            (_, Err(why)) => not_judged(plugins, error(SETUP, &why)),
        };
        result.duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(self.environment.masks.all_texts(result))
    }

    /// Installations whose folder is not filled; none where the environment has a setup of its own.
    fn open_installs(&self, frozen: &FrozenPlan, subject: &Subject) -> Vec<Command> {
        let environment = self.environment.of_run.as_ref();
        if environment.is_some_and(|one| !one.setup.is_empty()) {
            return Vec::new();
        }
        frozen.open_installs(&subject.dir)
    }

    /// The environment's setup, within the verification's time.
    async fn set_up(
        &self,
        subject: &Subject,
        checkout: &Path,
        began: Instant,
    ) -> Result<(), NotSetUp> {
        let Some(of) = &self.spec.environment else {
            return Ok(());
        };
        let setup = Setup {
            environment: self.environment,
            registries: self.registries,
            processes: self.processes,
            run_id: &of.run_id,
            user: self.processes.user(),
            checkout,
            home: &subject.home,
            tmp: &subject.tmp,
            limits: Limits::default(),
            before: SecretPhase::Verify,
            reporter: None,
        };
        let limit = Duration::from_millis(self.spec.timeout_ms);
        setup.run(|| limit.saturating_sub(began.elapsed())).await
    }

    /// Takes every secret out of the workspace; what cannot be searched is deleted.
    async fn scrub(&self, dir: WorkDir, since: SystemTime, began: Instant) -> Result<(), String> {
        let masks = self.environment.masks.clone();
        let restored = self
            .registries
            .restore(self.processes.user(), &dir.checkout());
        restored
            .map_err(|why| format!("the workspace's lock files could not be restored: {why}"))?;
        let dir = Arc::new(dir);
        let folders = vec![dir.checkout()];
        let left = Duration::from_millis(self.spec.timeout_ms).saturating_sub(began.elapsed());
        let limit = (self.processes.search_limit(left), Arc::clone(&dir));
        let scrubbed = scrub_in_background(masks, folders, since, self.processes.user(), limit);
        let Err(why) = scrubbed.await else {
            return Ok(());
        };
        let emptied = tokio::task::spawn_blocking(move || layout::empty(&dir.checkout())).await;
        let also = match emptied {
            Ok(Ok(())) => "its files were deleted".to_owned(),
            Ok(Err(why)) => format!("its files could not be deleted: {why}"),
            Err(why) => format!("its files could not be deleted: {why}"),
        };
        Err(format!("the workspace may hold secrets: {why}; {also}"))
    }
}

/// A path that a client gave and that cannot be followed.
struct Wrong {
    /// The modified file, from 0; the workspace where it is absent.
    file: Option<u32>,
    message: String,
}

impl Wrong {
    fn work_dir(message: String) -> Wrong {
        Wrong {
            file: None,
            message,
        }
    }
}

/// The workspace, if no path leads out of it.
fn look_at(settings: &Settings, spec: &VerificationSpec) -> Result<WorkDir, Wrong> {
    let path = Path::new(&spec.work_dir);
    let opened = WorkDir::open(&settings.workspace_root, &spec.org_id, path);
    let dir = opened.map_err(|why| {
        tracing::info!(event = "workspace_refused", %why, "the workspace is refused");
        Wrong::work_dir(NOT_INSIDE.to_owned())
    })?;
    let in_environment = spec
        .environment
        .as_ref()
        .map(|environment| &environment.run_id);
    let run = spec.run_id.as_ref().or(in_environment);
    if run.is_some_and(|run| dir.run.as_ref() != Some(run)) {
        return Err(Wrong::work_dir(ELSEWHERE.to_owned()));
    }
    let files = spec.modified_files.iter().flatten();
    for (number, file) in files.enumerate() {
        if safe_files::escapes(&dir.path(), Path::new(file)) {
            let message = "must not lead out of workDir, its links included".to_owned();
            let file = u32::try_from(number).ok();
            return Err(Wrong { file, message });
        }
    }
    Ok(dir)
}

fn subject(spec: &VerificationSpec, dir: PathBuf, room: &Room) -> std::io::Result<Subject> {
    let prompt = spec.task_prompt.as_ref().map(|text| {
        let file = room.prompt();
        write_anew(&file, text.as_bytes()).map(|()| file)
    });
    let only: Option<HashSet<PathBuf>> = spec.modified_files.as_ref().map(|files| {
        // They were checked before; the sender of this spec is not trusted with paths.
        let inside = files
            .iter()
            .filter_map(|file| check_modified_file(file).ok());
        inside.map(PathBuf::from).collect()
    });
    let changed = only.as_ref().map(|only| {
        let mut changed: Vec<PathBuf> = only.iter().cloned().collect();
        changed.sort_unstable();
        changed
    });
    Ok(Subject {
        home: room.home(),
        tmp: room.tmp(),
        request: room.inspection(),
        changed,
        gone_test_files: Vec::new(),
        tests_changed: Vec::new(),
        gate_changed: Vec::new(),
        only,
        prompt: prompt.transpose()?,
        dir,
    })
}
