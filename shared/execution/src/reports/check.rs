//! The check of a commit: its verdict, and what a reader needs to see of the verification.

use awo_domain::event::TimelineEventType;
use awo_domain::run_report::{CHECK_NAME, CheckVerdict, ReportKind, RunReport};
use awo_domain::verification::{Check, PluginResult, Status};
use awo_domain::{Error, OrgId};
use awo_forges::{Annotation, CommitCheck};
use awo_store::runs::Run;
use serde_json::Value;

use super::markdown::{block, code};
use super::{ForgeAccess, ReportFault, ReportSender, ReportSubject};

/// Most characters of the message of a failing check.
const MAX_MESSAGE: usize = 4_000;
/// Most characters of the summary: GitHub refuses more than 65 535 bytes.
const MAX_SUMMARY: usize = 60_000;
/// Most annotations: GitHub refuses more in one call.
const MAX_ANNOTATIONS: usize = 50;
/// Most characters of a name.
const MAX_NAME: usize = 200;
/// Title of a check that passed although no test is known to have run.
const UNVERIFIED: &str = "unverified";

/// A verification as the timeline of its run has it.
#[derive(Default)]
pub(super) struct LastVerification {
    pub results: Vec<PluginResult>,
    plan_hash: Option<String>,
}

impl LastVerification {
    /// Reads the data of an event.
    fn read(data: &Value) -> LastVerification {
        LastVerification {
            results: serde_json::from_value(data["results"].clone()).unwrap_or_default(),
            plan_hash: data["planHash"].as_str().map(str::to_owned),
        }
    }
}

impl ReportSender {
    /// Posts the check of the run's commit; none if there is no commit.
    pub(super) async fn post_check(
        &self,
        org: &OrgId,
        access: &ForgeAccess,
        subject: ReportSubject<'_>,
    ) -> Result<Option<RunReport>, ReportFault> {
        let run = subject.run;
        let is_verify = subject.order.terms.agent.kind.is_verification();
        let base = run.base.as_ref().filter(|_| is_verify);
        let Some(commit) = run.commit.as_ref().or(base) else {
            return Ok(None);
        };
        let (profile, last) = tokio::try_join!(
            self.store.audited_profile(org, run),
            self.last_verification(org, subject)
        )?;
        let git_ops = profile.map(|profile| profile.git_ops);
        let unverified = git_ops
            .as_ref()
            .map(|git| git.unverified)
            .unwrap_or_default();
        let verdict = CheckVerdict::of(run.status, run.verification, unverified);
        let title = title(run, verdict, &last.results);
        let summary = summary(run, &last);
        let annotations = annotations(&last.results);
        let check = CommitCheck {
            name: git_ops.as_ref().map_or(CHECK_NAME, |git| &git.check_name),
            commit,
            run: &run.run_id,
            verdict,
            title: &title,
            description: if title == UNVERIFIED {
                "unverified: no test is known to have run"
            } else {
                &title
            },
            summary: &summary,
            annotations: &annotations,
        };
        let is_check_run = access.is_app && subject.kind == ReportKind::Check;
        let url = access.forge.post_check(&check, is_check_run).await?;
        Ok(Some(RunReport::posted(subject.kind, url)))
    }

    /// The run's last verification, as its timeline has it; empty if there is none.
    pub(super) async fn last_verification(
        &self,
        org: &OrgId,
        subject: ReportSubject<'_>,
    ) -> Result<LastVerification, Error> {
        let run = subject.run;
        let Some(outcome) = run.verification else {
            return Ok(LastVerification::default());
        };
        let kind = if outcome.status.passes() {
            TimelineEventType::VerificationPassed
        } else {
            TimelineEventType::VerificationFailed
        };
        let event = self.store.last_event(org, &run.run_id, kind, subject.now);
        let last = event
            .await?
            .map(|event| LastVerification::read(&event.data));
        Ok(last.unwrap_or_default())
    }
}

/// The checks that do not pass, each once.
pub(super) fn failing(results: &[PluginResult]) -> impl Iterator<Item = &Check> {
    let checks = results.iter().flat_map(|result| &result.checks);
    checks.filter(|check| !check.status.passes())
}

fn title(run: &Run, verdict: CheckVerdict, results: &[PluginResult]) -> String {
    let tests = run.verification.map(|outcome| outcome.tests);
    let passed = tests.map_or(0, |tests| tests.passed);
    match verdict {
        CheckVerdict::InProgress => "Verification is in progress".to_owned(),
        CheckVerdict::Success if passed > 0 => format!("Verified: {passed} tests passed"),
        CheckVerdict::Success => "Verified: the tests passed".to_owned(),
        CheckVerdict::Neutral => UNVERIFIED.to_owned(),
        CheckVerdict::Failure => match failing(results).count() {
            0 if run
                .verification
                .is_none_or(|outcome| outcome.status.passes()) =>
            {
                UNVERIFIED.to_owned()
            }
            0 => "Not verified".to_owned(),
            1 => "Not verified: 1 check fails".to_owned(),
            many => format!("Not verified: {many} checks fail"),
        },
        CheckVerdict::Cancelled => match &run.error {
            Some(error) => format!("There is no verdict: {}", error.code.as_str()),
            None => "There is no verdict: the run was stopped".to_owned(),
        },
    }
}

fn summary(run: &Run, last: &LastVerification) -> String {
    let results = &last.results;
    let mut text = format!("Run {}\n\n", code(run.run_id.as_str(), MAX_NAME));
    let passed = run
        .verification
        .is_some_and(|outcome| outcome.status.passes());
    if passed && !run.verified {
        text.push_str("No test is known to have run and passed.\n\n");
    }
    if !results.is_empty() {
        text.push_str("| level | plugin | result | |\n|---|---|---|---|\n");
    }
    for result in results {
        let level = serde_json::to_value(result.level).unwrap_or_default();
        let row = format!(
            "| {} | {} | {} | {} |\n",
            level.as_str().unwrap_or_default(),
            code(&result.plugin_id, MAX_NAME),
            word(result.status),
            code(&result.summary, MAX_NAME),
        );
        add(&mut text, &row);
    }
    for check in failing(results) {
        let name = code(&check.name, MAX_NAME);
        let failed = format!("\n{name}\n\n{}", block(&check.message, MAX_MESSAGE));
        add(&mut text, &failed);
    }
    if let Some(audit) = &run.audit {
        let (hash, head) = (&audit.config_hash, &audit.chain_head);
        text.push_str(&format!("\nconfigHash `{hash}`, chainHead `{head}`"));
    }
    if let Some(plan) = &last.plan_hash {
        text.push_str(&format!(", planHash `{plan}`"));
    }
    text
}

/// Adds a part, if there is room for it.
fn add(text: &mut String, part: &str) {
    if text.len() + part.len() <= MAX_SUMMARY {
        text.push_str(part);
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Skipped => "skipped",
        Status::Passed => "passed",
        Status::Warning => "warning",
        Status::Failed => "failed",
        Status::Error => "error",
    }
}

fn annotations(results: &[PluginResult]) -> Vec<Annotation> {
    let annotation = |check: &Check| {
        let location = check.location.as_ref()?;
        Some(Annotation {
            path: location.path.clone(),
            line: location.line,
            title: check.name.chars().take(MAX_NAME).collect(),
            message: check.message.chars().take(MAX_MESSAGE).collect(),
        })
    };
    let annotations = failing(results).filter_map(annotation);
    annotations.take(MAX_ANNOTATIONS).collect()
}
