//! `POST /v1/schedules`: its first time is the first one from now on.

use std::sync::Arc;

use awo_cloud::{Cloud, Mint, SetupError};
use awo_domain::schedule::Schedule;
use awo_domain::{Error, ScheduleId};
use awo_execution::opening::Opener;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_schedules::plan::times_after;
use awo_store::Store;

use crate::content::ScheduleRequest;
use crate::shown::shown;

struct State {
    store: Store,
    opener: Opener,
    mint: Mint,
}

/// The function `create-schedule`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        opener: Opener::new(cloud)?,
        mint: cloud.mint.clone(),
    };
    HttpFunction::keyed(cloud, &routes::CREATE_SCHEDULE, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let (org, now) = (call.org(), call.now);
    let request = ScheduleRequest::read(call.object()?, &state.opener)?;
    let content = request.content(&state.opener, org).await?;
    let schedule = Schedule {
        id: ScheduleId::new(now, state.mint.random(now)),
        created_by: call.caller.key_id.clone(),
        created_at: now,
        updated_at: None,
        next_at: times_after(&content, now).next(),
        last_fired_at: None,
        consecutive_failures: 0,
        paused: None,
        open: Vec::new(),
        content,
    };
    let answer = Answer::created(shown(&schedule, now)?)?;
    let response = call.response(idempotent.as_ref(), &answer);
    let created = (state.store).create_schedule(org, &schedule, response.as_ref());
    let outcome = created.await?;
    let (key, id) = (&call.caller.key_id, &schedule.id);
    tracing::info!(event = "schedule_created", %org, %key, schedule = %id);
    Ok(answer.unless_replayed(outcome))
}
