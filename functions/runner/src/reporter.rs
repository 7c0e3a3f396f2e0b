//! Reports to the control API: the event sender, a single task, sends everything; other code only
//! queues events.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use awo_domain::Timestamp;
use awo_domain::control::{
    BaselineAnswer, BaselineRequest, Children, ChildrenAnswer, Configuration, IterationLog,
    RunnerEvent, SnapshotDiff, TurnRecord,
};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::contained_process::ClientCode;
use crate::control_client::{CallError, ControlClient};
use crate::event_sender::EventSender;
use crate::masks::Masks;
use crate::messages::{Ending, Finishing, Message, NotFinished};
use crate::proxy::CredentialIssuer;
use crate::stop::{StopSignal, StopSwitch};

/// Events that may wait between the run and the reporter: more than any run has, so that a run
/// goes on without an answer.
const MAX_WAITING: usize = 2_048;

/// Hands things over.
#[derive(Clone)]
pub(crate) struct Reporter {
    event_sender: mpsc::Sender<Message>,
    client: ControlClient,
    control: Handle,
    /// What is masked in all that is reported.
    masks: Masks,
}

impl Reporter {
    /// Notes the first process of client code, for the service.
    pub(crate) fn client_code(&self) -> &ClientCode {
        self.client.client_code()
    }

    /// Starts the event sender on the thread `control`; a fence, or a stop request that an answer brings, pulls
    /// `switch`.
    pub(crate) fn start(
        control: &Handle,
        client: ControlClient,
        switch: StopSwitch,
        stop: StopSignal,
    ) -> Reporter {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        control.spawn(EventSender::new(client.clone(), switch, stop, receiver).work());
        Reporter {
            event_sender: sender,
            client,
            control: control.clone(),
            masks: Masks::default(),
        }
    }

    /// Masks these values in all that is reported from now on, beside what is masked where a process
    /// prints it: in names and reports of hostile files, above all.
    pub(crate) fn masking(self, masks: Masks) -> Reporter {
        Reporter { masks, ..self }
    }

    /// Reports what happened, in the background.
    pub(crate) async fn event(&self, event: RunnerEvent) {
        // The event sender closes early only when the run is fenced, and then no receiver is left.
        let event = self.masks.all_texts(event);
        let _ = self.event_sender.send(Message::Event(now(), event)).await;
    }

    /// Reports what somebody may watch, if there is room: nothing waits for it.
    pub(crate) fn watched(&self, event: RunnerEvent) {
        let event = self.masks.all_texts(event);
        let _ = self.event_sender.try_send(Message::Event(now(), event));
    }

    /// Reports the start of an iteration, and waits until that is stored, at most for `limit`: the
    /// iteration's effective configuration, if the answer has it.
    pub(crate) async fn begin(&self, iteration: u32, limit: Duration) -> Option<Configuration> {
        let (beginning, begun) = oneshot::channel();
        let message = Message::Begin(now(), iteration, beginning);
        // As with any event, an event sender that is closed has no receiver.
        self.event_sender.send(message).await.ok()?;
        match timeout(limit, begun).await {
            Ok(reported) => reported.ok()?.map(|configuration| *configuration),
            Err(_) => {
                tracing::warn!(
                    event = "profile_unknown",
                    iteration,
                    "the effective profile of this iteration did not arrive"
                );
                None
            }
        }
    }

    /// Sends what an agent wrote, in the background, before the events that follow.
    pub(crate) async fn log(&self, log: IterationLog) {
        let _ = self.event_sender.send(Message::Log(log)).await;
    }

    /// Sends what the run has changed so far, in the background, before the events that follow.
    pub(crate) async fn diff(&self, diff: SnapshotDiff) {
        let _ = self.event_sender.send(Message::Diff(diff)).await;
    }

    /// Asks once for the stored results of the base commit, or adds to them.
    pub(crate) async fn baseline(
        &self,
        request: BaselineRequest,
    ) -> Result<BaselineAnswer, CallError> {
        let client = self.client.clone();
        let sent = self
            .control
            .spawn(async move { client.baseline(&request).await });
        sent.await
            .unwrap_or_else(|why| Err(CallError::TryAgain(why.to_string())))
    }

    /// Asks for children, once. The start of the iteration that asks is stored, and the answer is the
    /// run's to wait for, so it does not go through the event sender.
    pub(crate) async fn ask_for_children(
        &self,
        asked: &Children,
    ) -> Result<ChildrenAnswer, CallError> {
        let (client, asked) = (self.client.clone(), self.masks.all_texts(asked.clone()));
        let sent = self
            .control
            .spawn(async move { client.children(&asked).await });
        sent.await
            .unwrap_or_else(|why| Err(CallError::TryAgain(why.to_string())))
    }

    /// Stores a record of the run's turn, once.
    pub(crate) async fn turn(&self, record: &TurnRecord) -> Result<(), CallError> {
        let (client, record) = (self.client.clone(), record.clone());
        let sent = self
            .control
            .spawn(async move { client.turn(&record).await });
        sent.await
            .unwrap_or_else(|why| Err(CallError::TryAgain(why.to_string())))
    }

    /// Issues the run's credentials for Bedrock.
    pub(crate) fn credential_issuer(&self) -> CredentialIssuer {
        CredentialIssuer::new(self.client.clone(), self.control.clone())
    }

    /// Sends the rest and the outcome, and waits until it is stored, at most for `limit`.
    pub(crate) async fn finish(&self, ending: Ending, limit: Duration) -> Result<(), NotFinished> {
        let (stored, is_stored) = oneshot::channel();
        let ending = Ending {
            outcome: self.masks.all_texts(ending.outcome),
            turn: self.masks.all_texts(ending.turn),
            ..ending
        };
        let ending = Box::new(ending);
        let message = Message::Finish(Finishing { ending, stored });
        if self.event_sender.send(message).await.is_err() {
            return Err(NotFinished::Fenced);
        }
        match timeout(limit, is_stored).await {
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
