//! Firings of schedules, by the sweep when a time has come and by a client at any time. A firing is one
//! transaction with the creation of its work order, so a crash, or another sweep, makes none twice.

use awo_cloud::{Cloud, SetupError};
use awo_contract::body::Object;
use awo_domain::schedule::{Firing, FiringResult, OrderStanding, PauseReason, Schedule};
use awo_domain::{Error, OrgId, Resource, ScheduleId, Timestamp};
use awo_schedules::plan::elapsed;
use awo_store::Store;
use awo_store::engine::idempotency::NewResponse;
use awo_store::schedules::{CurrentSchedule, ScheduleStep};
use awo_store::work_orders::NewWorkOrder;

use crate::opening::{OpenOutcome, OpenRequest, Opener, RequestBody, Requester};

const OVERLAP: &str = "overlap";
const SUSPENDED: &str = "suspended";

/// Fires schedules.
#[derive(Debug)]
pub struct Scheduler {
    store: Store,
    opener: Opener,
}

/// A schedule as it was read, with the standing of its work orders.
struct ReadSchedule<'a> {
    org: &'a OrgId,
    read: CurrentSchedule,
    orders: Vec<OrderStanding>,
    now: Timestamp,
}

impl ReadSchedule<'_> {
    fn step(&self, new: Schedule) -> ScheduleStep {
        ScheduleStep {
            org: self.org.clone(),
            read: self.read.clone(),
            new,
            missed: None,
            time: None,
            firing: None,
            now: self.now,
        }
    }
}

impl Scheduler {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting is missing or not valid.
    pub fn new(cloud: &Cloud) -> Result<Scheduler, SetupError> {
        Ok(Scheduler {
            store: cloud.store()?,
            opener: Opener::new(cloud)?,
        })
    }

    /// Counts the work orders of a schedule that have ended, and fires it if its time has come. What another
    /// sweep has done meanwhile is left as it is.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn sweep(&self, org: &OrgId, id: &ScheduleId, now: Timestamp) -> Result<(), Error> {
        let Some(schedule) = self.read(org, id, now).await? else {
            return Ok(());
        };
        let counted = schedule.read.schedule.clone().counted(&schedule.orders);
        let Some(times) = elapsed(&counted, now) else {
            if counted != schedule.read.schedule {
                self.store.step_schedule(&schedule.step(counted)).await?;
            }
            return Ok(());
        };
        let new = Schedule {
            next_at: times.next,
            ..counted
        };
        let step = ScheduleStep {
            missed: times.missed,
            time: times.fires,
            ..schedule.step(new)
        };
        match times.fires {
            None => self.store.step_schedule(&step).await.map(|_| ()),
            Some(time) => Box::pin(self.fire_at(&schedule, step, time)).await,
        }
    }

    /// Creates a work order of a schedule now.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] where an earlier work order is not terminal, or the schedule
    /// keeps changing; those of the creation.
    pub async fn fire_now<'r, A>(
        &self,
        org: &OrgId,
        id: &ScheduleId,
        now: Timestamp,
        respond: impl Fn(&NewWorkOrder) -> Result<(A, Option<NewResponse<'r>>), Error>,
    ) -> Result<OpenOutcome<A>, Error> {
        let schedule = self.read(org, id, now).await?;
        let schedule = schedule.ok_or(Error::NotFound(Resource::Schedule))?;
        let new = schedule.read.schedule.clone().counted(&schedule.orders);
        if new.overlaps(&schedule.orders) {
            return Err(Error::Conflict(
                "an earlier work order of this schedule has not ended: wait for it, or cancel it"
                    .to_owned(),
            ));
        }
        let step = ScheduleStep {
            time: Some(now),
            ..schedule.step(new)
        };
        self.open(&step, respond).await
    }

    async fn read<'a>(
        &self,
        org: &'a OrgId,
        id: &ScheduleId,
        now: Timestamp,
    ) -> Result<Option<ReadSchedule<'a>>, Error> {
        let Some(read) = self.store.schedule(org, id).await? else {
            return Ok(None);
        };
        let orders = self.store.order_standings(org, &read.schedule.open).await?;
        Ok(Some(ReadSchedule {
            org,
            read,
            orders,
            now,
        }))
    }

    async fn fire_at(
        &self,
        schedule: &ReadSchedule<'_>,
        mut step: ScheduleStep,
        time: Timestamp,
    ) -> Result<(), Error> {
        let now = schedule.now;
        let without_order =
            |result, reason: &str| Some(Firing::without_order(time, result, reason, now));
        let tally = self.store.tally(schedule.org).await?;
        if tally.suspended_at.is_some() {
            step.firing = without_order(FiringResult::Refused, SUSPENDED);
            step.new = step.new.failed();
        } else if self.is_key_revoked(&step.new).await? {
            let reason = PauseReason::KeyRevoked;
            step.firing = without_order(FiringResult::Refused, reason.as_str());
            step.new = step.new.paused_for(reason);
        } else if step.new.overlaps(&schedule.orders) {
            step.firing = without_order(FiringResult::Skipped, OVERLAP);
        } else {
            match self.open(&step, |_| Ok(((), None))).await {
                Ok(OpenOutcome::Done { .. }) => {
                    let (org, id) = (&step.org, &step.new.id);
                    tracing::info!(event = "schedule_fired", %org, schedule = %id, %time, "a schedule fired");
                    return Ok(());
                }
                // Another sweep was faster, or a client changed it.
                Err(Error::Conflict(_)) => return Ok(()),
                Ok(OpenOutcome::Refused(error)) | Err(error) => {
                    let reason = refusal(&error).ok_or(error)?;
                    step.firing = without_order(FiringResult::Refused, reason);
                    step.new = step.new.failed();
                }
            }
        }
        self.store.step_schedule(&step).await.map(|_| ())
    }

    async fn open<'r, A>(
        &self,
        step: &ScheduleStep,
        respond: impl Fn(&NewWorkOrder) -> Result<(A, Option<NewResponse<'r>>), Error>,
    ) -> Result<OpenOutcome<A>, Error> {
        let body = Object::parse(step.new.content.work_order.as_bytes())?;
        let request = OpenRequest {
            org: &step.org,
            requester: Requester::Schedule(step),
            body: RequestBody::Create(self.opener.read(body)),
            now: step.now,
        };
        self.opener.open_work_order(request, respond).await
    }

    async fn is_key_revoked(&self, schedule: &Schedule) -> Result<bool, Error> {
        let key = self.store.key(&schedule.created_by).await?;
        Ok(key.is_none_or(|key| key.revoked_at.is_some()))
    }
}

/// The reason that a firing shows for a create that was refused; none for a failure that passes.
fn refusal(error: &Error) -> Option<&'static str> {
    match error {
        Error::InsufficientCredits { .. } => Some("credits"),
        Error::OverBudget { .. } => Some("budget"),
        Error::QueueFull { .. } => Some("queue_full"),
        Error::Invalid(_) => Some("invalid"),
        _ => None,
    }
}
