//! Follows a run: its events as text when they occur, and its end.

use awo_domain::{RunId, Timestamp};

use crate::answers::{self, Run};
use crate::client::Client;
use crate::failure::Failure;
use crate::live::{Live, StreamItem};
use crate::output::Output;
use crate::paint::clean_line;
use crate::progress;
use crate::read;
use crate::screen::Screen;
use crate::standing;

/// Follows a run to its end and shows its outcome.
///
/// With `require_verified` a run of which nothing was verified did not succeed.
pub async fn run(
    client: &Client,
    id: &RunId,
    require_verified: bool,
    output: &Output,
) -> Result<(), Failure> {
    let screen = Screen::new(output);
    let followed = tokio::select! {
        followed = until_over(client, id, &screen) => followed,
        never = standing::watch(client, id, &screen) => match never {},
        _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
    };
    screen.end();
    let text = match followed {
        Ok(ended) => ended,
        Err(Failure::Interrupted) => {
            screen.line(&format!(
                "\nThe run continues. To follow it again: awo follow {id}\nTo end it: awo cancel {id}"
            ))?;
            return Err(Failure::Interrupted);
        }
        Err(failure) => return Err(failure),
    };
    let run: Run = answers::read(&text)?;
    if output.is_json() {
        output.line(&text)?;
    } else {
        read::show_end(&run, output)?;
        let order = read::order_of(client, &run).await;
        read::show_next(&run, order.as_ref(), output)?;
    }
    if run.succeeded() && (!require_verified || run.verified == Some(true)) {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}

/// Shows the events of a run and gives the run as it is after the last.
async fn until_over(client: &Client, id: &RunId, screen: &Screen<'_>) -> Result<String, Failure> {
    let mut live = Live::new(client, id, 0);
    screen.now("connecting".to_owned());
    // When the first event happened, by the service's clock.
    let mut began: Option<Timestamp> = None;
    loop {
        match live.next().await? {
            StreamItem::Event(event) => {
                let began = *began.get_or_insert(event.timestamp);
                let elapsed_ms = event.timestamp.ms_since(began);
                for line in progress::lines(&event, elapsed_ms, screen.paint) {
                    screen.line(&line)?;
                }
                if let Some(place) = progress::place(&event) {
                    screen.now(place);
                }
            }
            StreamItem::Away => screen.line("  the service does not respond; trying again")?,
            StreamItem::Back => screen.line("  the service responds again")?,
            StreamItem::End => return client.get(&format!("/v1/runs/{id}"), &[]).await,
        }
    }
}

/// The first line of following what was just made.
pub fn announce(output: &Output, what: &str, ids: [&str; 2]) -> Result<(), Failure> {
    let screen = Screen::new(output);
    let [work_order, run] = ids.map(clean_line);
    let shown = screen.line(&format!("{what}  {work_order}  {run}"));
    screen.end();
    shown
}
