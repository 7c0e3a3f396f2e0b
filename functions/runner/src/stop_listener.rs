//! Listens for stop requests. SIGTERM is only a wake-up: the control API reports whether there is a
//! stop request, or the platform is just removing the task.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};

use crate::control_client::{Backoff, CallError, ControlClient};
use crate::stop::{StopReason, StopSignal, StopSwitch};

/// How long the control API is asked why a termination signal arrived. An API that cannot be reached
/// within it requests nothing.
pub(crate) const ASK_LIMIT: Duration = Duration::from_secs(2);
/// Between two questions whether the stop request grew stronger.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// SIGTERM and SIGINT, from the moment that it is made.
pub(crate) struct TerminationSignal {
    terminate: Signal,
    interrupt: Signal,
    has_arrived: bool,
}

impl TerminationSignal {
    pub(crate) fn new() -> io::Result<TerminationSignal> {
        Ok(TerminationSignal {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            has_arrived: false,
        })
    }

    /// Returns `limit` after one has arrived.
    pub(crate) async fn long_since_received(&mut self, limit: Duration) {
        self.received().await;
        sleep(limit).await;
    }

    /// Returns once one has arrived.
    pub(crate) async fn received(&mut self) {
        if !self.has_arrived {
            self.next().await;
        }
    }

    /// Waits for the next one.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        tracing::info!(event = "signal_received", "a termination signal arrived");
        self.has_arrived = true;
    }
}

/// Pulls the switch when a client, or the platform, wants the run to stop, and again when a
/// client wants it to stop sooner. It ends when it is no longer polled: with the run.
pub(crate) async fn listen(
    mut termination: TerminationSignal,
    client: ControlClient,
    switch: StopSwitch,
    stop: StopSignal,
) {
    let asked = async {
        termination.received().await;
        timeout(ASK_LIMIT, first_answer(&client)).await
    };
    tokio::select! {
        reason = asked => switch.stop(reason.unwrap_or(StopReason::Terminated)),
        // The answer to a report was quicker.
        () = stop.stopped() => {}
    }
    loop {
        tokio::select! {
            () = sleep(ASK_EVERY) => {}
            () = termination.next() => {}
        }
        if let Ok(Some(reason)) = timeout(ASK_LIMIT, ask(&client)).await {
            switch.stop(reason);
        }
    }
}

/// The first answer that there is; its caller limits the time.
async fn first_answer(client: &ControlClient) -> StopReason {
    let mut backoff = Backoff::new();
    loop {
        if let Some(reason) = ask(client).await {
            return reason;
        }
        sleep(backoff.pause()).await;
    }
}

/// Why the run stops, in the control API's words; nothing if it did not answer.
async fn ask(client: &ControlClient) -> Option<StopReason> {
    match client.report(Vec::new()).await {
        Ok(answer) => Some(
            answer
                .stop_request
                .map_or(StopReason::Terminated, StopReason::Requested),
        ),
        Err(CallError::Refused { .. }) => Some(StopReason::Fenced),
        Err(why @ (CallError::TryAgain(_) | CallError::TurnedAway { .. })) => {
            tracing::warn!(event = "question_unanswered", %why, "a question to the control API was not answered");
            None
        }
    }
}
