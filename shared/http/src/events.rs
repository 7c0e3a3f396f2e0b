//! Live events as `text/event-stream`: the existing ones, then new ones, until the source ends, or
//! until the stream reaches its age limit; then the client reconnects with its last sequence.
//!
//! The source is polled. No event is repeated or omitted, because each poll asks for what follows
//! the last event that was sent.

use std::fmt::Write;
use std::future::Future;
use std::time::Duration;

use awo_domain::Error;
use bytes::Bytes;
use futures::Stream;
use futures::stream;
use tokio::time::Instant;

/// The media type.
pub const EVENT_STREAM: &str = "text/event-stream";
/// How often the source is asked while events come.
pub const BRISK: Duration = Duration::from_millis(200);
/// How often once nothing has come for [`QUIET_AFTER`].
pub const CALM: Duration = Duration::from_secs(1);
/// When a source counts as quiet.
pub const QUIET_AFTER: Duration = Duration::from_secs(30);
/// How often something is sent at least.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How old a stream gets: less than a gateway and a function allow.
pub const LONGEST: Duration = Duration::from_secs(14 * 60);
/// When clients connect again, in milliseconds.
const RETRY_MS: u32 = 1_000;

/// An event as it is sent; no part has line breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveEvent {
    /// Its number, higher than those before.
    pub id: u64,
    /// Its type.
    pub kind: String,
    /// Its data.
    pub data: String,
}

/// The next content of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Events after the one that was asked about, in order.
    pub events: Vec<LiveEvent>,
    /// True if no more will come after these.
    pub is_last: bool,
    /// True if the stream has to end for another one; further events are for the next connection.
    pub gives_way: bool,
}

struct Watch<S> {
    source: S,
    after: u64,
    began: Instant,
    /// When an event was sent last, or the stream began.
    eventful: Instant,
    /// When anything was sent last.
    spoke: Instant,
}

enum Step<S> {
    Begin(Watch<S>),
    Go(Watch<S>),
    End,
}

/// The events of a source after one, as a body. `source` is given the number of the last event
/// that was sent.
pub fn live<S, Fut>(after: u64, source: S) -> impl Stream<Item = Bytes> + Send
where
    S: FnMut(u64) -> Fut + Send,
    Fut: Future<Output = Result<Batch, Error>> + Send,
{
    let now = Instant::now();
    let watch = Watch {
        source,
        after,
        began: now,
        eventful: now,
        spoke: now,
    };
    stream::unfold(Step::Begin(watch), |step| async move {
        match step {
            Step::Begin(watch) => {
                let hello = format!("retry: {RETRY_MS}\n\n");
                Some((Bytes::from(hello), Step::Go(watch)))
            }
            Step::Go(watch) => Some(watch.next().await),
            Step::End => None,
        }
    })
}

impl<S, Fut> Watch<S>
where
    S: FnMut(u64) -> Fut,
    Fut: Future<Output = Result<Batch, Error>>,
{
    /// The next piece to send. It waits for at most [`KEEP_ALIVE`].
    async fn next(mut self) -> (Bytes, Step<S>) {
        loop {
            let batch = match (self.source)(self.after).await {
                Ok(batch) => batch,
                Err(error) => {
                    tracing::error!(
                        event = "stream_ended_early",
                        ?error,
                        "a live stream ends early"
                    );
                    return (comment("interrupted: reconnect"), Step::End);
                }
            };
            let now = Instant::now();
            if let Some(last) = batch.events.last() {
                self.after = last.id;
                (self.eventful, self.spoke) = (now, now);
                let is_old = now.duration_since(self.began) >= LONGEST;
                let step = if batch.is_last || batch.gives_way || is_old {
                    Step::End
                } else {
                    Step::Go(self)
                };
                return (rendered(&batch.events), step);
            }
            if batch.is_last {
                return (comment("end of events"), Step::End);
            }
            if batch.gives_way {
                return (
                    comment("another stream was opened: reconnect to continue"),
                    Step::End,
                );
            }
            if now.duration_since(self.began) >= LONGEST {
                return (comment("reconnect to continue"), Step::End);
            }
            if now.duration_since(self.spoke) >= KEEP_ALIVE {
                self.spoke = now;
                return (comment("keep-alive"), Step::Go(self));
            }
            let quiet = now.duration_since(self.eventful) >= QUIET_AFTER;
            tokio::time::sleep(if quiet { CALM } else { BRISK }).await;
        }
    }
}

fn comment(text: &str) -> Bytes {
    Bytes::from(format!(": {text}\n\n"))
}

fn rendered(events: &[LiveEvent]) -> Bytes {
    let mut text = String::new();
    for LiveEvent { id, kind, data } in events {
        // Writing to a string does not fail.
        let _ = write!(text, "id: {id}\nevent: {kind}\ndata: {data}\n\n");
    }
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use std::sync::{Arc, Mutex};

    type Requests = Arc<Mutex<Vec<(u64, Duration)>>>;

    fn event(id: u64) -> LiveEvent {
        LiveEvent {
            id,
            kind: "kind".to_owned(),
            data: format!("{{\"n\":{id}}}"),
        }
    }

    /// A source that has an event for each time that has passed, and ends after the last.
    fn source(
        times_s: &[u64],
        ends: bool,
    ) -> (
        impl FnMut(u64) -> futures::future::BoxFuture<'static, Result<Batch, Error>> + Send + use<>,
        Requests,
    ) {
        let (began, asked) = (Instant::now(), Requests::default());
        let (times, seen) = (times_s.to_vec(), Arc::clone(&asked));
        let ask = move |after: u64| -> futures::future::BoxFuture<'static, _> {
            let age = began.elapsed();
            seen.lock().unwrap().push((after, age));
            let come = times
                .iter()
                .filter(|s| Duration::from_secs(**s) <= age)
                .count() as u64;
            let batch = Batch {
                gives_way: false,
                events: (after + 1..=come).map(event).collect(),
                is_last: ends && come == times.len() as u64,
            };
            Box::pin(async move { Ok(batch) })
        };
        (ask, asked)
    }

    async fn text(stream: impl Stream<Item = Bytes>) -> String {
        let pieces: Vec<Bytes> = stream.collect().await;
        String::from_utf8(pieces.concat()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn each_event_comes_once_and_the_end_is_the_sources() {
        let (ask, _) = source(&[0, 0, 1, 3], true);
        let body = text(live(1, ask)).await;
        assert_eq!(
            body,
            "retry: 1000\n\n\
             id: 2\nevent: kind\ndata: {\"n\":2}\n\n\
             id: 3\nevent: kind\ndata: {\"n\":3}\n\n\
             id: 4\nevent: kind\ndata: {\"n\":4}\n\n"
        );
        let (ask, _) = source(&[0, 0], true);
        assert_eq!(
            text(live(2, ask)).await,
            "retry: 1000\n\n: end of events\n\n"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_stream_stays_alive_reads_less_often_and_ends_before_it_is_cut_off() {
        let began = Instant::now();
        let (ask, asked) = source(&[0], false);
        let body = text(live(0, ask)).await;
        assert!(body.ends_with(": reconnect to continue\n\n"));
        assert!(began.elapsed() >= LONGEST && began.elapsed() < LONGEST + CALM * 2);
        assert_eq!(body.matches(": keep-alive\n\n").count(), 14 * 4 - 1);
        let asked = asked.lock().unwrap();
        let pauses: Vec<(Duration, Duration)> = asked
            .windows(2)
            .map(|pair| (pair[0].1, pair[1].1 - pair[0].1))
            .filter(|(_, pause)| !pause.is_zero())
            .collect();
        for (at, pause) in pauses {
            let wanted = if at < QUIET_AFTER { BRISK } else { CALM };
            assert!(
                pause <= wanted + Duration::from_millis(2),
                "{pause:?} at {at:?}"
            );
            assert!(pause >= wanted, "{pause:?} at {at:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_wakes_a_quiet_stream() {
        let (ask, asked) = source(&[0, 100], false);
        let mut stream = Box::pin(live(0, ask));
        while let Some(piece) = stream.next().await {
            if piece.starts_with(b"id: 2") {
                break;
            }
        }
        stream.next().await;
        let after: Vec<Duration> = asked
            .lock()
            .unwrap()
            .iter()
            .map(|a| a.1)
            .filter(|at| at.as_secs() >= 102)
            .collect();
        assert!(after[1] - after[0] <= BRISK + Duration::from_millis(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_fails_ends_the_stream_so_that_the_client_comes_again() {
        let body = text(live(0, |_| async { Err(Error::internal("test")) })).await;
        assert_eq!(body, "retry: 1000\n\n: interrupted: reconnect\n\n");
    }
}
