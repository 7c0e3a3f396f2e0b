//! The ledger: entries that are only added, holds that are resolved once, and a balance that is
//! always their sum and never below zero.

mod parts;

pub use parts::EntryParts;

use awo_domain::ledger::{Purpose, TransactionType};
use awo_domain::money::MicroCredits;
use awo_domain::span::Span;
use awo_domain::statement::Month;
use awo_domain::{Error, OrgId, RunId, Timestamp, TransactionId, VerificationId, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{Item, SCHEMA_VERSION};
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, ledger_entries};
use crate::engine::list::{Page, Slice};
use crate::engine::table::read;
use crate::engine::transaction::{CommitOutcome, Refusal, Transaction};
use crate::ledger::budgets::Move;

/// A balance as it is stored, in micro-credits. `available` is `balance - reserved`, stored so
/// that a condition can speak of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BalanceItem {
    /// Sum of all entries.
    pub balance: i64,
    /// Sum of all open holds.
    pub reserved: i64,
    /// What a new hold can take.
    pub available: i64,
    /// Number of entries.
    #[serde(default)]
    pub entries: u64,
    /// Number of changes: two reads of the same number prove that nothing changed in between.
    #[serde(default)]
    pub changes: u64,
    /// The first month of which sums have all that a statement needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summed_from: Option<Month>,
    /// Since when the organization knows that what is available is below its threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_since: Option<Timestamp>,
    /// Last change.
    pub updated_at: Timestamp,
    /// Shape of this item.
    pub v: u32,
}

/// An entry of the ledger.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LedgerEntry {
    /// Its id.
    pub id: TransactionId,
    /// Its type, which decides the direction.
    #[serde(rename = "type")]
    pub kind: TransactionType,
    /// Micro-credits, always positive.
    pub amount_micro: i64,
    /// The run that was paid for or refunded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The manual verification of that run's workspace that was paid for or refunded; none for the run
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_id: Option<VerificationId>,
    /// The run's work order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_order_id: Option<WorkOrderId>,
    /// The run's tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// The run's tenant user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_user_id: Option<String>,
    /// Of a deduction, what it is for.
    #[serde(flatten)]
    pub parts: EntryParts,
    /// Of a deduction, the version of the price list that the run was priced by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_list: Option<String>,
    /// When the run ended or was charged, if that was in an earlier month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Timestamp>,
    /// Of a purchase or a refund, how it came about.
    #[serde(flatten)]
    pub booking: Booking,
    /// When it was made: the time in its id, so that ranges of ids are ranges of time.
    pub created_at: Timestamp,
    /// Shape of this item.
    pub v: u32,
}

impl LedgerEntry {
    /// The work that a deduction or a refund is of.
    #[must_use]
    pub fn purpose(&self) -> Option<Purpose> {
        match (&self.verification_id, &self.run_id) {
            (Some(_), _) => Some(Purpose::Verification),
            (None, Some(_)) => Some(Purpose::Run),
            (None, None) => None,
        }
    }
}

/// How a purchase or a refund came about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Booking {
    /// The person or program that added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// An invoice, an order, a ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// How a hold was resolved, stored for ever.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettlementItem {
    /// Taken from the balance.
    pub deduction_micro: i64,
    /// No longer reserved, and not taken.
    pub release_micro: i64,
    /// When it was settled.
    pub settled_at: Timestamp,
    /// The id of what it is recorded as, if it had compute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<TransactionId>,
    /// Shape of this item.
    pub v: u32,
}

/// Which entries to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryFilter {
    /// Made in this period.
    pub span: Span,
    /// Of one type.
    pub kind: Option<TransactionType>,
    /// Of one tenant.
    pub tenant_id: Option<String>,
    /// Of one user of a tenant.
    pub tenant_user_id: Option<String>,
}

impl EntryFilter {
    /// An entry's id begins with the time at which it was made, so a period is a range of ids.
    fn slice(&self, org: &OrgId) -> Slice {
        let (first, last) = (
            Timestamp::from_epoch_ms(0),
            Timestamp::from_epoch_ms(i64::MAX),
        );
        let until = self.span.until.map_or(last, |until| until.plus_ms(-1));
        let low = TransactionId::new(self.span.from.unwrap_or(first), 0);
        let high = TransactionId::new(until, u128::MAX);
        let slice = Slice::of_partition(ledger_entries(org));
        let slice = match self.span {
            Span {
                from: None,
                until: None,
            } => slice,
            // A range must not end before it begins; nothing is in this one.
            span if span.is_empty() => slice.between(low.as_str(), low.as_str()),
            _ => slice.between(low.as_str(), high.as_str()),
        };
        slice
            .filter("type", self.kind.map(|kind| kind.as_str().to_owned()))
            .filter("tenantId", self.tenant_id.clone())
            .filter("tenantUserId", self.tenant_user_id.clone())
    }
}

impl Change {
    /// A balance of which so much more is reserved, if it is there; less, if it is negative.
    pub(crate) fn reserve(self, more_micro: i64, now: Timestamp) -> Change {
        self.add("reserved", more_micro)
            .add("available", -more_micro)
            .add("changes", 1)
            .set("updatedAt", now)
            .compare("available", ">=", more_micro)
    }
}

/// The refusal of a hold, for the caller.
pub(crate) fn insufficient(needed: MicroCredits, balance: Option<Item>) -> Result<Error, Error> {
    let available = match balance {
        Some(item) => read::<BalanceItem>(item)?.available,
        None => 0,
    };
    Ok(Error::InsufficientCredits {
        needed: needed.to_decimal(),
        available: MicroCredits::from_micro(available).to_decimal(),
    })
}

impl Store {
    /// The balance of an organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails or the organization has none.
    pub async fn balance(&self, org: &OrgId) -> Result<BalanceItem, Error> {
        let balance = self.get(&Key::balance(org)).await?;
        balance.ok_or_else(|| Error::internal("the organization has no balance"))
    }

    /// Entries, newest first, and how many there are in all.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn ledger_entries(
        &self,
        org: &OrgId,
        filter: &EntryFilter,
        (limit, skip): (u32, u32),
        after: Option<&TransactionId>,
    ) -> Result<(Page<LedgerEntry>, u64), Error> {
        let whole = filter.slice(org);
        let slice = whole
            .clone()
            .newest_first()
            .limit(limit)
            .skip(skip)
            .after(after.map(|id| Key::ledger_entry(org, id).to_item()));
        let total = async {
            if *filter == EntryFilter::default() {
                self.balance(org).await.map(|balance| balance.entries)
            } else {
                self.count(&whole).await
            }
        };
        tokio::try_join!(self.slice(slice), total)
    }

    /// Adds a purchase. The same id twice is one purchase.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there is no such organization, or internal.
    pub async fn grant(
        &self,
        org: &OrgId,
        id: &TransactionId,
        amount: MicroCredits,
        booking: &Booking,
    ) -> Result<BalanceItem, Error> {
        let entry = LedgerEntry {
            id: id.clone(),
            kind: TransactionType::Purchase,
            amount_micro: amount.micro(),
            run_id: None,
            verification_id: None,
            work_order_id: None,
            tenant_id: None,
            tenant_user_id: None,
            parts: EntryParts::default(),
            price_list: None,
            about: None,
            booking: booking.clone(),
            created_at: id.made_at(),
            v: SCHEMA_VERSION,
        };
        let none = (Transaction::new(), Vec::new());
        let committed = self.add_credits(none, org, &entry).await?;
        self.credited(org, committed).await
    }

    pub(super) async fn add_credits(
        &self,
        (transaction, moves): (Transaction, Vec<Move>),
        org: &OrgId,
        entry: &LedgerEntry,
    ) -> Result<CommitOutcome, Error> {
        let change = Change::new()
            .add("balance", entry.amount_micro)
            .add("available", entry.amount_micro)
            .add("entries", 1)
            .add("changes", 1)
            .set("updatedAt", entry.created_at)
            .when_present("v");
        transaction
            .book(org, entry)?
            .balance(org, change, moves)
            .commit(self)
            .await
    }

    pub(super) async fn credited(
        &self,
        org: &OrgId,
        committed: CommitOutcome,
    ) -> Result<BalanceItem, Error> {
        match committed {
            CommitOutcome::No(refusals) if refused(&refusals, ItemKind::Balance) => {
                Err(Error::Conflict("there is no such organization".to_owned()))
            }
            // The entry is there already: this very call went through before.
            _ => self.balance(org).await,
        }
    }
}

pub(super) fn refused(refusals: &[Refusal], kind: ItemKind) -> bool {
    refusals.iter().any(|refusal| refusal.kind == kind)
}
