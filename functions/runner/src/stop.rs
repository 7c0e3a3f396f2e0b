//! A run's stop request: it may become stronger and never weaker, and it reaches everything that
//! waits. It has a timetable, which a stronger stop request can only make earlier.

use std::time::Duration;

use awo_domain::control::StopRequest;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// From the moment that everything should be killed until the run is given up as it is.
pub(crate) const STOP_SLACK: Duration = Duration::from_secs(20);

/// From SIGTERM until a tree is killed, without another setting.
pub(crate) const TERM_GRACE: Duration = Duration::from_secs(5);
/// From SIGINT to SIGTERM when a run is canceled: Claude Code takes 1.6 s to write what it used.
const INT_GRACE: Duration = Duration::from_secs(4);
/// From SIGTERM to SIGKILL when a run is canceled: it was asked before.
const CANCEL_TERM_GRACE: Duration = Duration::from_secs(2);
/// Longest grace period of a kill.
const MAX_KILL_GRACE_MS: u64 = 30_000;

/// Why a run must stop before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The platform ends the task, and no client requested it: the agent is asked first, and no client
    /// waits for a last report.
    Terminated,
    /// A client wants the run to stop, and its last report.
    Requested(StopRequest),
    /// The control API no longer takes this runner's word: everything is to die at once.
    Fenced,
}

impl StopReason {
    fn outranks(self, earlier: StopReason) -> bool {
        match (self, earlier) {
            (_, StopReason::Fenced) | (StopReason::Terminated, _) => false,
            (StopReason::Fenced, _) | (StopReason::Requested(_), StopReason::Terminated) => true,
            (StopReason::Requested(stop_request), StopReason::Requested(earlier)) => {
                stop_request.is_stronger_than(earlier)
            }
        }
    }
}

/// Work that a stop ended before its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StopOutcome {
    /// True if a hostile process had to be killed for it with SIGKILL.
    pub(crate) forced: bool,
}

/// The signals of a process tree's end, from the mildest to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Interrupt,
    Terminate,
    Kill,
}

/// The times of a process tree's signals; SIGINT comes at once, if there is time for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timetable {
    terminate_at: Instant,
    kill_at: Instant,
}

impl Timetable {
    /// SIGTERM now, SIGKILL after `grace`.
    pub(crate) fn terminate(now: Instant, grace: Duration) -> Timetable {
        Timetable {
            terminate_at: now,
            kill_at: now + grace,
        }
    }

    fn of(reason: StopReason, now: Instant) -> Timetable {
        match reason {
            StopReason::Terminated => Timetable::terminate(now, TERM_GRACE),
            StopReason::Requested(StopRequest::Cancel) => Timetable {
                terminate_at: now + INT_GRACE,
                kill_at: now + INT_GRACE + CANCEL_TERM_GRACE,
            },
            StopReason::Requested(StopRequest::Kill {
                grace_period_ms,
                immediate: false,
            }) => {
                let grace = Duration::from_millis(grace_period_ms.min(MAX_KILL_GRACE_MS));
                Timetable::terminate(now, grace)
            }
            StopReason::Requested(StopRequest::Kill { .. }) | StopReason::Fenced => {
                Timetable::terminate(now, Duration::ZERO)
            }
        }
    }

    /// The earlier one, step by step.
    pub(crate) fn or_earlier(self, other: Timetable) -> Timetable {
        Timetable {
            terminate_at: self.terminate_at.min(other.terminate_at),
            kill_at: self.kill_at.min(other.kill_at),
        }
    }

    /// The step that is due.
    pub(crate) fn step(self, now: Instant) -> Step {
        if now >= self.kill_at {
            Step::Kill
        } else if now >= self.terminate_at {
            Step::Terminate
        } else {
            Step::Interrupt
        }
    }

    /// When the step after `step` is due; nothing comes after the last.
    pub(crate) fn next(self, step: Step) -> Option<Instant> {
        match step {
            Step::Interrupt => Some(self.terminate_at.min(self.kill_at)),
            Step::Terminate => Some(self.kill_at),
            Step::Kill => None,
        }
    }

    pub(crate) fn kill_at(self) -> Instant {
        self.kill_at
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stop {
    reason: StopReason,
    timetable: Timetable,
}

/// The side that stops.
#[derive(Debug, Clone)]
pub(crate) struct StopSwitch(watch::Sender<Option<Stop>>);

/// The side that is stopped.
#[derive(Debug, Clone)]
pub(crate) struct StopSignal(watch::Receiver<Option<Stop>>);

/// A switch and its signal.
pub(crate) fn channel() -> (StopSwitch, StopSignal) {
    let (sender, receiver) = watch::channel(None);
    (StopSwitch(sender), StopSignal(receiver))
}

impl StopSwitch {
    /// Stops everything, from now on; a reason that does not outrank the present one changes
    /// nothing.
    pub(crate) fn stop(&self, reason: StopReason) {
        let asked = Stop {
            reason,
            timetable: Timetable::of(reason, Instant::now()),
        };
        self.0.send_if_modified(|now| {
            let stop = match *now {
                None => asked,
                Some(earlier) if reason.outranks(earlier.reason) => Stop {
                    timetable: asked.timetable.or_earlier(earlier.timetable),
                    ..asked
                },
                Some(_) => return false,
            };
            tracing::info!(
                event = "stop_requested",
                ?reason,
                "a stop of the run was requested"
            );
            *now = Some(stop);
            true
        });
    }
}

impl StopSignal {
    /// Why everything stops, if it does.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        self.0.borrow().map(|stop| stop.reason)
    }

    /// The moment at which everything is killed, if everything stops.
    pub(crate) fn kill_at(&self) -> Option<Instant> {
        self.0.borrow().map(|stop| stop.timetable.kill_at)
    }

    /// What a client requests, if that is why everything stops.
    pub(crate) fn stop_request(&self) -> Option<StopRequest> {
        match self.reason() {
            Some(StopReason::Requested(stop_request)) => Some(stop_request),
            _ => None,
        }
    }

    /// Waits until everything stops.
    pub(crate) async fn stopped(&self) {
        self.wait_for(|stop| Some(stop.timetable)).await;
    }

    /// Waits for a client's stop request.
    pub(crate) async fn requested(&self) {
        self.wait_for(|stop| matches!(stop.reason, StopReason::Requested(_)).then_some(()))
            .await;
    }

    /// Waits for a timetable other than `known`.
    pub(crate) async fn timetable(&self, known: Option<Timetable>) -> Timetable {
        self.wait_for(|stop| Some(stop.timetable).filter(|new| known != Some(*new)))
            .await
    }

    /// Waits until everything should have been dead for as long as `slack`.
    pub(crate) async fn overdue(&self, slack: Duration) {
        let mut timetable = self.timetable(None).await;
        loop {
            tokio::select! {
                () = sleep_until(timetable.kill_at + slack) => return,
                earlier = self.timetable(Some(timetable)) => timetable = earlier,
            }
        }
    }

    async fn wait_for<T>(&self, wanted: impl Fn(&Stop) -> Option<T>) -> T {
        let mut receiver = self.0.clone();
        let mut found = None;
        let seen = receiver.wait_for(|stop| {
            found = stop.as_ref().and_then(&wanted);
            found.is_some()
        });
        let gone = seen.await.is_err();
        match found {
            Some(found) if !gone => found,
            // The switch is gone: nothing can stop us any more.
            _ => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kill(grace_period_ms: u64, immediate: bool) -> StopReason {
        StopReason::Requested(StopRequest::Kill {
            grace_period_ms,
            immediate,
        })
    }

    #[test]
    fn a_reason_gives_way_to_a_stronger_one_only_and_time_is_never_given_back() {
        let by_rank = [
            StopReason::Terminated,
            StopReason::Requested(StopRequest::Cancel),
            kill(9_000, false),
            kill(100, false),
            kill(0, true),
            StopReason::Fenced,
        ];
        for (i, first) in by_rank.into_iter().enumerate() {
            for (j, second) in by_rank.into_iter().enumerate() {
                let (switch, stop) = channel();
                switch.stop(first);
                let before = stop.0.borrow().unwrap();
                switch.stop(second);
                let after = stop.0.borrow().unwrap();
                let stronger = if j > i { second } else { first };
                assert_eq!(after.reason, stronger, "{first:?}, then {second:?}");
                let merged = after.timetable.or_earlier(before.timetable);
                assert_eq!(merged, after.timetable, "{first:?}, then {second:?}");
            }
        }
    }

    #[test]
    fn each_reason_has_its_own_steps() {
        let now = Instant::now();
        let after = |reason, ms| Timetable::of(reason, now).step(now + Duration::from_millis(ms));
        let cancel = StopReason::Requested(StopRequest::Cancel);
        let steps = [0, 3_999, 4_000, 5_999, 6_000].map(|ms| after(cancel, ms));
        let [i, t, k] = [Step::Interrupt, Step::Terminate, Step::Kill];
        assert_eq!(steps, [i, i, t, t, k]);
        assert_eq!(
            [0, 99, 100].map(|ms| after(kill(100, false), ms)),
            [t, t, k]
        );
        assert_eq!(after(kill(u64::MAX, false), 29_999), t, "it is bounded");
        assert_eq!(after(kill(u64::MAX, false), 30_000), k);
        assert_eq!(after(kill(9, true), 0), k);
        assert_eq!(after(StopReason::Fenced, 0), k);
        assert_eq!(after(StopReason::Terminated, 4_999), t);
        assert_eq!(after(StopReason::Terminated, 5_000), k);
    }
}
