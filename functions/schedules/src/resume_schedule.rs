//! `POST /v1/schedules/{id}/resume`: it goes on from now, without failures.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::schedule::Schedule;
use awo_domain::{Error, Resource, ScheduleId};
use awo_http::retry::until_unchanged;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_schedules::plan::times_after;
use awo_store::Store;

use crate::shown::shown;

/// The function `resume-schedule`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::RESUME_SCHEDULE, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    let answer = until_unchanged(Resource::Schedule, || resume(&store, &call, &id)).await?;
    tracing::info!(event = "schedule_resumed", org = %call.org(), key = %call.caller.key_id, schedule = %id);
    Ok(answer)
}

async fn resume(store: &Store, call: &Call, id: &ScheduleId) -> Result<Option<Answer>, Error> {
    let (org, now) = (call.org(), call.now);
    let read = store.schedule(org, id).await?;
    let read = read.ok_or(Error::NotFound(Resource::Schedule))?;
    let old = read.schedule.clone();
    let new = Schedule {
        created_by: call.caller.key_id.clone(),
        next_at: times_after(&old.content, now).next(),
        consecutive_failures: 0,
        paused: None,
        updated_at: Some(now),
        ..old
    };
    if !store.replace_schedule(org, &read, &new).await? {
        return Ok(None);
    }
    Answer::ok(shown(&new, now)?).map(Some)
}
