//! The live stream of a run's events. Invariants: despite connection failures, every event after
//! the first requested one is delivered once, in order; the stream resumes after the last delivered
//! event; after a number of attempts without progress it ends.

use std::time::{Duration, Instant};

use awo_domain::RunId;
use reqwest::Response;

use crate::answers::{self, Event, Run};
use crate::client::Client;
use crate::failure::Failure;
use crate::paint::clean_line;
use crate::sse::{MAX_MESSAGE, Message, Reader};

/// Tries in a row that may bring nothing.
const MAX_TRIES: u32 = 5;
/// Pause after the first of them, unless the service names one; it doubles.
const PAUSE: Duration = Duration::from_secs(1);
/// What the service may name.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// A stream that held so long has brought something, even if that was silence.
const HELD: Duration = Duration::from_secs(10);
/// Longest silence; the service sends comments far more often.
const SILENCE: Duration = Duration::from_secs(90);

/// The next item to show.
#[derive(Debug)]
pub enum StreamItem {
    /// An event.
    Event(Event),
    /// The service does not answer; it is tried again.
    Away,
    /// It answers again.
    Back,
    /// There will be no more events.
    End,
}

/// A run's events as they come.
pub struct Live<'a> {
    client: &'a Client,
    run: &'a RunId,
    /// Sequence of the last event that was received.
    after: u64,
    open: Option<OpenStream>,
    /// Pause before the next try.
    wait: Option<Duration>,
    first_pause: Duration,
    tries: u32,
    away: bool,
    /// The run was over before the present stream was opened.
    over: bool,
    ended: bool,
}

/// A stream that is open.
struct OpenStream {
    answer: Response,
    reader: Reader,
    since: Instant,
    received: bool,
}

/// Why a try brought nothing.
enum Trouble {
    /// It may pass; why it came, and how long the service asks to wait.
    Passing(String, Option<Duration>),
    Lasting(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        let may_pass = failure.may_pass();
        match failure {
            Failure::Unreachable { why, .. } => Trouble::Passing(why, None),
            Failure::Api(refusal) if may_pass => {
                let why = format!("{}: {}", refusal.code, refusal.message);
                Trouble::Passing(why, refusal.retry_after)
            }
            other => Trouble::Lasting(other),
        }
    }
}

impl<'a> Live<'a> {
    /// The events of a run after a sequence.
    pub fn new(client: &'a Client, run: &'a RunId, after: u64) -> Live<'a> {
        Live {
            client,
            run,
            after,
            open: None,
            wait: None,
            first_pause: PAUSE,
            tries: 0,
            away: false,
            over: false,
            ended: false,
        }
    }

    /// Waits for what comes next.
    pub async fn next(&mut self) -> Result<StreamItem, Failure> {
        // Each turn opens a stream or takes something off it; turns without a gain are counted.
        while !self.ended {
            let item = match self.open.take() {
                None => self.open_stream().await,
                Some(open) => self.listen(open).await,
            };
            match item {
                Ok(Some(item)) => return Ok(item),
                Ok(None) => {}
                Err(Trouble::Lasting(failure)) => return Err(failure),
                Err(Trouble::Passing(why, asked)) => {
                    self.brought_nothing(&why, asked)?;
                    if !std::mem::replace(&mut self.away, true) {
                        return Ok(StreamItem::Away);
                    }
                }
            }
        }
        Ok(StreamItem::End)
    }

    async fn open_stream(&mut self) -> Result<Option<StreamItem>, Trouble> {
        if let Some(wait) = self.wait.take() {
            tokio::time::sleep(wait).await;
        }
        let path = format!("/v1/runs/{}/events", self.run);
        let answer = self.client.stream(&path, self.after).await?;
        self.ended = answer.is_none();
        self.open = answer.map(|answer| OpenStream {
            answer,
            reader: Reader::default(),
            since: Instant::now(),
            received: false,
        });
        let back = std::mem::take(&mut self.away);
        Ok(back.then_some(StreamItem::Back))
    }

    async fn listen(&mut self, mut open: OpenStream) -> Result<Option<StreamItem>, Trouble> {
        if let Some(message) = open.reader.next() {
            let event = self.event(&message)?;
            open.received |= event.is_some();
            self.open = Some(open);
            return Ok(event.map(StreamItem::Event));
        }
        let more = tokio::time::timeout(SILENCE, open.answer.chunk()).await;
        let held = open.since.elapsed() >= HELD;
        if open.received || held {
            self.tries = 0;
        }
        match more {
            Ok(Ok(Some(bytes))) => {
                open.reader.feed(&bytes).map_err(|_| {
                    Failure::Broken(format!("an event is larger than {MAX_MESSAGE} bytes"))
                })?;
                if let Some(asked) = open.reader.retry {
                    self.first_pause = asked.clamp(PAUSES.0, PAUSES.1);
                }
                self.open = Some(open);
                Ok(None)
            }
            Ok(Ok(None)) => self.closed(open.received, held).await,
            Ok(Err(error)) if !held => Err(self.client.unreachable(&error).into()),
            // Whether the other side is still there, a new stream will show.
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }

    /// An event that was not received yet.
    fn event(&mut self, message: &Message) -> Result<Option<Event>, Failure> {
        // What has no id is not of the timeline.
        if message.id.is_none() {
            return Ok(None);
        }
        let event: Event = answers::read(&message.data)?;
        if event.sequence <= self.after {
            return Ok(None);
        }
        self.after = event.sequence;
        self.ended = event.is_last();
        Ok(Some(event))
    }

    /// The service ended the stream before the run's last event came: because its time was up,
    /// or because that event was before the first one asked for.
    async fn closed(&mut self, received: bool, held: bool) -> Result<Option<StreamItem>, Trouble> {
        if !received && self.over {
            self.ended = true;
            return Ok(None);
        }
        let run = format!("/v1/runs/{}", self.run);
        let run: Run = answers::read(&self.client.get(&run, &[]).await?)?;
        self.over = run.is_over();
        if received || held || self.over {
            return Ok(None);
        }
        let why = "the event stream ended immediately".to_owned();
        Err(Trouble::Passing(why, None))
    }

    /// Counts a try, and gives up after the last.
    fn brought_nothing(&mut self, why: &str, asked: Option<Duration>) -> Result<(), Failure> {
        self.wait = Some(self.pause().max(asked.unwrap_or_default()));
        self.tries += 1;
        if self.tries < MAX_TRIES {
            return Ok(());
        }
        Err(Failure::Unreachable {
            what: format!("the events of {}", self.run),
            why: format!("{} ({MAX_TRIES} tries)", clean_line(why)),
            advice: format!(
                "the run continues; `awo events {} --follow --after {}` shows its further events",
                self.run, self.after
            ),
        })
    }

    fn pause(&self) -> Duration {
        self.first_pause * 2u32.pow(self.tries.min(MAX_TRIES))
    }
}
