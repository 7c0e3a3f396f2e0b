//! `awo listen` and `awo trigger`: events for a receiver on the developer's own machine, as a
//! webhook would send them.

pub mod arguments;
mod feed;
mod receiver;
mod sample;

use awo_cloud::{Clock, Environment, Mint};
use awo_domain::event::TimelineEvent;
use awo_domain::webhook::{EventType, envelope, identity};
use awo_domain::{RunId, WorkOrderId};
use serde_json::json;

use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use arguments::{Listen, Trigger};
use feed::{Feed, FeedItem};
use receiver::{PostOutcome, Receiver};

/// Shows events, and posts them, until it is interrupted.
pub async fn run(
    client: &Client,
    wanted: &Listen,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let (receiver, remark) = receiver(wanted.forward_to.as_deref(), environment)?;
    let back = wanted.since.and_then(|ms| i64::try_from(ms).ok());
    let since = back.map(|ms| Clock::default().now().plus_ms(-ms));
    let mut feed = Feed::new(client, since);
    tokio::select! {
        ended = forward(&mut feed, (receiver.as_ref(), &remark), wanted, output) => ended,
        _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
    }
}

/// Prints the secret that signs what this machine posts.
pub fn print_secret(environment: &Environment, output: &Output) -> Result<(), Failure> {
    let secret = receiver::recall(environment)?.secret.reveal();
    if output.is_json() {
        output.line(&json!({ "secret": secret }).to_string())
    } else {
        output.line(&secret)
    }
}

/// The destination of events, and the setting that names it.
fn receiver(
    url: Option<&str>,
    environment: &Environment,
) -> Result<(Option<Receiver>, String), Failure> {
    let Some(url) = url else {
        let shown = "events are shown as they occur; --forward-to URL also posts them";
        return Ok((None, shown.to_owned()));
    };
    let mut memory = receiver::recall(environment)?;
    let receiver = Receiver::new(url, memory.secret.clone())?;
    memory.forward_to = Some(url.to_owned());
    receiver::store(environment, &memory)?;
    let (url, secret) = (clean_line(url), memory.secret.reveal());
    let posted = format!("events go to {url}, signed with {secret}");
    Ok((Some(receiver), posted))
}

async fn forward(
    feed: &mut Feed<'_>,
    (receiver, remark): (Option<&Receiver>, &str),
    wanted: &Listen,
    output: &Output,
) -> Result<(), Failure> {
    loop {
        let (run, event) = match feed.next().await? {
            FeedItem::Event(run, event) => (run, event),
            FeedItem::Begun => {
                output.remark(remark);
                continue;
            }
            FeedItem::Away => {
                output.remark("the service does not respond; trying again");
                continue;
            }
            FeedItem::Back => {
                output.remark("the service responds again; the missed events follow");
                continue;
            }
        };
        let is_wanted = wanted.events.is_empty() || wanted.events.contains(&event.kind);
        if EventType::parse(&event.kind).is_none() || !is_wanted {
            continue;
        }
        post(&run, &event, receiver, output).await?;
    }
}

/// Posts an event with the id and the bytes that a webhook's delivery has.
async fn post(
    run: &RunId,
    event: &TimelineEvent,
    receiver: Option<&Receiver>,
    output: &Output,
) -> Result<Option<PostOutcome>, Failure> {
    let id = identity::event_id(run, event.sequence, event.timestamp);
    let body = envelope::body(&id, event)
        .map_err(|e| Failure::Broken(format!("the event is not JSON: {e}")))?;
    let posted = match receiver {
        Some(receiver) => Some(receiver.post(&id, body.clone()).await),
        None => None,
    };
    if output.is_json() {
        output.line(&body)?;
        return Ok(posted);
    }
    let kind = output
        .paint
        .strong(&format!("{:<21}", clean_line(&event.kind)));
    let at = output.paint.faint(&event.timestamp.to_string());
    let outcome = posted.as_ref().map(|posted| {
        if posted.is_delivered() {
            output.paint.good(&posted.text())
        } else {
            output.paint.bad(&clean_line(&posted.text()))
        }
    });
    let outcome = outcome.unwrap_or_default();
    output.line(format!("{at}  {kind}  {run}  {outcome}").trim_end())?;
    Ok(posted)
}

/// Posts a sample.
pub async fn trigger(
    wanted: &Trigger,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let memory = receiver::recall(environment)?;
    let url = wanted.forward_to.clone().or(memory.forward_to);
    let url = url.ok_or_else(|| {
        Failure::Usage(
            "no receiver is known: specify one with --forward-to, or run `awo listen --forward-to URL` first"
                .to_owned(),
        )
    })?;
    let kind = EventType::parse(&wanted.event)
        .ok_or_else(|| Failure::Usage(format!("there is no event type {}", wanted.event)))?;
    let receiver = Receiver::new(&url, memory.secret)?;
    let (now, mint) = (Clock::default().now(), Mint::default());
    let run = RunId::new(now, mint.random(now));
    let order = WorkOrderId::new(now, mint.random(now));
    let data = sample::data(kind, &run, &order, now);
    let event = TimelineEvent {
        sequence: data["sequence"].as_u64().unwrap_or(1),
        kind: wanted.event.clone(),
        timestamp: now,
        data,
    };
    let posted = post(&run, &event, Some(&receiver), output).await?;
    match posted {
        Some(posted) if posted.is_delivered() => Ok(()),
        _ if output.is_json() => Err(Failure::NotDone),
        _ => {
            field(output, "receiver", clean_line(&url))?;
            Err(Failure::NotDone)
        }
    }
}
