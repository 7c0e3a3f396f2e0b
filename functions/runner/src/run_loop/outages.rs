//! An attempt that an outage of its provider ended is no iteration: the run waits, without being
//! charged for the wait, and the agent goes on with its session. A key that was refused ends the run: waiting
//! does not help.

use std::time::Duration;

use awo_domain::control::{PROVIDER_WAIT_MS, Provider, RunnerEvent};
use awo_domain::run::RunErrorCode;
use tokio::time::{Instant, sleep};

use super::attempt_outputs::AttemptOutputs;
use super::{Abort, Tally, Work, fail, millis};
use crate::agent::{Attempt, Program};
use crate::backoff::Backoff;
use crate::proxy::{KeyRefusal, Outage};
use crate::stop::StopOutcome;

/// The first wait without a provider's own; each is twice as long as the one before.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What is left of the time that a run waits for providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    left: Duration,
    backoff: Backoff,
}

impl Patience {
    /// Of a run that has waited for so long before.
    pub(super) fn after(waited_ms: u64) -> Patience {
        let in_all = Duration::from_millis(PROVIDER_WAIT_MS);
        Patience {
            left: in_all.saturating_sub(Duration::from_millis(waited_ms)),
            backoff: Backoff::doubling(FIRST_WAIT, LONGEST_WAIT),
        }
    }

    /// How long to wait now; none if what the provider wants is more than is left.
    fn next_wait(&mut self, retry_after: Option<Duration>) -> Option<Duration> {
        let own = self.backoff.next().min(self.left);
        let wait = retry_after.unwrap_or(own);
        if self.left.is_zero() || wait > self.left {
            return None;
        }
        if retry_after.is_none() {
            self.backoff.pause();
        }
        Some(wait)
    }

    fn waited(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
    }
}

impl Work<'_> {
    /// Lets the agent try until an attempt ends otherwise than by an outage. The output of all attempts is reported.
    pub(super) async fn tries(
        &mut self,
        tally: &mut Tally,
        program: &Program,
    ) -> Result<Attempt, Abort> {
        let mut outputs = AttemptOutputs::default();
        let attempt = self.until_no_outage(tally, program, &mut outputs).await;
        let all = match &attempt {
            Ok(attempt) => outputs.followed_by(attempt.output.as_ref()),
            Err(_) => outputs.ended(),
        };
        let own = attempt.as_ref().ok();
        let own = own.and_then(|attempt| attempt.output.as_ref());
        if let Some(output) = all.as_ref().or(own) {
            self.report_output(tally.iterations, output).await;
        }
        attempt
    }

    async fn until_no_outage(
        &mut self,
        tally: &mut Tally,
        program: &Program,
        outputs: &mut AttemptOutputs,
    ) -> Result<Attempt, Abort> {
        loop {
            let attempt = self.attempt(tally, program).await?;
            let has_failed = attempt.failure.is_some()
                && attempt.stopped.is_none()
                && attempt.over_budget.is_none();
            let Some(proxy) = self.proxy.filter(|_| has_failed) else {
                tally.resumes_session = false;
                return Ok(attempt);
            };
            let (refusal, outage) = (proxy.key_refusal(), proxy.outage());
            if refusal.is_none() && outage.is_none() {
                if !tally.begins_anew_after(&attempt) {
                    return Ok(attempt);
                }
                tracing::warn!(
                    event = "session_not_resumed",
                    "the agent did not resume its session of the turn before, and begins anew"
                );
                outputs.add(attempt.output.as_ref());
                self.report_attempt(tally.iterations, attempt).await;
                self.check_budget()?;
                continue;
            }
            outputs.add(attempt.output.as_ref());
            self.account(tally, attempt).await;
            if let Some(refusal) = refusal {
                return Err(refused(&refusal));
            }
            self.check_budget()?;
            if let Some(outage) = outage {
                self.wait_for(tally.iterations, &outage).await?;
            }
        }
    }

    /// Keeps the usage and the session of an attempt that does not count.
    async fn account(&self, tally: &mut Tally, attempt: Attempt) {
        tally.usage.extend(attempt.usage.iter().cloned());
        self.meter.lock().spent(&tally.usage);
        if let Some(session) = &attempt.session_id {
            tally.session_id = Some(session.clone());
        }
        self.report_attempt(tally.iterations, attempt).await;
    }

    async fn wait_for(&mut self, iteration: u32, outage: &Outage) -> Result<(), Abort> {
        let provider = outage.provider.as_str();
        let Some(wait) = self.patience.next_wait(outage.retry_after) else {
            let minutes = PROVIDER_WAIT_MS / 60_000;
            let wanted = outage.retry_after.map_or_else(String::new, |after| {
                format!(", and asks to be called again in {} s", after.as_secs())
            });
            let message = format!(
                "{provider} {}{wanted}; a run waits {minutes} minutes for its providers in all, and \
                 is not charged for the wait",
                outage.what
            );
            return Err(fail(RunErrorCode::ProviderUnavailable, &message));
        };
        let began = Instant::now();
        let reason = format!("{provider} {}", outage.what);
        tracing::info!(
            event = "provider_waiting",
            reason,
            wait_ms = millis(wait),
            "the run waits for a provider"
        );
        let waiting = RunnerEvent::ProviderWaiting {
            iteration,
            provider: outage.provider,
            reason,
            wait_ms: millis(wait),
        };
        self.reporter.event(waiting).await;
        self.meter.lock().pause();
        let slept = tokio::select! {
            () = sleep(wait) => Ok(()),
            () = self.processes.stopped() => Err(Abort::Stopped(StopOutcome::default())),
        };
        self.meter.lock().resume();
        let waited = began.elapsed();
        self.patience.waited(waited);
        self.waited += waited;
        slept?;
        self.reporter
            .event(RunnerEvent::ProviderResumed { iteration })
            .await;
        Ok(())
    }
}

fn refused(refusal: &KeyRefusal) -> Abort {
    let provider = refusal.provider.as_str();
    let whose = match refusal.provider {
        Provider::Bedrock => {
            "the deployment's role may not call this model: its operator checks BedrockRegion, \
             BedrockInferenceProfiles and the access to the model"
                .to_owned()
        }
        Provider::Anthropic | Provider::Openai => format!(
            "it did not accept the organization's key, or the key's account has no quota or credit: its operator sets \
             another with `awo admin set-secret --name {provider}`, or restores the account's"
        ),
    };
    let message = format!("{provider} {}: {whose}", refusal.what);
    fail(RunErrorCode::ProviderRefused, &message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn waits_grow_and_are_fifteen_minutes_in_all() {
        let mut patience = Patience::after(0);
        let mut waits = Vec::new();
        while let Some(wait) = patience.next_wait(None) {
            patience.waited(wait);
            waits.push(wait.as_secs());
        }
        assert_eq!(waits[..5], [5, 10, 20, 40, 60]);
        assert!(waits.iter().all(|wait| *wait <= 60));
        assert_eq!(waits.iter().sum::<u64>(), 15 * 60);
    }

    #[test]
    fn what_a_provider_asks_for_counts_unless_it_is_more_than_is_left() {
        let mut patience = Patience::after(0);
        assert_eq!(patience.next_wait(Some(s(600))), Some(s(600)));
        patience.waited(s(600));
        assert_eq!(patience.next_wait(Some(s(301))), None);
        assert_eq!(patience.next_wait(Some(s(300))), Some(s(300)));
        patience.waited(s(300));
        assert_eq!(patience.next_wait(Some(s(0))), None);
    }

    #[test]
    fn what_a_run_waited_before_its_children_counts() {
        assert_eq!(Patience::after(PROVIDER_WAIT_MS).next_wait(None), None);
        let mut patience = Patience::after(PROVIDER_WAIT_MS - 1_000);
        assert_eq!(patience.next_wait(None), Some(s(1)));
    }
}
