//! Lists of work orders. They are ordered by id, which never changes, so a cursor stays valid
//! whatever is added or changed meanwhile.

use awo_domain::{Error, OrgId, WorkOrderId};

use super::{WorkOrder, WorkOrderFilter};
use crate::Store;
use crate::engine::item::{Item, work_orders_with};
use crate::engine::item_kind::Table;
use crate::engine::key::{Key, children_of, work_orders};
use crate::engine::list::{Page, Slice};
use crate::engine::schema::{BY_PARENT, BY_STATUS};
use crate::queue::tally::Tally;

impl Store {
    /// Work orders, newest first, and how many there are in all.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn work_orders(
        &self,
        org: &OrgId,
        filter: &WorkOrderFilter,
        (limit, skip): (u32, u32),
        after: Option<&WorkOrderId>,
    ) -> Result<(Page<WorkOrder>, u64), Error> {
        if let Some(thread) = &filter.thread_id {
            return self
                .listed_turns(org, thread, filter, (limit, skip), after)
                .await;
        }
        let status = filter.status.map(|status| status.as_str().to_owned());
        let index = match (&filter.parent_id, filter.status) {
            (Some(parent), _) => Some((BY_PARENT, "parentKey", children_of(org, parent).pk)),
            (None, Some(status)) => Some((BY_STATUS, "statusKey", work_orders_with(org, status))),
            (None, None) => None,
        };
        let start = index.clone().map(|(_, name, partition)| (name, partition));
        let start = after.map(|id| start_after(org, id, start));
        let slice = match index {
            Some((index, name, partition)) => Slice::of_index(Table::Work, index, name, partition)
                .filter("status", filter.parent_id.as_ref().and(status)),
            None => Slice::of_partition(work_orders(org)),
        }
        .newest_first()
        .filter("tenantContext.tenantId", filter.tenant_id.clone())
        .filter("tenantContext.tenantUserId", filter.tenant_user_id.clone())
        .filter(
            "origin.scheduleId",
            filter.schedule_id.as_ref().map(ToString::to_string),
        )
        .filter(
            "origin.triggerId",
            filter.trigger_id.as_ref().map(ToString::to_string),
        );
        let by_tally = filter.tenant_id.is_none()
            && filter.tenant_user_id.is_none()
            && filter.parent_id.is_none()
            && filter.schedule_id.is_none()
            && filter.trigger_id.is_none();
        let total = async {
            let whole = slice.clone();
            if by_tally {
                self.tally(org)
                    .await
                    .map(|t: Tally| t.work_orders(filter.status))
            } else {
                self.count(&whole).await
            }
        };
        tokio::try_join!(
            self.slice(slice.clone().limit(limit).skip(skip).after(start)),
            total
        )
    }
}

impl Store {
    /// The turns of a thread, newest first. There are few enough to be read whole.
    async fn listed_turns(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        filter: &WorkOrderFilter,
        (limit, skip): (u32, u32),
        after: Option<&WorkOrderId>,
    ) -> Result<(Page<WorkOrder>, u64), Error> {
        let thread = self.thread(org, id).await?;
        let mut turns = self.turns(org, id, &thread).await?;
        turns.retain(|turn| turn.thread_id() == id && filter.includes(turn));
        turns.sort_by(|one, other| other.id.cmp(&one.id));
        let total = u64::try_from(turns.len()).unwrap_or(u64::MAX);
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let mut rest = (turns.into_iter())
            .filter(|turn| after.is_none_or(|after| turn.id < *after))
            .skip(size(skip));
        let items: Vec<WorkOrder> = rest.by_ref().take(size(limit)).collect();
        let has_more = rest.next().is_some();
        Ok((Page { items, has_more }, total))
    }
}

impl WorkOrderFilter {
    /// True if a work order is as the filter says, its thread aside. One with a parent is no turn.
    fn includes(&self, order: &WorkOrder) -> bool {
        let tenant = order.terms.tenant_context.as_ref();
        let user = tenant.and_then(|tenant| tenant.tenant_user_id.as_deref());
        let is_same = |wanted: &Option<String>, have: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == have
        };
        order.terms.parent_id.is_none()
            && self.parent_id.is_none()
            && self.status.is_none_or(|status| status == order.status)
            && is_same(
                &self.tenant_id,
                tenant.map(|tenant| tenant.tenant_id.as_str()),
            )
            && is_same(&self.tenant_user_id, user)
            && self.is_by_origin(order)
    }

    fn is_by_origin(&self, order: &WorkOrder) -> bool {
        let origin = order.origin.as_ref();
        let schedule = origin.and_then(|origin| origin.schedule_id.as_ref());
        let trigger = origin.and_then(|origin| origin.trigger_id.as_ref());
        (self.schedule_id.is_none() || self.schedule_id.as_ref() == schedule)
            && (self.trigger_id.is_none() || self.trigger_id.as_ref() == trigger)
    }
}

/// The place behind a work order, in the table or in a partition of an index.
pub(crate) fn start_after(
    org: &OrgId,
    id: &WorkOrderId,
    index: Option<(&'static str, String)>,
) -> Item {
    let mut key = Key::work_order(org, id).to_item();
    if let Some((name, partition)) = index {
        key.insert(name.to_owned(), crate::engine::change::value(partition));
    }
    key
}
