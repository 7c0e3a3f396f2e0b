//! Following a run: its timeline is read page by page after the last event seen, so that nothing
//! is shown twice and nothing is missed, whatever happens to the connection in between.

use std::time::{Duration, Instant};

use awo_domain::{RunId, Timestamp};

use crate::answers::{self, Events, Run};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::clean_line;
use crate::progress;
use crate::read;
use crate::screen::Screen;

/// Pause after something moved.
const BRISK: Duration = Duration::from_millis(100);
/// Longest pause while nothing moves.
const IDLE: Duration = Duration::from_millis(500);
/// How long a service that does not answer is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// The run itself is read after each event, and at least at every so many looks.
const LOOKS_PER_RUN: u32 = 4;
/// Pages of the timeline that are read in one look.
const MAX_PAGES: u32 = 100;

/// Follows a run to its end and tells how it ended.
pub async fn run(client: &Client, id: &RunId, output: &Output) -> Result<(), Failure> {
    let screen = Screen::new(output);
    let followed = tokio::select! {
        followed = Follower::new(client, id, &screen).until_over() => followed,
        _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
    };
    screen.end();
    let (run, text) = match followed {
        Ok(ended) => ended,
        Err(Failure::Interrupted) => {
            screen.line(&format!(
                "\nThe run goes on. To see it again: awo follow {id}"
            ))?;
            return Err(Failure::Interrupted);
        }
        Err(failure) => return Err(failure),
    };
    if output.json {
        output.line(&text)?;
    } else {
        read::show_end(&run, output)?;
    }
    if run.succeeded() {
        Ok(())
    } else {
        Err(Failure::RunEnded)
    }
}

struct Follower<'a> {
    client: &'a Client,
    run: String,
    screen: &'a Screen<'a>,
    /// Sequence of the last event that was shown.
    after: u64,
    /// When the first event happened, by the service's clock.
    began: Option<Timestamp>,
    since: Instant,
    looks: u32,
    moved: bool,
    last: Option<Run>,
}

impl<'a> Follower<'a> {
    fn new(client: &'a Client, id: &RunId, screen: &'a Screen<'a>) -> Follower<'a> {
        Follower {
            client,
            run: format!("/v1/runs/{id}"),
            screen,
            after: 0,
            began: None,
            since: Instant::now(),
            looks: 0,
            moved: true,
            last: None,
        }
    }

    async fn until_over(mut self) -> Result<(Run, String), Failure> {
        let mut pause = BRISK;
        let mut failing: Option<Instant> = None;
        loop {
            match self.look().await {
                Ok(Some(ended)) => return Ok(ended),
                Ok(None) => {
                    if failing.take().is_some() {
                        self.screen.line("  the service answers again")?;
                    }
                    pause = if self.moved {
                        BRISK
                    } else {
                        (pause * 2).min(IDLE)
                    };
                }
                Err(failure) if failure.may_pass() => {
                    let first = failing.is_none();
                    let since = *failing.get_or_insert_with(Instant::now);
                    if since.elapsed() >= PATIENCE {
                        self.screen
                            .line("  the run goes on without being watched")?;
                        return Err(failure);
                    }
                    if first {
                        let text = "  the service does not answer; trying again for a minute";
                        self.screen.line(text)?;
                    }
                    pause = asked_pause(&failure).unwrap_or(IDLE);
                }
                Err(failure) => return Err(failure),
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Looks once. The run is read before its events: one that is over then has told them all.
    async fn look(&mut self) -> Result<Option<(Run, String)>, Failure> {
        let mut ended = None;
        if self.moved || self.looks.is_multiple_of(LOOKS_PER_RUN) {
            let text = self.client.get_once(&self.run, &[]).await?;
            let run: Run = answers::read(&text)?;
            ended = run.is_over().then(|| (run.clone(), text));
            self.last = Some(run);
        }
        self.looks = self.looks.wrapping_add(1);
        self.moved = self.events().await?;
        if let Some(run) = &self.last {
            self.screen.now(progress::live(run, self.since.elapsed()));
        }
        Ok(ended)
    }

    /// Shows the events since the last; true if there were any.
    async fn events(&mut self) -> Result<bool, Failure> {
        let path = format!("{}/events", self.run);
        let mut any = false;
        for _ in 0..MAX_PAGES {
            let query = [("after", self.after.to_string())];
            let page: Events = answers::read(&self.client.get_once(&path, &query).await?)?;
            for event in &page.events {
                let began = *self.began.get_or_insert(event.timestamp);
                let elapsed_ms = event.timestamp.ms_since(began);
                for line in progress::lines(event, elapsed_ms, self.screen.paint) {
                    self.screen.line(&line)?;
                }
                any = true;
            }
            self.after = self.after.max(page.last_sequence);
            if !page.has_more || page.events.is_empty() {
                break;
            }
        }
        Ok(any)
    }
}

/// What the service asked for, where it refused for the rate of requests.
fn asked_pause(failure: &Failure) -> Option<Duration> {
    match failure {
        Failure::Api(failure) => failure.retry_after,
        _ => None,
    }
}

/// The first line of following what was just submitted.
pub fn announce(output: &Output, work_order: &str, run: &str) -> Result<(), Failure> {
    let screen = Screen::new(output);
    let line = format!("submitted  {}  {}", clean_line(work_order), clean_line(run));
    let told = screen.line(&line);
    screen.end();
    told
}
