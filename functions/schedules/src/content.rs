//! The body of a schedule, with every fault: its own, those of its timetable, and those of its work order.

use awo_contract::body::{FaultList, Object};
use awo_contract::schedules::input::ScheduleFields;
use awo_domain::schedule::ScheduleContent;
use awo_domain::{Error, OrgId};
use awo_execution::opening::Opener;
use awo_execution::request::WorkOrderRequest;
use awo_schedules::{Timetable, TimetableFault};
use serde_json::Value;

/// Most bytes of a work order's body: a page of a hundred schedules is one answer.
const MAX_ORDER_BYTES: usize = 56 * 1_024;

/// A body, as it was read. The resources that its work order names are not known yet.
pub(crate) struct ScheduleRequest {
    fields: ScheduleFields,
    order: Option<WorkOrderRequest>,
    faults: FaultList,
}

impl ScheduleRequest {
    /// Reads a body. Faults are reported by [`ScheduleRequest::content`].
    pub fn read(mut body: Object, opener: &Opener) -> Result<ScheduleRequest, Error> {
        let fields = ScheduleFields::of(&mut body);
        let mut faults = body.close();
        check_times(&fields, &mut faults);
        let order = fields.work_order.clone();
        let order = order.map(|order| read_order(order, opener, &mut faults));
        Ok(ScheduleRequest {
            fields,
            order: order.transpose()?,
            faults,
        })
    }

    /// The content, if its work order could be created now, but for credits and a free place.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault; internal, when what it names cannot be read.
    pub async fn content(mut self, opener: &Opener, org: &OrgId) -> Result<ScheduleContent, Error> {
        if let Some(order) = self.order {
            match opener.check(org, order).await {
                Err(Error::Invalid(faults)) => {
                    for fault in faults {
                        let path = format!("/workOrder{}", fault.path);
                        self.faults.add(&path, fault.message);
                    }
                }
                checked => checked?,
            }
        }
        self.faults.finish(content(self.fields))
    }
}

fn content(fields: ScheduleFields) -> Option<ScheduleContent> {
    Some(ScheduleContent {
        name: fields.name?,
        cron: fields.cron?,
        timezone: fields.timezone,
        work_order: fields.work_order?.to_string(),
        overlap: fields.overlap,
        catch_up: fields.catch_up,
        pause_after_failures: fields.pause_after_failures,
        starts_at: fields.starts_at,
        ends_at: fields.ends_at,
        enabled: fields.enabled,
    })
}

fn check_times(fields: &ScheduleFields, faults: &mut FaultList) {
    if let Some(cron) = &fields.cron {
        for fault in Timetable::faults(cron, &fields.timezone) {
            let path = match fault {
                TimetableFault::Cron(_) => "/cron",
                TimetableFault::Timezone(_) => "/timezone",
            };
            faults.add(path, fault.to_string());
        }
    }
    if let (Some(start), Some(end)) = (fields.starts_at, fields.ends_at)
        && end <= start
    {
        faults.add("/endsAt", "must be later than startsAt");
    }
}

fn read_order(
    mut order: Value,
    opener: &Opener,
    faults: &mut FaultList,
) -> Result<WorkOrderRequest, Error> {
    if order.to_string().len() > MAX_ORDER_BYTES {
        let why = format!("must have at most {MAX_ORDER_BYTES} bytes as JSON");
        faults.add("/workOrder", why);
    }
    let parent = order
        .as_object_mut()
        .and_then(|order| order.remove("parentId"));
    if parent.is_some() {
        let why = "is not allowed in a schedule: its work orders have no parent";
        faults.add("/workOrder/parentId", why);
    }
    Ok(opener.read(Object::parse(order.to_string().as_bytes())?))
}
