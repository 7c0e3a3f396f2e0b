//! Calls of the control API. One answer decides: kept, try again, or fenced.

use std::time::Duration;

use awo_domain::control::{
    CLAIM_PATH, Children, ChildrenAnswer, Claim, Finish, IterationLog, Report, ReportAnswer,
    RunSpec, SnapshotDiff, children_path, diff_path, finish_path, logs_path, report_path,
};
use awo_domain::manual::{
    CLAIM_VERIFICATION_PATH, Kept, VerificationReport, VerificationSpec, verification_report_path,
};
use awo_domain::{RunId, VerificationId};
use reqwest::{Client, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use crate::http_client;
use crate::settings::Settings;

/// For a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For a whole call; a cold function that waits for a hot row is slower than any other.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);
/// From the first try of a claim to the last.
const CLAIM_LIMIT: Duration = Duration::from_secs(60);
/// First and longest pause between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Largest answer that is read: a spec with its prompt and profile is far smaller.
const MAX_ANSWER_BYTES: usize = 4 * 1_024 * 1_024;
/// Longest text of a refusal that is shown.
const MAX_REFUSAL_CHARS: usize = 500;

/// Why a call brought nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum CallError {
    /// Asking again can help.
    #[error("{0}")]
    TryAgain(String),
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

/// Pauses that double, with a limit.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    pub(crate) fn new() -> Backoff {
        Backoff(FIRST_PAUSE)
    }

    /// The next pause.
    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

/// A runner's line to the control API: its base and the token that it drew.
#[derive(Clone)]
struct Line {
    http: Client,
    base: String,
    token: String,
}

/// The line of a run.
#[derive(Clone)]
pub(crate) struct ControlClient {
    line: Line,
    report_path: String,
    logs_path: String,
    diff_path: String,
    children_path: String,
    finish_path: String,
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
        let (line, spec): (Line, RunSpec) = Line::claim(settings, CLAIM_PATH).await?;
        let client = ControlClient {
            line,
            report_path: report_path(org, run),
            logs_path: logs_path(org, run),
            diff_path: diff_path(org, run),
            children_path: children_path(org, run),
            finish_path: finish_path(org, run),
        };
        let is_ours = spec.org_id == *org && spec.run_id == *run;
        is_ours.then_some((client, spec)).ok_or_else(another_spec)
    }

    /// Sends events, or a heartbeat.
    pub(crate) async fn report(&self, report: &Report) -> Result<ReportAnswer, CallError> {
        self.line.post(&self.report_path, report, true).await
    }

    /// Sends what an agent wrote.
    pub(crate) async fn log(&self, log: &IterationLog) -> Result<ReportAnswer, CallError> {
        self.line.post(&self.logs_path, log, true).await
    }

    /// Sends what the run has changed so far.
    pub(crate) async fn diff(&self, diff: &SnapshotDiff) -> Result<ReportAnswer, CallError> {
        self.line.post(&self.diff_path, diff, true).await
    }

    /// Asks for children; asking again opens nothing twice.
    pub(crate) async fn children(&self, asked: &Children) -> Result<ChildrenAnswer, CallError> {
        self.line.post(&self.children_path, asked, true).await
    }

    /// Sends the last report.
    pub(crate) async fn finish(&self, finish: &Finish) -> Result<ReportAnswer, CallError> {
        self.line.post(&self.finish_path, finish, true).await
    }
}

/// The line of a verification by hand.
pub(crate) struct VerificationClient {
    line: Line,
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
        let claimed = Line::claim(settings, CLAIM_VERIFICATION_PATH).await?;
        let (line, spec): (Line, VerificationSpec) = claimed;
        let report_path = verification_report_path(org, id);
        let client = VerificationClient { line, report_path };
        let is_ours = spec.org_id == *org && spec.verification_id == *id;
        is_ours.then_some((client, spec)).ok_or_else(another_spec)
    }

    /// Sends a report until it is kept, at most for `limit`.
    ///
    /// # Errors
    /// When nobody wants to hear it, or nobody answered in time.
    pub(crate) async fn report(
        &self,
        report: &VerificationReport,
        limit: Duration,
    ) -> Result<(), CallError> {
        let deadline = Instant::now() + limit;
        let mut backoff = Backoff::new();
        loop {
            let sent = self.line.post::<Kept>(&self.report_path, report, true);
            let why = match sent.await {
                Ok(Kept {}) => return Ok(()),
                Err(CallError::TryAgain(why)) => why,
                Err(refused) => return Err(refused),
            };
            tracing::warn!(why, "a report brought no answer; trying again");
            let pause = backoff.pause();
            if Instant::now() + pause > deadline {
                return Err(CallError::TryAgain(why));
            }
            sleep(pause).await;
        }
    }
}

fn another_spec() -> NotClaimed {
    NotClaimed::Failed("the control API answered with the spec of something else".to_owned())
}

impl Line {
    async fn claim<T: DeserializeOwned>(
        settings: &Settings,
        path: &str,
    ) -> Result<(Line, T), NotClaimed> {
        let line = Line {
            http: http_client(settings.plain_http).map_err(NotClaimed::Failed)?,
            base: settings.control_url.clone(),
            token: new_token().map_err(NotClaimed::Failed)?,
        };
        let claim = Claim {
            nonce: settings.nonce.whole.clone(),
            token: line.token.clone(),
        };
        let deadline = Instant::now() + CLAIM_LIMIT;
        let mut backoff = Backoff::new();
        loop {
            let why = match line.post(path, &claim, false).await {
                Ok(spec) => return Ok((line, spec)),
                Err(CallError::TryAgain(why)) => why,
                Err(refused) => return Err(NotClaimed::Refused(refused)),
            };
            tracing::warn!(why, "the claim brought no answer; trying again");
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

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        with_token: bool,
    ) -> Result<T, CallError> {
        let mut request = self.http.post(format!("{}{path}", self.base)).json(body);
        if with_token {
            request = request.bearer_auth(&self.token);
        }
        let mut answer = request.send().await.map_err(again)?;
        let status = answer.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(again)? {
            if bytes.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(CallError::TryAgain("the answer is too large".to_owned()));
            }
            bytes.extend_from_slice(&chunk);
        }
        if status.is_success() {
            return serde_json::from_slice(&bytes)
                .map_err(|why| CallError::TryAgain(format!("the answer is not valid: {why}")));
        }
        let message: String = String::from_utf8_lossy(&bytes)
            .chars()
            .take(MAX_REFUSAL_CHARS)
            .collect();
        if tries_again(status) {
            Err(CallError::TryAgain(format!("{status}: {message}")))
        } else {
            Err(CallError::Refused {
                status: status.as_u16(),
                message,
            })
        }
    }
}

/// A redirect is no answer of ours, and not followed: a proxy may be in the way for a while.
fn tries_again(status: StatusCode) -> bool {
    !status.is_client_error()
        || matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
        )
}

/// The URL is left out: it says nothing that the path does not.
fn again(why: reqwest::Error) -> CallError {
    let why = why.without_url();
    let cause = std::error::Error::source(&why).map_or(String::new(), |cause| format!(": {cause}"));
    CallError::TryAgain(format!("{why}{cause}"))
}

fn http_client(plain_http: bool) -> Result<Client, String> {
    let builder = http_client::builder_of_one_server(plain_http);
    http_client::build(
        builder
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(CALL_TIMEOUT),
    )
}

fn new_token() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|why| format!("no randomness: {why}"))?;
    Ok(hex::encode(bytes))
}
