//! The live events of all runs of a key. Invariants: an event after the start is delivered once,
//! and those of one run in order, despite connection failures: each run is read after the last
//! delivered sequence, and new runs are found by their ids.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use awo_domain::event::TimelineEvent;
use awo_domain::{RunId, Timestamp};
use serde_json::Value;

use crate::answers::{self, Run};
use crate::client::Client;
use crate::failure::Failure;
use crate::reference::run_id;

/// Pause between two readings of what is going on.
const PAUSE: Duration = Duration::from_secs(1);
/// Readings of single runs a second: half of what a key may ask in a minute stays free.
const PER_SECOND: u32 = 4;
/// Longest pause where the service does not answer.
const MAX_PAUSE: Duration = Duration::from_secs(15);
/// Runs of a page.
const PAGE: &str = "100";
/// Most pages that are read for runs.
const MAX_PAGES: u32 = 100;
/// Statuses of runs that are not over.
const OPEN: [&str; 3] = ["queued", "building", "running"];

/// The next item to show.
#[derive(Debug)]
pub enum FeedItem {
    /// Whatever happens from now on will be shown.
    Begun,
    /// An event.
    Event(RunId, TimelineEvent),
    /// The service does not answer; it is tried again.
    Away,
    /// It answers again.
    Back,
}

/// The events of all runs from now on, or from a time on.
pub struct Feed<'a> {
    client: &'a Client,
    since: Option<Timestamp>,
    /// Runs that are not over, and the last sequence that was given of each.
    open: BTreeMap<RunId, u64>,
    /// The newest run that was found.
    newest: Option<RunId>,
    ready: VecDeque<(RunId, TimelineEvent)>,
    begun: bool,
    pause: Duration,
    away: bool,
}

impl<'a> Feed<'a> {
    /// The events since a time. Without one it is what comes after the first reading, whatever the
    /// clocks of service and client show.
    pub fn new(client: &'a Client, since: Option<Timestamp>) -> Feed<'a> {
        Feed {
            client,
            since,
            open: BTreeMap::new(),
            newest: None,
            ready: VecDeque::new(),
            begun: false,
            pause: PAUSE,
            away: false,
        }
    }

    /// Waits for what comes next.
    pub async fn next(&mut self) -> Result<FeedItem, Failure> {
        loop {
            if let Some((run, event)) = self.ready.pop_front() {
                return Ok(FeedItem::Event(run, event));
            }
            if self.begun || self.away {
                tokio::time::sleep(self.pause).await;
            }
            let had_begun = self.begun;
            match self.read().await {
                Ok(()) => {
                    let was_away = std::mem::take(&mut self.away);
                    if !had_begun {
                        return Ok(FeedItem::Begun);
                    }
                    if was_away {
                        return Ok(FeedItem::Back);
                    }
                }
                Err(failure) if failure.may_pass() => {
                    self.pause = (self.pause * 2).min(MAX_PAUSE);
                    if !std::mem::replace(&mut self.away, true) {
                        return Ok(FeedItem::Away);
                    }
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn read(&mut self) -> Result<(), Failure> {
        if !self.begun {
            for status in OPEN {
                self.find(Some(status)).await?;
            }
        }
        self.find(None).await?;
        let runs: Vec<RunId> = self.open.keys().cloned().collect();
        let readings = u32::try_from(runs.len()).unwrap_or(u32::MAX);
        self.pause = PAUSE.max(Duration::from_secs(1) * readings / PER_SECOND);
        for run in runs {
            self.read_run(&run).await?;
        }
        self.begun = true;
        Ok(())
    }

    /// Finds runs, newest first, down to those that are known or older than the beginning.
    async fn find(&mut self, status: Option<&str>) -> Result<(), Failure> {
        let (mut cursor, mut found) = (None::<String>, Vec::new());
        let mut newest = None;
        let known = self.newest.clone().filter(|_| status.is_none());
        for _ in 0..MAX_PAGES {
            let mut query = vec![("limit", PAGE.to_owned())];
            query.extend(status.map(|status| ("status", status.to_owned())));
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            let page: Value = answers::read(&self.client.get("/v1/runs", &query).await?)?;
            let runs: Vec<Run> = answers::read(&page["runs"].to_string())?;
            let mut is_past = runs.is_empty();
            for run in &runs {
                let id = run_id(&run.run_id)?;
                newest.get_or_insert_with(|| id.clone());
                let is_old = status.is_none() && !self.may_have_events(run);
                if known.as_ref().is_some_and(|known| id <= *known) || is_old {
                    is_past = true;
                    break;
                }
                found.push(id);
            }
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if is_past || cursor.is_none() {
                break;
            }
        }
        if status.is_none() {
            self.newest = newest.or(known);
        }
        for run in found {
            self.open.entry(run).or_insert(0);
        }
        Ok(())
    }

    /// False for a run that began before the beginning; if it is not over it is found by its status.
    fn may_have_events(&self, run: &Run) -> bool {
        match self.since {
            Some(since) => Timestamp::parse(&run.created_at).is_ok_and(|at| at >= since),
            None => self.begun,
        }
    }

    async fn read_run(&mut self, run: &RunId) -> Result<(), Failure> {
        loop {
            let after = self.open.get(run).copied().unwrap_or(0);
            let query = [("after", after.to_string())];
            let text = self
                .client
                .get(&format!("/v1/runs/{run}/events"), &query)
                .await;
            let text = match text {
                // It was purged.
                Err(Failure::Api(refusal)) if refusal.status == 404 => {
                    self.open.remove(run);
                    return Ok(());
                }
                text => text?,
            };
            let page: answers::Events = answers::read(&text)?;
            let (mut last, mut is_over) = (after, false);
            for event in page.events {
                last = event.sequence;
                is_over |= event.is_last();
                if self
                    .since
                    .map_or(self.begun, |since| event.timestamp >= since)
                {
                    let event = TimelineEvent {
                        sequence: event.sequence,
                        kind: event.kind,
                        timestamp: event.timestamp,
                        data: event.data,
                    };
                    self.ready.push_back((run.clone(), event));
                }
            }
            if is_over {
                self.open.remove(run);
                return Ok(());
            }
            self.open.insert(run.clone(), last);
            if !page.has_more || last == after {
                return Ok(());
            }
        }
    }
}
