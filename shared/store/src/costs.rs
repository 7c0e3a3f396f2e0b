//! Costs of runs and refunds, written with the ledger's entries: one record each, which never
//! changes. A record is new until it is added to the sums by day and month; the transaction that
//! adds it removes it from the new ones, so it is counted once, and sums and new records together
//! are complete. A settlement writes its record, and counts it in the outcome of its thread: the sums have one
//! writer at a time, and no request conflicts with it.

pub mod backfill;
pub mod policy;
pub mod report;
pub mod sums;

use std::collections::{BTreeMap, BTreeSet};

use awo_domain::cost::Attribution;
use awo_domain::cost::record::{ChargeInputs, CostRecord};
use awo_domain::cost::sums::{Cell, LabelValues, Sums};
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, RunId, Timestamp, TransactionId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::Table;
use crate::engine::key::{DUE_COSTS, Key, cost_heads, new_costs};
use crate::engine::list::Slice;
use crate::engine::table::read;
use crate::engine::transaction::Transaction;
use crate::ledger::credits::SettlementItem;
use crate::runs::lifecycle::settle::Settling;
use crate::sweep::{DueCursor, DuePage};

/// How long a record stays new at least: those that come meanwhile are added with it.
const GATHER_MS: i64 = 10 * 60_000;
/// Most records that are added together.
const MAX_RECORDS: u32 = 40;
/// What was read at once is of one moment if nothing was added to sums for so long: longer than a
/// reading takes, and than clocks are apart.
const QUIET_MS: i64 = 60_000;
/// Most items of a transaction, less the head.
const MAX_ITEMS: usize = 99;

/// A record that is not in the sums yet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NewCost<'a> {
    #[serde(flatten)]
    record: &'a CostRecord,
    org_id: &'a OrgId,
    due_shard: &'a str,
    due_at: i64,
    v: u32,
}

/// A record that is.
#[derive(Debug, Serialize)]
struct OldCost<'a> {
    #[serde(flatten)]
    record: &'a CostRecord,
    v: u32,
}

/// How often an organization's records were added to its sums.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    pub number: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    v: u32,
}

/// Sums as they are stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SumsItem {
    #[serde(flatten)]
    pub sums: Sums,
    /// Which addition was the last.
    pub number: u64,
    v: u32,
}

/// The values of a cost label.
#[derive(Debug, Serialize, Deserialize)]
struct ValuesItem {
    values: BTreeSet<String>,
    v: u32,
}

/// The head, or the values of a cost label.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HeadOrValues {
    sk: String,
    number: u64,
    at: Option<Timestamp>,
    values: BTreeSet<String>,
}

/// Records that are added together.
struct Addition<'a> {
    /// With the sums that each is added to.
    taken: Vec<(&'a CostRecord, Vec<Cell>)>,
    cells: BTreeSet<Cell>,
    /// The values of cost labels with theirs.
    values: LabelValues,
}

impl Head {
    /// True if what was read at once is of one moment: nothing was added for a while.
    pub fn is_quiet(&self, now: Timestamp) -> bool {
        self.at.is_none_or(|at| now.ms_since(at) >= QUIET_MS)
    }
}

impl Addition<'_> {
    /// As many of these records as a transaction takes: one at least.
    fn of(records: &[CostRecord], values: LabelValues) -> Addition<'_> {
        let mut addition = Addition {
            taken: Vec::new(),
            cells: BTreeSet::new(),
            values,
        };
        for record in records {
            let (mut cells, mut values) = (addition.cells.clone(), addition.values.clone());
            let own = Cell::all_of(record, &mut values);
            cells.extend(own.iter().cloned());
            // A record is deleted here and written there, and each label may have a new value.
            let items = cells.len() + 2 * (addition.taken.len() + 1) + values.0.len();
            if items > MAX_ITEMS && !addition.taken.is_empty() {
                break;
            }
            (addition.cells, addition.values) = (cells, values);
            addition.taken.push((record, own));
        }
        addition
    }

    fn transaction(
        &self,
        org: &OrgId,
        (sums, number): (BTreeMap<Cell, Sums>, u64),
        known: &LabelValues,
    ) -> Result<Transaction, Error> {
        let v = SCHEMA_VERSION;
        let mut transaction = Transaction::new();
        for (record, _) in &self.taken {
            let there = Change::new().when_present("pk");
            let (new, old) = (Key::new_cost(org, &record.id), Key::cost(org, &record.id));
            transaction = transaction
                .delete(&new, there)
                .put(&old, &OldCost { record, v })?;
        }
        for (cell, sums) in sums {
            let item = SumsItem { sums, number, v };
            let key = Key::cost_sums(org, &cell.name());
            transaction = transaction.put_when(&key, &item, Change::new())?;
        }
        let changed = |of: &(&String, &BTreeSet<String>)| known.0.get(of.0) != Some(of.1);
        for (label, values) in self.values.0.iter().filter(changed) {
            let values = values.clone();
            let key = Key::cost_values(org, label);
            let item = ValuesItem { values, v };
            transaction = transaction.put_when(&key, &item, Change::new())?;
        }
        Ok(transaction)
    }
}

impl Settling<'_> {
    /// What is written down of it.
    fn record(&self) -> CostRecord {
        let run = self.run;
        let charged = ChargeInputs {
            usage: self.usage,
            compute_ms: self.charge.compute_ms,
            cost: self.charge.cost,
            is_free: self.charge.is_free,
            deduction: self.settled.deduction,
        };
        CostRecord {
            id: self.charge.transaction_id.clone(),
            at: self.charge.transaction_id.made_at(),
            run_id: run.run_id.clone(),
            verification_id: None,
            work_order_id: Some(run.work_order_id.clone()),
            outcome: Some(self.outcome),
            tenant_context: run.tenant_context.clone(),
            attribution: run.attribution.clone(),
            is_refund: false,
            price_list: (run.price_list.clone())
                .filter(|_| self.settled.deduction > MicroCredits::ZERO),
            parts: charged.parts(Some(self.outcome)),
        }
    }
}

impl Transaction {
    /// Writes down what a run cost.
    pub(crate) fn record_cost(self, org: &OrgId, of: &Settling<'_>) -> Result<Transaction, Error> {
        self.add_cost(org, &of.record())
    }

    /// Writes the record of a booking in the same transaction, which counts in the outcome of its thread.
    pub(crate) fn add_cost(self, org: &OrgId, record: &CostRecord) -> Result<Transaction, Error> {
        self.count_in_outcome(org, record).put_cost(org, record)
    }

    /// Writes a record.
    pub(crate) fn put_cost(self, org: &OrgId, record: &CostRecord) -> Result<Transaction, Error> {
        let item = NewCost {
            record,
            org_id: org,
            due_shard: DUE_COSTS,
            due_at: record.at.plus_ms(GATHER_MS).epoch_ms(),
            v: SCHEMA_VERSION,
        };
        let key = Key::new_cost(org, &record.id);
        self.put(&key, &item)
    }
}

impl Store {
    /// The record of a refund, put down to what the run was.
    pub(crate) async fn refund_record(
        &self,
        org: &OrgId,
        id: &TransactionId,
        (run, amount): (&RunId, MicroCredits),
        settled: Option<&SettlementItem>,
    ) -> Result<CostRecord, Error> {
        let of = match settled.and_then(|settled| settled.charge.as_ref()) {
            Some(charge) => self.cost_record(org, charge).await?,
            None => None,
        };
        let mut record = CostRecord::refund(id, (run, amount), of.as_ref());
        if of.is_none() {
            // A run from before there were records, unless it was purged.
            if let Some(run) = self.run(org, run).await? {
                record.work_order_id = Some(run.work_order_id);
                record.outcome = Some(run.status);
                record.tenant_context = run.tenant_context;
                record.attribution = run.attribution;
            }
        }
        Ok(record)
    }

    /// A record. The new ones are searched first: it leaves these for the others.
    pub(crate) async fn cost_record(
        &self,
        org: &OrgId,
        id: &TransactionId,
    ) -> Result<Option<CostRecord>, Error> {
        match self.get(&Key::new_cost(org, id)).await? {
            Some(record) => Ok(Some(record)),
            None => self.get(&Key::cost(org, id)).await,
        }
    }

    /// Organizations that have records for their sums, once for each record, oldest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due_costs(
        &self,
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<OrgId>, Error> {
        let partition = (Table::Work, DUE_COSTS.to_owned());
        let page = self.due_keys(partition, after, now, limit).await?;
        Ok(page.owners())
    }

    /// Adds new records of an organization to its sums, those that are new longest first. True if
    /// there are more.
    ///
    /// # Errors
    /// [`Error::Contended`] if another addition was faster, or internal.
    pub async fn add_costs(&self, org: &OrgId, now: Timestamp) -> Result<bool, Error> {
        let head = self.cost_head(org).await?;
        let new = Slice::of_partition(new_costs(org)).limit(MAX_RECORDS);
        let new = self.slice::<CostRecord>(new).await?;
        if new.items.is_empty() {
            return Ok(false);
        }
        let known = self.label_values(org, &new.items).await?;
        let addition = Addition::of(&new.items, known.clone());
        let mut sums = self.sums_of(org, &addition.cells).await?;
        for (record, own) in &addition.taken {
            for cell in own {
                let sums = sums.entry(cell.clone()).or_insert_with(|| cell.empty());
                cell.add(sums, record);
            }
        }
        let next = Head {
            number: head.number + 1,
            at: Some(now),
            v: SCHEMA_VERSION,
        };
        let same = (head.number > 0).then_some(head.number);
        let committed = addition
            .transaction(org, (sums, next.number), &known)?
            .put_when(
                &Key::cost_head(org),
                &next,
                Change::new().when_option("number", same),
            )?
            .commit(self)
            .await?;
        if committed.is_yes() {
            Ok(new.has_more || addition.taken.len() < new.items.len())
        } else {
            Err(Error::contended("costs: another addition was faster"))
        }
    }

    pub(crate) async fn cost_head(&self, org: &OrgId) -> Result<Head, Error> {
        let head = self.get(&Key::cost_head(org)).await?;
        Ok(head.unwrap_or_default())
    }

    /// The head, and the distinct values of all cost labels.
    pub(crate) async fn head_and_values(&self, org: &OrgId) -> Result<(Head, LabelValues), Error> {
        let (mut head, mut values) = (Head::default(), LabelValues::default());
        let add = |item: HeadOrValues| match item.sk.strip_prefix("label#") {
            Some(label) => drop(values.0.insert(label.to_owned(), item.values)),
            None => (head.number, head.at) = (item.number, item.at),
        };
        self.each(&Slice::of_partition(cost_heads(org)), add)
            .await?;
        Ok((head, values))
    }

    /// The distinct values of the labels that records have.
    async fn label_values(
        &self,
        org: &OrgId,
        records: &[CostRecord],
    ) -> Result<LabelValues, Error> {
        let of = records
            .iter()
            .filter_map(|record| record.attribution.as_ref());
        let labels: BTreeSet<&String> = of.flat_map(|of: &Attribution| of.labels.keys()).collect();
        let mut values = LabelValues::default();
        if labels.is_empty() {
            return Ok(values);
        }
        let key = |label: &&String| Key::cost_values(org, label);
        let mut found = self.batch(labels.iter().map(key)).await?;
        for label in &labels {
            if let Some(item) = found.remove(&key(label)) {
                let item: ValuesItem = read(item)?;
                values.0.insert((*label).clone(), item.values);
            }
        }
        Ok(values)
    }

    /// Sums as they are, at most a hundred.
    async fn sums_of(
        &self,
        org: &OrgId,
        cells: &BTreeSet<Cell>,
    ) -> Result<BTreeMap<Cell, Sums>, Error> {
        let key = |cell: &Cell| Key::cost_sums(org, &cell.name());
        let mut found = self.batch(cells.iter().map(key)).await?;
        let mut sums = BTreeMap::new();
        for cell in cells {
            if let Some(item) = found.remove(&key(cell)) {
                let item: SumsItem = read(item)?;
                sums.insert(cell.clone(), item.sums);
            }
        }
        Ok(sums)
    }
}
