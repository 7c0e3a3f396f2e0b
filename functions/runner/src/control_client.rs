//! Calls of the control API. Each response means one of three things: accepted, retry, or fenced.

mod connection;

use std::time::Duration;

use awo_domain::control::bedrock::{SessionCredentials, credentials_path};
use awo_domain::control::{
    BaselineAnswer, BaselineRequest, CLAIM_PATH, Children, ChildrenAnswer, Claim, Finish,
    GitCredential, IterationLog, NumberedEvent, Report, ReportAnswer, RunSpec, SnapshotDiff,
    baseline_path, children_path, diff_path, finish_path, logs_path, report_path,
};
use awo_domain::manual::{
    Acknowledgement, CLAIM_VERIFICATION_PATH, VerificationReport, VerificationSpec,
    verification_report_path,
};
use awo_domain::{RunId, VerificationId};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

pub(crate) use crate::backoff::Backoff;
use crate::contained_process::ClientCode;
use crate::settings::Settings;
use connection::Connection;

/// For a whole call; a cold function that waits for a hot row is slower than any other.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);
/// For a heartbeat: an unanswered one is to be followed by others before the run is suspected.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(4);
/// An outage of the control API that loses no run.
pub(crate) const OUTAGE: Duration = Duration::from_secs(60);
/// From the first try of a claim to the last. The service waits for it for ten minutes.
const CLAIM_LIMIT: Duration = Duration::from_secs(240);
const _: () = assert!(CLAIM_LIMIT.as_secs() > OUTAGE.as_secs() + LONGEST_PAUSE.as_secs());
/// First and longest pause between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Why a call brought nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum CallError {
    /// Asking again can help.
    #[error("{0}")]
    TryAgain(String),
    /// Something between this runner and the control API refused the call. Asking again can help; what
    /// the call carried may be what is refused.
    #[error("a proxy in front of the control API answered {status}: {message}")]
    TurnedAway { status: u16, message: String },
    /// The control API does not take this runner's word.
    #[error("the control API answered {status}: {message}")]
    Refused { status: u16, message: String },
}

/// Why there is nothing to do; nothing was started.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum NotClaimed {
    /// The control API does not hand it out: it was canceled before, or another runner has it.
    #[error("the claim was refused: {0}")]
    Refused(CallError),
    /// A sentence for the operator.
    #[error("{0}")]
    Failed(String),
}

impl Backoff {
    /// Between calls of the control API.
    pub(crate) fn new() -> Backoff {
        Backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE)
    }
}

/// The line of a run.
#[derive(Clone)]
pub(crate) struct ControlClient {
    line: Connection,
    report_path: String,
    logs_path: String,
    diff_path: String,
    baseline_path: String,
    children_path: String,
    credentials_path: String,
    finish_path: String,
    client_code: ClientCode,
}

impl ControlClient {
    /// Trades the nonce for a token and fetches the spec. Repeats itself with the same token, so
    /// that a lost reply does no harm.
    ///
    /// # Errors
    /// If there is no run to do.
    pub(crate) async fn claim(
        settings: &Settings,
        run: &RunId,
    ) -> Result<(ControlClient, RunSpec), NotClaimed> {
        let org = &settings.nonce.org;
        let (line, spec): (Connection, RunSpec) = claim(settings, CLAIM_PATH).await?;
        let client = ControlClient {
            line,
            report_path: report_path(org, run),
            logs_path: logs_path(org, run),
            diff_path: diff_path(org, run),
            baseline_path: baseline_path(org, run),
            children_path: children_path(org, run),
            credentials_path: credentials_path(org, run),
            finish_path: finish_path(org, run),
            client_code: ClientCode::default(),
        };
        let is_ours = spec.org_id == *org && spec.run_id == *run;
        is_ours.then_some((client, spec)).ok_or_else(another_spec)
    }

    /// Sends events, or, without any, asks for a client's stop request.
    pub(crate) async fn report(
        &self,
        events: Vec<NumberedEvent>,
    ) -> Result<ReportAnswer, CallError> {
        self.send(events, CALL_TIMEOUT).await
    }

    /// Sends a heartbeat.
    pub(crate) async fn heartbeat(&self) -> Result<ReportAnswer, CallError> {
        self.send(Vec::new(), HEARTBEAT_TIMEOUT).await
    }

    async fn send(
        &self,
        events: Vec<NumberedEvent>,
        limit: Duration,
    ) -> Result<ReportAnswer, CallError> {
        let (line, executed) = (&self.line, self.client_code.has_started());
        let mut report = Report { events, executed };
        let mut answer = line.post(&self.report_path, &report, limit).await;
        if executed && matches!(answer, Err(CallError::Refused { status: 400, .. })) {
            // The release before this one does not know the field; its functions may still answer.
            report.executed = false;
            answer = line.post(&self.report_path, &report, limit).await;
        }
        let answer = answer?;
        line.heard();
        if executed {
            self.client_code.note_reported();
        }
        Ok(answer)
    }

    /// Notes the first process of client code, for every report from then on.
    pub(crate) fn client_code(&self) -> &ClientCode {
        &self.client_code
    }

    /// When a report or a heartbeat was last answered.
    pub(crate) fn heard_at(&self) -> Instant {
        self.line.heard_at()
    }

    /// Sends what an agent wrote.
    pub(crate) async fn log(&self, log: &IterationLog) -> Result<ReportAnswer, CallError> {
        self.line.post(&self.logs_path, log, CALL_TIMEOUT).await
    }

    /// Sends what the run has changed so far.
    pub(crate) async fn diff(&self, diff: &SnapshotDiff) -> Result<ReportAnswer, CallError> {
        self.line.post(&self.diff_path, diff, CALL_TIMEOUT).await
    }

    /// Asks for the stored results of the base commit, or adds to them.
    pub(crate) async fn baseline(
        &self,
        asked: &BaselineRequest,
    ) -> Result<BaselineAnswer, CallError> {
        let path = &self.baseline_path;
        self.line.post(path, asked, CALL_TIMEOUT).await
    }

    /// Asks for children; asking again opens nothing twice.
    pub(crate) async fn children(&self, asked: &Children) -> Result<ChildrenAnswer, CallError> {
        let path = &self.children_path;
        self.line.post(path, asked, CALL_TIMEOUT).await
    }

    /// Asks for credentials for Bedrock.
    pub(crate) async fn credentials(&self) -> Result<SessionCredentials, CallError> {
        let nothing = serde_json::Map::new();
        let path = &self.credentials_path;
        self.line.post(path, &nothing, CALL_TIMEOUT).await
    }

    /// Asks for another credential for the run's git host, or for one to read these submodules there.
    pub(crate) async fn git_credential(
        &self,
        submodules: &[String],
    ) -> Result<GitCredential, CallError> {
        let mut request = serde_json::json!({ "git": true });
        if !submodules.is_empty() {
            request["submodules"] = serde_json::json!(submodules);
        }
        let path = &self.credentials_path;
        self.line.post(path, &request, CALL_TIMEOUT).await
    }

    /// Sends the last report; one try of it ends after `limit`, or after a call's own limit.
    pub(crate) async fn finish(
        &self,
        finish: &Finish,
        limit: Duration,
    ) -> Result<ReportAnswer, CallError> {
        let limit = limit.min(CALL_TIMEOUT);
        self.line.post(&self.finish_path, finish, limit).await
    }
}

/// The line of a manual verification.
pub(crate) struct VerificationClient {
    line: Connection,
    report_path: String,
}

impl VerificationClient {
    /// As [`ControlClient::claim`].
    ///
    /// # Errors
    /// If there is nothing to verify.
    pub(crate) async fn claim(
        settings: &Settings,
        id: &VerificationId,
    ) -> Result<(VerificationClient, VerificationSpec), NotClaimed> {
        let org = &settings.nonce.org;
        let claimed = claim(settings, CLAIM_VERIFICATION_PATH).await?;
        let (line, spec): (Connection, VerificationSpec) = claimed;
        let report_path = verification_report_path(org, id);
        let client = VerificationClient { line, report_path };
        let is_ours = spec.org_id == *org && spec.verification_id == *id;
        is_ours.then_some((client, spec)).ok_or_else(another_spec)
    }

    /// Sends a report until it is stored, at most for `limit`.
    ///
    /// # Errors
    /// When the run is fenced, or no answer came in time.
    pub(crate) async fn report(
        &self,
        report: &VerificationReport,
        limit: Duration,
    ) -> Result<(), CallError> {
        let deadline = Instant::now() + limit;
        let mut backoff = Backoff::new();
        loop {
            let (line, path) = (&self.line, &self.report_path);
            let why = match line
                .post::<Acknowledgement>(path, report, CALL_TIMEOUT)
                .await
            {
                Ok(Acknowledgement {}) => return Ok(()),
                Err(refused @ CallError::Refused { .. }) => return Err(refused),
                Err(why) => why,
            };
            tracing::warn!(event = "report_unanswered", %why, "a report got no answer; retrying");
            let pause = backoff.pause();
            if Instant::now() + pause > deadline {
                return Err(why);
            }
            sleep(pause).await;
        }
    }
}

fn another_spec() -> NotClaimed {
    NotClaimed::Failed("the control API answered with a spec of another kind".to_owned())
}

/// Trades the nonce for a token.
async fn claim<T: DeserializeOwned>(
    settings: &Settings,
    path: &str,
) -> Result<(Connection, T), NotClaimed> {
    let token = new_token().map_err(NotClaimed::Failed)?;
    let line = Connection::new(settings, token).map_err(NotClaimed::Failed)?;
    let claim = Claim {
        nonce: settings.nonce.whole.clone(),
        token: line.token().to_owned(),
    };
    let deadline = Instant::now() + CLAIM_LIMIT;
    let mut backoff = Backoff::new();
    loop {
        let why = match line.post_without_token(path, &claim, CALL_TIMEOUT).await {
            Ok(spec) => return Ok((line, spec)),
            Err(refused @ CallError::Refused { .. }) => return Err(NotClaimed::Refused(refused)),
            Err(why) => why,
        };
        tracing::warn!(event = "claim_unanswered", %why, "the claim got no answer; retrying");
        let pause = backoff.pause();
        if Instant::now() + pause > deadline {
            return Err(NotClaimed::Failed(format!(
                "the control API could not be reached within {} s: {why}",
                CLAIM_LIMIT.as_secs()
            )));
        }
        sleep(pause).await;
    }
}

fn new_token() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|why| format!("no randomness: {why}"))?;
    Ok(hex::encode(bytes))
}
