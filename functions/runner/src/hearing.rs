//! What a client wishes, heard as soon as can be. SIGTERM is only a doorbell: the control API
//! says whether somebody wants the run to stop, or the platform just takes the task away.

use std::io;
use std::time::Duration;

use awo_domain::control::Report;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};

use crate::control_client::{Backoff, CallError, ControlClient};
use crate::stop::{StopReason, StopSignal, StopSwitch};

/// How long the control API is asked why the doorbell rang. Who cannot be reached within it
/// wishes nothing.
pub(crate) const ASK_LIMIT: Duration = Duration::from_secs(2);
/// Between two questions whether the wish grew stronger.
const ASK_EVERY: Duration = Duration::from_millis(250);
/// A heartbeat: its answer is what counts.
const QUESTION: Report = Report { events: Vec::new() };

/// SIGTERM and SIGINT, from the moment that it is made.
pub(crate) struct Doorbell {
    terminate: Signal,
    interrupt: Signal,
    has_rung: bool,
}

impl Doorbell {
    pub(crate) fn new() -> io::Result<Doorbell> {
        Ok(Doorbell {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            has_rung: false,
        })
    }

    /// Returns once it has ever rung.
    pub(crate) async fn rung(&mut self) {
        if !self.has_rung {
            self.rings().await;
        }
    }

    /// Waits for the next ring.
    async fn rings(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        tracing::info!("the doorbell rang");
        self.has_rung = true;
    }
}

/// Pulls the switch when a client, or the platform, wants the run to stop, and again when a
/// client wants it to stop sooner. It ends when it is no longer polled: with the run.
pub(crate) async fn hear(
    mut bell: Doorbell,
    client: ControlClient,
    switch: StopSwitch,
    stop: StopSignal,
) {
    let asked = async {
        bell.rung().await;
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
            () = bell.rings() => {}
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
    match client.report(&QUESTION).await {
        Ok(answer) => Some(
            answer
                .wish
                .map_or(StopReason::Terminated, StopReason::Wished),
        ),
        Err(CallError::Refused { .. }) => Some(StopReason::Fenced),
        Err(why @ (CallError::TryAgain(_) | CallError::TurnedAway { .. })) => {
            tracing::warn!(%why, "a question was not answered");
            None
        }
    }
}
