//! `PUT /v1/schedules/{id}`: a timetable that changes goes on from now.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::schedule::Schedule;
use awo_domain::{Error, Resource, ScheduleId};
use awo_execution::opening::Opener;
use awo_http::retry::until_unchanged;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_schedules::plan::times_after;
use awo_store::Store;

use crate::content::ScheduleRequest;
use crate::shown::shown;

struct State {
    store: Store,
    opener: Opener,
}

/// The function `update-schedule`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        opener: Opener::new(cloud)?,
    };
    HttpFunction::keyed(cloud, &routes::UPDATE_SCHEDULE, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let answer = until_unchanged(Resource::Schedule, || update(&state, &call, &id)).await?;
    tracing::info!(event = "schedule_changed", org = %call.org(), key = %call.caller.key_id, schedule = %id);
    Ok(answer)
}

async fn update(state: &State, call: &Call, id: &ScheduleId) -> Result<Option<Answer>, Error> {
    let (org, now) = (call.org(), call.now);
    let read = state.store.schedule(org, id).await?;
    let read = read.ok_or(Error::NotFound(Resource::Schedule))?;
    let old = read.schedule.clone();
    let request = ScheduleRequest::read(call.object()?, &state.opener)?;
    let content = request.content(&state.opener, org).await?;
    let next_at = if content.is_timed_as(&old.content) {
        old.next_at
    } else {
        let next = times_after(&content, now).next();
        next.filter(|_| old.paused.is_none())
    };
    let new = Schedule {
        created_by: call.caller.key_id.clone(),
        updated_at: Some(now),
        next_at,
        content,
        ..old
    };
    if !state.store.replace_schedule(org, &read, &new).await? {
        return Ok(None);
    }
    Answer::ok(shown(&new, now)?).map(Some)
}
