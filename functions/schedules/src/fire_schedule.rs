//! `POST /v1/schedules/{id}/fire`: a work order now, whatever the timetable says.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::schedules::output::FiringShape;
use awo_domain::Error;
use awo_domain::schedule::Firing;
use awo_execution::opening::OpenOutcome;
use awo_execution::scheduler::Scheduler;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

struct State {
    store: Store,
    scheduler: Scheduler,
}

/// The function `fire-schedule`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        scheduler: Scheduler::new(cloud)?,
    };
    HttpFunction::keyed(cloud, &routes::FIRE_SCHEDULE, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let (id, idempotent) = (call.path_id()?, call.idempotency()?);
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    let (org, now) = (call.org(), call.now);
    // A repetition is answered before the schedule is asked, which may have a work order by now.
    if let Some(request) = &idempotent
        && let Some(first) = state.store.stored_response(org, request, now).await?
    {
        return Ok(Answer::replayed(201, first));
    }
    let fired = state.scheduler.fire_now(org, &id, now, |new| {
        let firing = Firing::created(now, new.id.clone(), now);
        let answer = Answer::created(FiringShape::from(&firing))?;
        let response = call.response(idempotent.as_ref(), &answer);
        Ok((answer, response))
    });
    match Box::pin(fired).await? {
        OpenOutcome::Done { answer, outcome } => {
            tracing::info!(event = "schedule_fired", %org, key = %call.caller.key_id, schedule = %id);
            Ok(answer.unless_replayed(outcome))
        }
        OpenOutcome::Refused(error) => Err(error),
    }
}
