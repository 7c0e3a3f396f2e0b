//! Sends everything to the control API, in order: events numbered from 1 without gaps, each until
//! it is acknowledged, and logs and diffs, each until it is stored. One last report ends it.
//!
//! After a stop request, events are neither stored nor sent; logs and diffs still are, and the last
//! report.

use std::collections::VecDeque;
use std::time::Duration;

use awo_domain::Timestamp;
use awo_domain::control::{
    Finish, IterationLog, MAX_BODY_BYTES, MAX_REPORTED_EVENTS, NumberedEvent, Outcome,
    ReportAnswer, RunnerEvent, SnapshotDiff, StopRequest,
};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::control_client::{Backoff, CallError, ControlClient};
use crate::heartbeats::beat;
use crate::messages::{Beginning, Ending, Finishing, Message, NotFinished};
use crate::stop::{StopReason, StopSignal, StopSwitch};

/// How long logs and diffs may keep the last report of a stopped run waiting.
const STOPPED_LOGS_LIMIT: Duration = Duration::from_secs(3);
/// Most bytes of events in one call, which has other things to carry as well.
const MAX_EVENT_BYTES: usize = MAX_BODY_BYTES * 3 / 4;
/// How often a log or a diff is sent that something in front of the control API turns away: a firewall that
/// does not like what is in it never will.
const TURNED_AWAY_TRIES: u32 = 8;
/// For one try of the last report of a stopped run, of which there should be several.
const STOPPED_CALL_LIMIT: Duration = Duration::from_secs(5);

#[expect(
    clippy::large_enum_variant,
    reason = "events are made, sent and dropped; few are held at once"
)]
enum Item {
    Event(NumberedEvent),
    Log(IterationLog),
    Diff(SnapshotDiff),
}

pub(crate) struct EventSender {
    client: ControlClient,
    switch: StopSwitch,
    stop: StopSignal,
    inbox: mpsc::Receiver<Message>,
    pending: VecDeque<Item>,
    /// The number of the last start of an iteration, while somebody waits for the answer to it.
    beginning: Option<(u64, Beginning)>,
    next_number: u64,
}

impl EventSender {
    pub(crate) fn new(
        client: ControlClient,
        switch: StopSwitch,
        stop: StopSignal,
        inbox: mpsc::Receiver<Message>,
    ) -> EventSender {
        EventSender {
            client,
            switch,
            stop,
            inbox,
            pending: VecDeque::new(),
            beginning: None,
            next_number: 1,
        }
    }

    /// Works until the last report is stored or the run is fenced.
    pub(crate) async fn work(mut self) {
        let stop = self.stop.clone();
        let beats = beat(self.client.clone(), self.switch.clone());
        let finishing = tokio::select! {
            biased;
            // A report that is under way is given up: its events would not be stored.
            () = stop.requested() => self.gather().await,
            finishing = self.report() => finishing,
            // It ends only where the run is fenced.
            () = beats => None,
        };
        if let Some(Finishing { ending, stored }) = finishing {
            let result = self.finish(*ending).await;
            let _ = stored.send(result);
        }
    }

    /// Reports what happens until the run has ended; nothing if the run is fenced.
    async fn report(&mut self) -> Option<Finishing> {
        loop {
            if self.pending.is_empty() {
                let message = self.inbox.recv().await?;
                if let Some(finishing) = self.take(message) {
                    return Some(finishing);
                }
            }
            // Events that come together travel together.
            while let Ok(message) = self.inbox.try_recv() {
                if let Some(finishing) = self.take(message) {
                    return Some(finishing);
                }
            }
            self.send_next().await.ok()?;
        }
    }

    /// Takes what comes until the run has ended, and sends nothing.
    async fn gather(&mut self) -> Option<Finishing> {
        loop {
            let message = self.inbox.recv().await?;
            if let Some(finishing) = self.take(message) {
                return Some(finishing);
            }
        }
    }

    fn take(&mut self, message: Message) -> Option<Finishing> {
        match message {
            Message::Event(at, event) => self.number(at, event),
            Message::Begin(at, iteration, beginning) => {
                self.beginning = Some((self.next_number, beginning));
                self.number(at, RunnerEvent::IterationStarted { iteration });
            }
            Message::Log(log) => self.pending.push_back(Item::Log(log)),
            Message::Diff(diff) => self.pending.push_back(Item::Diff(diff)),
            Message::Finish(finishing) => return Some(finishing),
        }
        None
    }

    fn number(&mut self, at: Timestamp, event: RunnerEvent) {
        let number = self.next_number;
        self.next_number += 1;
        let event = NumberedEvent { number, at, event };
        self.pending.push_back(Item::Event(event));
    }

    fn batch(&self) -> Vec<NumberedEvent> {
        let events = self.pending.iter().map_while(|item| match item {
            Item::Event(event) => Some(event),
            Item::Log(_) | Item::Diff(_) => None,
        });
        one_body(events)
    }

    /// Sends a log, a diff or a batch of events until it is stored or refused. It has no limit of its own:
    /// the run has one, and its last report another. A log or a diff that is turned away on its way
    /// is left out in the end: the run is worth more.
    async fn send_next(&mut self) -> Result<(), NotFinished> {
        let (mut backoff, mut turned_away) = (Backoff::new(), 0);
        loop {
            let events = self.batch();
            let last = events.last().map_or(0, |event| event.number);
            let events_left = events.len();
            let sent = match self.pending.front() {
                Some(Item::Log(log)) => self.client.log(log).await,
                Some(Item::Diff(diff)) => self.client.diff(diff).await,
                _ => self.client.report(events).await,
            };
            match sent {
                Ok(mut answer) => {
                    self.heed(&answer);
                    self.begin(&mut answer);
                    self.drop_kept(&answer);
                    if answer.acknowledged >= last {
                        return Ok(());
                    }
                    if answer.stop_request.is_none() {
                        let stored = answer.acknowledged;
                        tracing::warn!(
                            event = "events_not_accepted",
                            stored,
                            "not all events were accepted; sending them again"
                        );
                    }
                }
                Err(why @ CallError::TurnedAway { .. })
                    if events_left == 0 && turned_away >= TURNED_AWAY_TRIES =>
                {
                    tracing::error!(event = "log_left_out", %why, "a log or a diff is left out");
                    self.pending.pop_front();
                    return Ok(());
                }
                Err(why) => {
                    turned_away += u32::from(matches!(why, CallError::TurnedAway { .. }));
                    self.not_sent(why)?;
                }
            }
            sleep(backoff.pause()).await;
        }
    }

    /// Hands on an iteration's effective configuration, once its start is stored.
    fn begin(&mut self, answer: &mut ReportAnswer) {
        let stored = answer.acknowledged;
        if let Some((_, beginning)) = self.beginning.take_if(|(number, _)| *number <= stored) {
            // The receiver may no longer wait.
            let _ = beginning.send(answer.configuration.take());
        }
    }

    /// A log or a diff at the front is what was sent; events are stored as far as the answer acknowledges.
    fn drop_kept(&mut self, answer: &ReportAnswer) {
        if let Some(Item::Log(_) | Item::Diff(_)) = self.pending.front() {
            self.pending.pop_front();
            return;
        }
        let stored =
            |item: &Item| matches!(item, Item::Event(event) if event.number <= answer.acknowledged);
        while self.pending.front().is_some_and(stored) {
            self.pending.pop_front();
        }
    }

    /// Sends all but what fits into the last report.
    async fn send_most(&mut self) -> Result<(), NotFinished> {
        while self.batch().len() < self.pending.len() {
            self.send_next().await?;
        }
        Ok(())
    }

    async fn finish(&mut self, ending: Ending) -> Result<(), NotFinished> {
        let stop = self.stop.clone();
        tokio::select! {
            biased;
            () = stop.requested() => {}
            sent = self.send_most() => sent?,
        }
        let (ending, call_limit) = match self.stop.stop_request() {
            None => (ending, Duration::MAX),
            Some(stop_request) => {
                self.pending.retain(|item| !matches!(item, Item::Event(_)));
                match timeout(STOPPED_LOGS_LIMIT, self.send_most()).await {
                    Ok(sent) => sent?,
                    Err(_) => tracing::warn!(
                        event = "log_not_accepted",
                        "a log or a diff was not accepted in time"
                    ),
                }
                self.pending.clear();
                (overtaken(ending, stop_request), STOPPED_CALL_LIMIT)
            }
        };
        let finish = Finish {
            events: self.batch(),
            outcome: ending.outcome,
            iterations: ending.iterations,
            usage: ending.usage,
            executed: ending.executed,
            nothing_alive: ending.nothing_alive,
            turn: ending.turn,
        };
        let mut backoff = Backoff::new();
        loop {
            match self.client.finish(&finish, call_limit).await {
                Ok(_) => return Ok(()),
                Err(why) => self.not_sent(why)?,
            }
            sleep(backoff.pause()).await;
        }
    }

    fn heed(&self, answer: &ReportAnswer) {
        if let Some(stop_request) = answer.stop_request {
            self.switch.stop(StopReason::Requested(stop_request));
        }
    }

    fn not_sent(&self, why: CallError) -> Result<(), NotFinished> {
        match why {
            CallError::TryAgain(_) | CallError::TurnedAway { .. } => {
                tracing::warn!(event = "report_unanswered", %why, "a report was not answered; retrying");
                Ok(())
            }
            CallError::Refused { .. } => {
                tracing::error!(event = "fenced", %why, "the lease is lost: the run stops at once");
                self.switch.stop(StopReason::Fenced);
                Err(NotFinished::Fenced)
            }
        }
    }
}

/// The first of these events, as many as one call can carry: at least one, however large it is.
fn one_body<'a>(events: impl Iterator<Item = &'a NumberedEvent>) -> Vec<NumberedEvent> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for event in events.take(MAX_REPORTED_EVENTS) {
        bytes += serde_json::to_vec(event).map_or(0, |json| json.len());
        if bytes > MAX_EVENT_BYTES && !batch.is_empty() {
            break;
        }
        batch.push(event.clone());
    }
    batch
}

/// A run that reached its own end after a client had requested its stop was stopped, too: the
/// client was first.
fn overtaken(ending: Ending, stop_request: StopRequest) -> Ending {
    let outcome = match ending.outcome {
        stopped @ Outcome::Stopped { .. } => stopped,
        Outcome::Waiting { commit, .. } => Outcome::Stopped {
            forced: false,
            commit: Some(commit),
        },
        Outcome::Succeeded { commit, .. } | Outcome::Failed { commit, .. } => Outcome::Stopped {
            forced: is_immediate(stop_request),
            commit,
        },
    };
    Ending { outcome, ..ending }
}

/// An immediate kill counts as forced, whatever was alive.
pub(crate) fn is_immediate(stop_request: StopRequest) -> bool {
    matches!(
        stop_request,
        StopRequest::Kill {
            immediate: true,
            ..
        }
    )
}

#[cfg(test)]
mod tests {
    use awo_domain::control::Report;

    use super::*;

    fn output(number: u64, bytes: usize) -> NumberedEvent {
        let reason = "x".repeat(bytes);
        NumberedEvent {
            number,
            at: Timestamp::from_epoch_ms(0),
            event: RunnerEvent::DeliverySkipped { reason },
        }
    }

    #[test]
    fn a_body_is_cut_by_bytes_and_by_events_before_it_is_sent_and_loses_none() {
        let large = MAX_EVENT_BYTES / 3;
        for (events, bytes, bodies) in [(60, 10, 3), (20, large, 10), (3, MAX_EVENT_BYTES, 3)] {
            let mut left: Vec<NumberedEvent> = (1..=events).map(|n| output(n, bytes)).collect();
            let mut sent = Vec::new();
            while !left.is_empty() {
                let events = one_body(left.iter());
                left.drain(..events.len());
                sent.push(events);
            }
            assert_eq!(sent.len(), bodies, "{events} of {bytes} bytes");
            for events in &sent {
                let body = serde_json::to_vec(&Report {
                    events: events.clone(),
                    executed: true,
                })
                .unwrap();
                assert!(body.len() <= MAX_BODY_BYTES, "{}", body.len());
            }
            let numbers = sent.iter().flatten().map(|event| event.number);
            assert!(numbers.eq(1..=events));
        }
    }
}
