//! `GET /v1/runs/{id}/events`: the timeline of a run, after a sequence; as a page, or live.

use std::sync::Arc;
use std::time::{Duration, Instant};

use awo_cloud::{Cloud, Mint, SetupError};
use awo_contract::runs::output::TimelineShape;
use awo_domain::event::TimelineEvent;
use awo_domain::{Error, Resource, RunId};
use awo_http::events::{Batch, EVENT_STREAM, LiveEvent, live};
use awo_http::page::MAX_LIMIT;
use awo_http::{Answer, Call, Reply, StreamingFunction, routes};
use awo_store::Store;
use awo_store::capacity::call_permits::PermitWatch;
use awo_store::runs::Run;
use bytes::Bytes;
use futures::Stream;

/// How often a stream sees whether its permit is still its own.
const PERMIT_READ_PERIOD: Duration = Duration::from_secs(5);

struct State {
    store: Store,
    mint: Mint,
}

/// The function `list-run-events`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<StreamingFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        mint: cloud.mint.clone(),
    };
    StreamingFunction::keyed(cloud, &routes::LIST_RUN_EVENTS, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Reply, Error> {
    let id = call.path_id()?;
    if call.accepts(EVENT_STREAM) {
        watch(&state, &call, id).await
    } else {
        page(&state.store, &call, &id).await.map(Reply::from)
    }
}

async fn page(store: &Store, call: &Call, id: &RunId) -> Result<Answer, Error> {
    let query = call.query();
    let after = query.whole("after", 0..=u32::MAX, 0);
    let limit = query.whole("limit", 1..=MAX_LIMIT, MAX_LIMIT);
    query.finish()?;
    let events = store.events(call.org(), id, u64::from(after), limit, call.now);
    let (run, page) = tokio::try_join!(store.run(call.org(), id), events)?;
    run.ok_or(Error::NotFound(Resource::Run))?;
    let last_sequence = page
        .items
        .last()
        .map_or(u64::from(after), |event| event.sequence);
    Answer::ok(TimelineShape {
        events: page.items,
        last_sequence,
        has_more: page.has_more,
    })
}

async fn watch(state: &State, call: &Call, id: RunId) -> Result<Reply, Error> {
    let query = call.query();
    let after = query.whole("after", 0..=u32::MAX, 0);
    query.finish()?;
    let after = u64::from(call.last_event_id()?.unwrap_or(after));
    let run = state.store.run(call.org(), &id).await?;
    let run = run.ok_or(Error::NotFound(Resource::Run))?;
    if is_over(&state.store, call, &run, after).await? {
        // A standard EventSource connects again after every end, except after this answer.
        return Ok(Answer::no_content().into());
    }
    let holder = format!("{}-{}", call.request_id, state.mint.secret());
    let permit = state
        .store
        .take_stream_permit(call.org(), &holder, call.now);
    let permit = permit.await?;
    let pieces = timeline(&state.store, call, (&run, after), permit.watch());
    Ok(Reply::stream(EVENT_STREAM, permit.until_end_of(pieces)))
}

/// True if the run has ended and has no event after this one; later ones may have expired.
async fn is_over(store: &Store, call: &Call, run: &Run, after: u64) -> Result<bool, Error> {
    if !run.status.is_terminal() {
        return Ok(false);
    }
    if after >= run.last_sequence {
        return Ok(true);
    }
    let next = store.events(call.org(), &run.run_id, after, 1, call.now);
    Ok(next.await?.items.is_empty())
}

/// The events of a run after a sequence, until its terminal one, or until somebody has taken the
/// stream's permit over.
fn timeline(
    store: &Store,
    call: &Call,
    (run, after): (&Run, u64),
    permit: PermitWatch,
) -> impl Stream<Item = Bytes> + Send + use<> {
    // No client can have seen more than there is; one that claims it would wait for ever.
    let after = after.min(run.last_sequence);
    // Then all of its events are written; the last of them may have expired.
    let is_terminal = run.status.is_terminal();
    let (store, org, id) = (store.clone(), call.org().clone(), run.run_id.clone());
    let now = call.now;
    let mut read_at = Instant::now();
    live(after, move |after| {
        let (store, org, id, permit) = (store.clone(), org.clone(), id.clone(), permit.clone());
        let is_due = read_at.elapsed() >= PERMIT_READ_PERIOD;
        if is_due {
            read_at = Instant::now();
        }
        async move {
            let page = store.events(&org, &id, after, MAX_LIMIT, now).await?;
            let is_over = page.items.iter().any(TimelineEvent::is_terminal);
            Ok(Batch {
                is_last: is_over || (is_terminal && !page.has_more),
                gives_way: is_due && permit.is_lost().await?,
                events: page
                    .items
                    .iter()
                    .map(live_event)
                    .collect::<Result<_, _>>()?,
            })
        }
    })
}

fn live_event(event: &TimelineEvent) -> Result<LiveEvent, Error> {
    Ok(LiveEvent {
        id: event.sequence,
        kind: event.kind.clone(),
        data: serde_json::to_string(event).map_err(Error::internal)?,
    })
}
