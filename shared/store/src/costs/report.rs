//! Cost reports: sums of months and days, the records at the ends of a period, and the records that
//! are in no sums yet, all read in parallel. Dimensions without sums are counted from records.

use std::collections::BTreeMap;

use awo_domain::cost::measures::Measures;
use awo_domain::cost::record::CostRecord;
use awo_domain::cost::report::{Bucket, ReportQuery, Row, Rows, Source, month};
use awo_domain::cost::sums::{Cell, SumsOf};
use awo_domain::span::Span;
use awo_domain::{Error, OrgId, Timestamp, TransactionId};
use futures::future::try_join_all;

use crate::Store;
use crate::costs::SumsItem;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, Partition, cost_sums, costs, new_costs};
use crate::engine::list::Slice;
use crate::engine::table::conflict_pause;

/// Most records that a report is counted from where sums do not answer it.
const MAX_RECORDS: usize = 20_000;
/// Most of them in a reading.
const MAX_READ: u32 = 5_000;
/// How often a report is read that met additions to sums.
const TRIES: u32 = 6;

/// The sums of costs.
#[derive(Debug)]
pub struct CostReport {
    /// By what they are grouped by.
    pub rows: Vec<Row>,
    /// In all.
    pub totals: Measures,
}

/// The inputs of a report.
#[derive(Debug, Default)]
struct ReportParts {
    records: BTreeMap<TransactionId, CostRecord>,
    sums: Vec<SumsItem>,
}

impl ReportParts {
    /// True if none of the sums is younger than this.
    fn is_of(&self, number: u64) -> bool {
        self.sums.iter().all(|sums| sums.number <= number)
    }

    fn add(&mut self, records: Vec<CostRecord>) {
        let by_id = records.into_iter().map(|of| (of.id.clone(), of));
        self.records.extend(by_id);
    }

    fn report(&self, asked: &ReportQuery) -> CostReport {
        let mut rows = Rows::new(asked);
        self.records.values().for_each(|of| rows.add_record(of));
        self.sums.iter().for_each(|of| rows.add_sums(&of.sums));
        let (rows, totals) = rows.finish();
        CostReport { rows, totals }
    }
}

impl Store {
    /// What was booked in a period that has a start and an end.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it would be counted from too many records, or internal.
    pub async fn cost_report(
        &self,
        org: &OrgId,
        asked: &ReportQuery,
        now: Timestamp,
    ) -> Result<CostReport, Error> {
        let at_once = tokio::try_join!(
            self.cost_head(org),
            self.cost_records(org, new_costs(org), asked.span),
            Box::pin(self.added_costs(org, asked)),
        );
        let (head, new, mut read) = at_once?;
        if head.is_quiet(now) && read.is_of(head.number) {
            read.add(new);
            return Ok(read.report(asked));
        }
        for attempt in 0..TRIES {
            // In this order a record is missed in no place; one that is met twice is in younger sums.
            let head = self.cost_head(org).await?;
            let new = self.cost_records(org, new_costs(org), asked.span).await?;
            let mut read = Box::pin(self.added_costs(org, asked)).await?;
            if read.is_of(head.number) {
                read.add(new);
                return Ok(read.report(asked));
            }
            conflict_pause(attempt).await;
        }
        Err(Error::contended(
            "report: costs were added to sums all the time",
        ))
    }

    /// Sums that answer it with the records at the ends of the period, or all its records.
    async fn added_costs(&self, org: &OrgId, asked: &ReportQuery) -> Result<ReportParts, Error> {
        let mut read = ReportParts::default();
        let Source::Sums(dimension) = asked.source() else {
            read.add(self.cost_records(org, costs(org), asked.span).await?);
            return Ok(read);
        };
        let parts = asked.span.parts();
        let edges = parts.edges.into_iter().flatten();
        let edges = edges.map(|edge| self.cost_records(org, costs(org), edge));
        let mut slices = Vec::new();
        let dimension = dimension.map(SumsOf::Dimension);
        for of in std::iter::once(SumsOf::All).chain(dimension) {
            let days = parts.days.iter();
            slices.extend(days.flat_map(|days| self.sums_during(org, &of, *days, asked.bucket)));
        }
        let sums = slices.iter().map(|slice| async move {
            let mut all: Vec<SumsItem> = Vec::new();
            self.each(slice, |item| all.push(item)).await?;
            Ok::<_, Error>(all)
        });
        let (edges, sums) = tokio::try_join!(try_join_all(edges), try_join_all(sums))?;
        edges.into_iter().for_each(|records| read.add(records));
        read.sums = sums.into_iter().flatten().collect();
        Ok(read)
    }

    /// The records of a partition and a period.
    async fn cost_records(
        &self,
        org: &OrgId,
        partition: Partition,
        span: Span,
    ) -> Result<Vec<CostRecord>, Error> {
        let mut all: Vec<CostRecord> = Vec::new();
        if span.is_empty() {
            return Ok(all);
        }
        let first = span.from.unwrap_or(Timestamp::from_epoch_ms(0));
        let last = span
            .until
            .map_or(Timestamp::from_epoch_ms(i64::MAX), |at| at.plus_ms(-1));
        let (low, high) = (
            TransactionId::new(first, 0),
            TransactionId::new(last, u128::MAX),
        );
        let slice = Slice::of_partition(partition.clone())
            .between(low.as_str(), high.as_str())
            .limit(MAX_READ);
        let is_new = partition.kind == ItemKind::NewCost;
        let mut after = None;
        loop {
            let page = self.slice::<CostRecord>(slice.clone().after(after)).await?;
            after = page.items.last().map(|record| {
                let key = if is_new {
                    Key::new_cost(org, &record.id)
                } else {
                    Key::cost(org, &record.id)
                };
                key.to_item()
            });
            all.extend(page.items);
            if !page.has_more {
                return Ok(all);
            }
            if all.len() > MAX_RECORDS {
                return Err(Error::invalid(
                    "from",
                    "begins a period of too many runs for these filters: ask for a shorter one, or \
                     for one dimension alone",
                ));
            }
        }
    }

    /// Sums of everything, or of a dimension, in a period of whole days: months where it has whole
    /// ones and days are not asked for, and days.
    fn sums_during(&self, org: &OrgId, of: &SumsOf, days: Span, bucket: Bucket) -> Vec<Slice> {
        let (Some(from), Some(until)) = (days.from, days.until) else {
            return Vec::new();
        };
        let slice = |is_days: bool, from: Timestamp, until: Timestamp| {
            let prefix = Cell::prefix(of, is_days);
            let period = |at: Timestamp| {
                if is_days {
                    at.day()
                } else {
                    at.day().chars().take(7).collect()
                }
            };
            // Of the last one, everything that goes on with `#`.
            let (low, high) = (period(from), period(until.plus_ms(-1)));
            let slice = Slice::of_partition(cost_sums(org));
            (from < until)
                .then(|| slice.between(format!("{prefix}{low}#"), format!("{prefix}{high}$")))
        };
        let first = if month(from, 0) == from {
            from
        } else {
            month(from, 1)
        };
        let last = month(until, 0);
        let slices = if first < last && bucket != Bucket::Day {
            vec![
                slice(true, from, first),
                slice(false, first, last),
                slice(true, last, until),
            ]
        } else {
            vec![slice(true, from, until)]
        };
        slices.into_iter().flatten().collect()
    }
}
