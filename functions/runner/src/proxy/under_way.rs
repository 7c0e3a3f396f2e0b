//! A call that is paid for, while it is under way: its worst case is reserved, and what its provider reports
//! takes its place.

use std::sync::Arc;

use awo_domain::agent::answer::{Counter, Dialect};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout_at};

use super::answer::Answer;
use super::call::at_work;
use super::pace::{PATIENCE, later};
use super::refusal::Refusal;
use super::{CallState, now};
use crate::meter::{Reservation, Shortage, WorstCase};

/// A call that is paid for, from its admission to its count. However it ends, it is counted as far
/// as the provider has reported its usage.
pub(super) struct UnderWay {
    shared: Arc<CallState>,
    pub(super) call: Reservation,
    dialect: Dialect,
    pub(super) counter: Option<Counter>,
}

impl UnderWay {
    /// Reserves the worst case. What others have reserved is waited for: they may take less.
    pub(super) async fn begin(
        shared: &Arc<CallState>,
        dialect: Dialect,
        case: &WorstCase,
    ) -> Result<UnderWay, Refusal> {
        let mut under_way = shared.under_way.subscribe();
        let deadline = Instant::now() + PATIENCE;
        let call = loop {
            let is_last = Instant::now() >= deadline;
            under_way.mark_unchanged();
            let reserved = shared.meter().reserve(case, is_last, now());
            match reserved {
                Ok(call) => break call,
                Err(Shortage::Exceeded(why)) => {
                    return Err(Refusal::new(StatusCode::PAYMENT_REQUIRED, why));
                }
                Err(Shortage::Contended) if is_last => {
                    let why = "the calls under way reserve all that the run may still cost";
                    return Err(later(why));
                }
                Err(Shortage::Contended) => {
                    let _ = timeout_at(deadline, under_way.changed()).await;
                    at_work(shared)?;
                }
            }
        };
        shared.under_way.send_modify(|calls| *calls += 1);
        Ok(UnderWay {
            shared: Arc::clone(shared),
            call,
            dialect,
            counter: None,
        })
    }

    pub(super) fn answered(&mut self, answer: &Answer) {
        let kind = answer.headers.get(CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        self.counter = Some(Counter::new(self.dialect, is_stream));
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let was_answered = self.counter.is_some();
        let counts = self.counter.take().and_then(Counter::end);
        if was_answered && counts.is_none() {
            tracing::warn!(
                event = "usage_missing",
                model = self.call.model,
                "a model's response did not state its usage"
            );
        }
        self.shared.meter().done(&self.call, counts, now());
        self.shared.under_way.send_modify(|calls| *calls -= 1);
    }
}
