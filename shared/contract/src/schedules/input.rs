//! The body of a schedule. Its work order is the body of a create, which is read as one when it is used.

use awo_domain::Timestamp;
use awo_domain::schedule::{
    CatchUp, MAX_NAME, MAX_PAUSE_AFTER, MAX_TIMETABLE_TEXT, Overlap, USUAL_PAUSE_AFTER,
};
use serde_json::Value as Json;

use crate::body::Value;
use crate::field::{Field, flag, one_of, small, text, typed};
use crate::record::{Members, Record};
use crate::schema::{Schemas, input};
use crate::work_orders::input::NewWorkOrder;

/// The time zone of a schedule that names none.
const USUAL_TIMEZONE: &str = "UTC";

/// The body of a create or a change.
#[derive(Debug)]
pub struct ScheduleBody;

/// A schedule, as it was read; what is absent has a fault.
#[derive(Debug)]
pub struct ScheduleFields {
    /// Its name.
    pub name: Option<String>,
    /// The cron expression.
    pub cron: Option<String>,
    /// The time zone.
    pub timezone: String,
    /// The body of a create of a work order.
    pub work_order: Option<Json>,
    /// The treatment of times at which an earlier work order is not terminal.
    pub overlap: Overlap,
    /// The treatment of missed times.
    pub catch_up: CatchUp,
    /// Failures in a row after which it pauses.
    pub pause_after_failures: u32,
    /// The time before which it does not fire.
    pub starts_at: Option<Timestamp>,
    /// The time after which it does not fire.
    pub ends_at: Option<Timestamp>,
    /// False if it fires only by request.
    pub enabled: bool,
}

impl Record for ScheduleBody {
    type Output = ScheduleFields;

    fn members<M: Members>(&self, members: &mut M) -> Option<ScheduleFields> {
        Some(ScheduleFields::of(members))
    }
}

impl ScheduleFields {
    /// Reads or declares the members of a schedule.
    pub fn of<M: Members>(members: &mut M) -> ScheduleFields {
        let overlap = typed::<Overlap, _, _>(|name| one_of(name, Overlap::ALL, Overlap::as_str));
        let catch_up = typed::<CatchUp, _, _>(|name| one_of(name, CatchUp::ALL, CatchUp::as_str));
        let pause_after = small(1..=u64::from(MAX_PAUSE_AFTER));
        ScheduleFields {
            name: members.required("name", text(1..=MAX_NAME).described("For people.")),
            cron: members.required(
                "cron",
                text(1..=MAX_TIMETABLE_TEXT).described(
                    "Minute, hour, day of month, month and day of week: numbers, names, lists, ranges and \
                     steps. Times are at least five minutes apart.",
                ),
            ),
            timezone: members.defaulted(
                "timezone",
                text(1..=MAX_TIMETABLE_TEXT)
                    .described("The IANA name of the time zone on whose clock `cron` is read."),
                USUAL_TIMEZONE.to_owned(),
            ),
            work_order: members.required("workOrder", WorkOrderBody),
            overlap: members.defaulted(
                "overlap",
                overlap.described(
                    "At a time at which an earlier work order is not terminal: `skip` creates none, \
                     `queue` creates one unless one waits.",
                ),
                Overlap::Skip,
            ),
            catch_up: members.defaulted(
                "catchUp",
                catch_up.described(
                    "After an outage: `latest` fires the last missed time if it is less than an hour old, \
                     `none` fires none.",
                ),
                CatchUp::Latest,
            ),
            pause_after_failures: members.defaulted(
                "pauseAfterFailures",
                pause_after.described(
                    "Work orders that failed or were refused, in a row, after which it pauses.",
                ),
                USUAL_PAUSE_AFTER,
            ),
            starts_at: members.optional(
                "startsAt",
                moment().described("It does not fire before this time."),
            ),
            ends_at: members.optional(
                "endsAt",
                moment().described("It does not fire after this time."),
            ),
            enabled: members.defaulted(
                "enabled",
                flag().described("False if it fires only by request."),
                true,
            ),
        }
    }
}

fn moment() -> impl Field<Output = Timestamp> {
    typed::<Timestamp, _, _>(|text| Timestamp::parse(text).map_err(|why| why.to_string()))
}

/// The body of a create, as JSON.
struct WorkOrderBody;

impl Field for WorkOrderBody {
    type Output = Json;

    fn read(&self, value: Value) -> Option<Json> {
        value.json(|json| match json {
            Json::Object(_) => Ok(json),
            _ => Err("must be an object: the body of a create of a work order".to_owned()),
        })
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        let body = NewWorkOrder { allow_file: false }.schema(schemas);
        input(
            "ScheduledWorkOrderInput",
            "The body of a create of a work order, without `parentId`.",
            body,
        )
    }
}
