//! The end of a run, as one transaction: run and work order terminal, the hold resolved, the
//! event told. A settlement that is written once cannot be written again, so whatever comes
//! twice, nothing is charged twice.

use awo_domain::event::Lifecycle;
use awo_domain::ledger::{Settlement, TransactionType, settle};
use awo_domain::money::MicroCredits;
use awo_domain::run::{RunError, RunEvent, RunStatus};
use awo_domain::work_order::{WorkOrderEvent, WorkOrderStatus};
use awo_domain::{Error, OrgId, Timestamp, TransactionId};

use crate::Store;
use crate::change::Change;
use crate::credits::{LedgerEntry, SettlementItem};
use crate::item::{Key, SCHEMA_VERSION, runs_with, work_orders_with};
use crate::lease::STOPPING_MS;
use crate::moves::{after_order, after_run};
use crate::runs::{Cost, PricedUsage, Run};
use crate::transaction::{Guard, Transaction};

/// How a run ends.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Why it failed; none if it succeeded.
    pub error: Option<RunError>,
    /// Iterations begun.
    pub iterations: u32,
    /// The last commit.
    pub commit: Option<String>,
    /// The branch on the origin.
    pub branch: Option<String>,
    /// What it used.
    pub usage: Vec<PricedUsage>,
    /// What that costs, before the hold limits it.
    pub cost: MicroCredits,
    /// The ledger entry's id, if one is needed.
    pub transaction_id: TransactionId,
}

/// Who ends a run: the condition on its lease.
pub(crate) enum Ender<'a> {
    /// The runner, by its token and the highest event number it knows to be kept.
    Runner {
        token_hash: &'a str,
        reported: u64,
        now_reported: u64,
    },
    /// The service, whoever holds the lease.
    Service,
}

impl Store {
    /// Ends a run whose runner cannot: its compute is lost or never came. False if it was over.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_lost_run(
        &self,
        org: &OrgId,
        run: &Run,
        ending: &Ending,
        now: Timestamp,
    ) -> Result<bool, Error> {
        if run.status.is_terminal() {
            return Ok(false);
        }
        let end = End {
            org,
            stored: run,
            run,
            ending,
            ender: &Ender::Service,
            now,
        };
        Ok(end
            .add_to(Transaction::new(), self)?
            .commit(self)
            .await?
            .is_yes())
    }

    /// Gives the slot back: the run is over and its compute is known to be gone. False if it
    /// was given back before.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn return_slot(&self, org: &OrgId, run: &Run, now: Timestamp) -> Result<bool, Error> {
        let work = &self.tables.work;
        let committed = Transaction::new()
            .delete(
                Guard::Lease,
                work,
                &Key::lease(org, &run.run_id),
                Change::new().when_present("closedAt"),
            )?
            .update(
                Guard::Tally,
                work,
                &Key::tally(org),
                Change::new().add("slots", -1),
            )?
            .update(
                Guard::Run,
                work,
                &Key::run(org, &run.run_id),
                Change::new()
                    .set("computeStoppedAt", now)
                    .when_present("runId"),
            )?
            .commit(self)
            .await?;
        Ok(committed.is_yes())
    }
}

/// The end of a run, to be added to a transaction.
pub(crate) struct End<'a> {
    pub org: &'a OrgId,
    /// The run as it is stored; the conditions are on it.
    pub stored: &'a Run,
    /// The run after the events that the same transaction tells.
    pub run: &'a Run,
    pub ending: &'a Ending,
    pub ender: &'a Ender<'a>,
    pub now: Timestamp,
}

impl End<'_> {
    pub fn add_to(&self, transaction: Transaction, store: &Store) -> Result<Transaction, Error> {
        let End {
            org,
            stored,
            run,
            ending,
            now,
            ..
        } = *self;
        let settled = settle(MicroCredits::from_micro(run.hold_micro), ending.cost);
        let (run_event, order_event) = match ending.error {
            None => (RunEvent::Succeeded, WorkOrderEvent::Succeeded),
            Some(_) => (RunEvent::Failed, WorkOrderEvent::Failed),
        };
        let status = after_run(run.status, run_event)?;
        let order_status = after_order(WorkOrderStatus::Running, order_event)?;
        let order = Change::new()
            .set("status", order_status)
            .set("statusKey", work_orders_with(org, order_status))
            .when("status", WorkOrderStatus::Running)
            .when("runId", &run.run_id);
        let tally = Change::new()
            .count_work_order(Some(WorkOrderStatus::Running), order_status)
            .count_run(Some(stored.status), status);
        let ended = Lifecycle::Ended {
            status,
            iterations: ending.iterations,
            error: ending.error.clone(),
            started_at: run.started_at.unwrap_or(run.created_at),
            completed_at: now,
            credits: settled.deduction,
        };
        let work = &store.tables.work;
        transaction
            .update(
                Guard::Lease,
                work,
                &Key::lease(org, &run.run_id),
                close_lease(self.ender, now),
            )?
            .update(
                Guard::Run,
                work,
                &Key::run(org, &run.run_id),
                self.ended_run(status, settled),
            )?
            .update(
                Guard::WorkOrder,
                work,
                &Key::work_order(org, &run.work_order_id),
                order,
            )?
            .update(Guard::Tally, work, &Key::tally(org), tally)?
            .tell(
                store,
                &run.subject(org),
                run.last_sequence + 1,
                ended.to_parts(),
                now,
            )?
            .record_usage(store, org, run, &ending.usage, now)?
            .settle(store, self, settled)
    }

    fn ended_run(&self, status: RunStatus, settled: Settlement) -> Change {
        let End {
            org,
            stored,
            run,
            ending,
            now,
            ..
        } = *self;
        let usd_nano = PricedUsage::total(&ending.usage).nano();
        Change::new()
            .set("status", status)
            .set("statusKey", runs_with(org, status))
            .set("completedAt", now)
            .set("iteration", ending.iterations)
            .set("usage", &ending.usage)
            .set(
                "cost",
                Cost {
                    credits_micro: settled.deduction.micro(),
                    usd_nano,
                },
            )
            .set("lastSequence", run.last_sequence + 1)
            .set_some("workDir", run.work_dir.as_ref())
            .set_some("commit", ending.commit.as_ref().or(run.commit.as_ref()))
            .set_some("branch", ending.branch.as_ref())
            .set_some("error", ending.error.as_ref())
            .remove("phase")
            .when("status", stored.status)
            .when("lastSequence", stored.last_sequence)
    }
}

/// The lease of a run that is over: closed for the runner, and due when its compute should be gone.
fn close_lease(ender: &Ender<'_>, now: Timestamp) -> Change {
    let change = Change::new()
        .set("closedAt", now)
        .set("dueAt", now.plus_ms(STOPPING_MS).epoch_ms())
        .remove("nonce");
    match ender {
        Ender::Runner {
            token_hash,
            reported,
            now_reported,
        } => change
            .set("reported", now_reported)
            .when("reported", reported)
            .when("tokenHash", token_hash)
            .when_missing("closedAt"),
        Ender::Service => change.when_present("runId").when_missing("closedAt"),
    }
}

impl Transaction {
    /// Resolves the hold of a run: hold = deduction + release, once.
    fn settle(
        self,
        store: &Store,
        end: &End<'_>,
        settled: Settlement,
    ) -> Result<Transaction, Error> {
        let End {
            org,
            run,
            ending,
            now,
            ..
        } = *end;
        let item = SettlementItem {
            deduction_micro: settled.deduction.micro(),
            release_micro: settled.release.micro(),
            settled_at: now,
            v: SCHEMA_VERSION,
        };
        let charged = settled.deduction > MicroCredits::ZERO;
        let balance = Change::new()
            .add("balance", -settled.deduction.micro())
            .add("reserved", -run.hold_micro)
            .add("available", settled.release.micro())
            .add("entries", i64::from(charged))
            .set("updatedAt", now)
            .compare("balance", ">=", settled.deduction.micro())
            .compare("reserved", ">=", run.hold_micro);
        let ledger = &store.tables.ledger;
        let transaction = self
            .put(
                Guard::Settlement,
                ledger,
                &Key::settlement(org, &run.run_id),
                &item,
            )?
            .update(Guard::Balance, ledger, &Key::balance(org), balance)?;
        if !charged {
            return Ok(transaction);
        }
        let tenant = run.tenant_context.as_ref();
        let entry = LedgerEntry {
            id: ending.transaction_id.clone(),
            kind: TransactionType::Deduction,
            amount_micro: settled.deduction.micro(),
            run_id: Some(run.run_id.clone()),
            tenant_id: tenant.map(|t| t.tenant_id.clone()),
            tenant_user_id: tenant.and_then(|t| t.tenant_user_id.clone()),
            created_at: now,
            v: SCHEMA_VERSION,
        };
        transaction.put(
            Guard::LedgerEntry,
            ledger,
            &Key::ledger_entry(org, &entry.id),
            &entry,
        )
    }
}
