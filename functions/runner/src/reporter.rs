//! Events on their way to the control API: numbered from 1 without gaps, in order, each until it
//! is acknowledged. One task owns all of it; everybody else only hands events over.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use awo_domain::Timestamp;
use awo_domain::control::{
    Finish, HEARTBEAT_MS, MAX_REPORTED_EVENTS, NumberedEvent, Outcome, Report, RunnerEvent,
};
use awo_domain::usage::ModelUsage;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::control_client::{Backoff, CallError, ControlClient};
use crate::stop::{StopReason, StopSwitch};

/// Events that may wait between the run and the reporter: more than any run has, so that a run
/// goes on while nobody answers.
const MAX_WAITING: usize = 1_024;
/// How long the last report is tried.
const FINISH_LIMIT: Duration = Duration::from_secs(300);

/// How a run ended.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) iterations: u32,
    pub(crate) usage: Vec<ModelUsage>,
}

/// Why the end of the run could not be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotFinished {
    #[error("the control API no longer takes this runner's word")]
    Fenced,
    #[error("the control API did not acknowledge the end of the run in time")]
    TimedOut,
}

enum Message {
    Event(Timestamp, RunnerEvent),
    Finish(Box<Ending>, oneshot::Sender<Result<(), NotFinished>>),
}

/// Hands events over.
#[derive(Clone)]
pub(crate) struct Reporter(mpsc::Sender<Message>);

impl Reporter {
    /// Starts the task that reports; a fence pulls `switch`.
    pub(crate) fn start(client: ControlClient, switch: StopSwitch) -> Reporter {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        let desk = Desk {
            client,
            switch,
            pending: VecDeque::new(),
            next_number: 1,
        };
        tokio::spawn(desk.work(receiver));
        Reporter(sender)
    }

    /// Reports what happened, in the background.
    pub(crate) async fn event(&self, event: RunnerEvent) {
        // The task ends early only when the run is fenced, and then nobody listens.
        let _ = self.0.send(Message::Event(now(), event)).await;
    }

    /// Sends what is left and the outcome, and waits until it is kept.
    pub(crate) async fn finish(&self, ending: Ending) -> Result<(), NotFinished> {
        let (answer, kept) = oneshot::channel();
        let message = Message::Finish(Box::new(ending), answer);
        if self.0.send(message).await.is_err() {
            return Err(NotFinished::Fenced);
        }
        match timeout(FINISH_LIMIT, kept).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(NotFinished::Fenced),
            Err(_) => Err(NotFinished::TimedOut),
        }
    }
}

/// The present moment, on the runner's clock.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let ms = since.map_or(0, |since| since.as_millis());
    Timestamp::from_epoch_ms(i64::try_from(ms).unwrap_or(i64::MAX))
}

struct Desk {
    client: ControlClient,
    switch: StopSwitch,
    pending: VecDeque<NumberedEvent>,
    next_number: u64,
}

impl Desk {
    async fn work(mut self, mut inbox: mpsc::Receiver<Message>) {
        let heartbeat = Duration::from_millis(HEARTBEAT_MS);
        let mut next_heartbeat = Instant::now() + heartbeat;
        loop {
            let finishing = if self.pending.is_empty() {
                match timeout_at(next_heartbeat, inbox.recv()).await {
                    Ok(Some(message)) => self.take(message),
                    Ok(None) => return,
                    Err(_) => None,
                }
            } else {
                None
            };
            let finishing = finishing.or_else(|| self.take_waiting(&mut inbox));
            let result = match finishing {
                Some((ending, answer)) => {
                    let result = self.finish(*ending).await;
                    let _ = answer.send(result);
                    return;
                }
                None => self.send_batch().await,
            };
            if result.is_err() {
                return;
            }
            next_heartbeat = Instant::now() + heartbeat;
        }
    }

    /// Takes all that waits, so that events that come together travel together.
    fn take_waiting(&mut self, inbox: &mut mpsc::Receiver<Message>) -> Option<FinishMessage> {
        while let Ok(message) = inbox.try_recv() {
            if let Some(finishing) = self.take(message) {
                return Some(finishing);
            }
        }
        None
    }

    fn take(&mut self, message: Message) -> Option<FinishMessage> {
        match message {
            Message::Event(at, event) => {
                self.pending.push_back(NumberedEvent {
                    number: self.next_number,
                    at,
                    event,
                });
                self.next_number += 1;
                None
            }
            Message::Finish(ending, answer) => Some((ending, answer)),
        }
    }

    fn batch(&self) -> Vec<NumberedEvent> {
        let first = self.pending.iter().take(MAX_REPORTED_EVENTS);
        first.cloned().collect()
    }

    /// Sends one batch until it is acknowledged or refused. It has no limit of its own: the run
    /// has one, and its last report another.
    async fn send_batch(&mut self) -> Result<(), NotFinished> {
        let report = Report {
            events: self.batch(),
        };
        let mut backoff = Backoff::new();
        loop {
            match self.client.report(&report).await {
                Ok(acknowledged) => {
                    self.drop_acknowledged(acknowledged);
                    let waits = report.events.last().map(|event| event.number);
                    if waits.is_none_or(|number| acknowledged >= number) {
                        return Ok(());
                    }
                    tracing::warn!(acknowledged, "not all events were kept; sending them again");
                }
                Err(why) => self.not_sent(why)?,
            }
            sleep(backoff.pause()).await;
        }
    }

    async fn finish(&mut self, ending: Ending) -> Result<(), NotFinished> {
        while self.pending.len() > MAX_REPORTED_EVENTS {
            self.send_batch().await?;
        }
        let finish = Finish {
            events: self.batch(),
            outcome: ending.outcome,
            iterations: ending.iterations,
            usage: ending.usage,
        };
        let mut backoff = Backoff::new();
        loop {
            match self.client.finish(&finish).await {
                Ok(_) => return Ok(()),
                Err(why) => self.not_sent(why)?,
            }
            sleep(backoff.pause()).await;
        }
    }

    fn drop_acknowledged(&mut self, acknowledged: u64) {
        while self
            .pending
            .front()
            .is_some_and(|event| event.number <= acknowledged)
        {
            self.pending.pop_front();
        }
    }

    fn not_sent(&self, why: CallError) -> Result<(), NotFinished> {
        match why {
            CallError::TryAgain(why) => {
                tracing::warn!(why, "a report was not answered; trying again");
                Ok(())
            }
            CallError::Refused { .. } => {
                tracing::error!(%why, "fenced: the run stops at once");
                self.switch.stop(StopReason::Fenced);
                Err(NotFinished::Fenced)
            }
        }
    }
}

type FinishMessage = (Box<Ending>, oneshot::Sender<Result<(), NotFinished>>);
