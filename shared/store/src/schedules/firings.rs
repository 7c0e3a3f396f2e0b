//! Firings of schedules. Each time of a schedule has one at most, which is what makes a time create one work
//! order however often it is come to.

use awo_domain::schedule::{FIRINGS_KEPT_MS, Firing};
use awo_domain::{Error, OrgId, ScheduleId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{Key, firings};
use crate::engine::list::{Page, Slice};
use crate::engine::transaction::Transaction;

/// A firing as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FiringItem {
    #[serde(flatten)]
    firing: Firing,
    /// Unix seconds after which DynamoDB may remove it.
    ttl: i64,
    v: u32,
}

impl Transaction {
    /// Records a firing, which its time must not have yet.
    pub(super) fn firing(
        self,
        org: &OrgId,
        schedule: &ScheduleId,
        firing: &Firing,
    ) -> Result<Transaction, Error> {
        let item = FiringItem {
            firing: firing.clone(),
            ttl: firing
                .scheduled_for
                .plus_ms(FIRINGS_KEPT_MS)
                .epoch_seconds(),
            v: SCHEMA_VERSION,
        };
        self.put(&Key::firing(org, schedule, firing.scheduled_for), &item)
    }
}

impl Store {
    /// Firings of a schedule of the last 90 days, newest first, after the one of a time, and how many there
    /// are in all.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn firings(
        &self,
        org: &OrgId,
        schedule: &ScheduleId,
        (limit, skip): (u32, u32),
        after: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(Page<Firing>, u64), Error> {
        let oldest = now.plus_ms(-FIRINGS_KEPT_MS);
        let slice = Slice::of_partition(firings(org))
            .between(format!("{schedule}#{oldest}"), format!("{schedule}#~"))
            .newest_first();
        let after = after.map(|time| Key::firing(org, schedule, time).to_item());
        let page = slice.clone().limit(limit).skip(skip).after(after);
        let (page, total) = tokio::try_join!(self.slice::<FiringItem>(page), self.count(&slice))?;
        let items = page.items.into_iter().map(|item| item.firing).collect();
        let has_more = page.has_more;
        Ok((Page { items, has_more }, total))
    }
}
