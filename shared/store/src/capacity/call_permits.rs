//! Permits of calls that hold a function while they last: live streams, purges, exports, kills that wait
//! for a run's end, and attempts at receivers of webhooks, which may not respond. An organization has a
//! limited number of each, so that its callers leave functions to others.
//!
//! A permit is an item, taken and returned by conditional writes. An abandoned one no longer counts
//! once it has expired, which every taker checks; nothing waits for TTL, which only cleans up.

use std::future::ready;

use awo_domain::stop::CONFIRM_MS;
use awo_domain::webhook::delivery::SENDING_MS;
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use futures::{Stream, StreamExt, stream};
use serde::Deserialize;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, Partition};
use crate::engine::list::Slice;
use crate::engine::table::UpdateOutcome;
use crate::engine::transaction::Transaction;

/// Most live streams of an organization at once.
pub const MAX_STREAMS: u32 = 20;
/// Most purges of an organization at once.
pub const MAX_PURGES: u32 = 2;
/// Most exports of an organization at once.
pub const MAX_EXPORTS: u32 = 2;
/// Most calls at once that wait for the death of one work order's processes.
pub const MAX_KILLS_OF_ONE: u32 = 4;
/// Most calls at once that wait for the death of an organization's processes. It is counted before
/// a permit is taken, so that kills that begin in the same moment may be a few more.
pub const MAX_KILLS: u32 = 64;
/// Most functions at once that send to the receivers of an organization: a fifth of the
/// deliverers that there are by default, so that receivers that hang leave most of them to others.
pub const MAX_SENDING: u32 = 10;
/// The age from which a live stream gives way to a new one where all permits are held: a function
/// does not learn that its client is gone, so the oldest may have no reader. A younger one is left alone, lest
/// clients that connect again take each other's.
pub const TAKEN_OVER_AFTER_MS: i64 = 60_000;
/// How often a newcomer tries to take over a permit that others want as well.
const TAKE_OVER_TRIES: usize = 3;
/// The longest that a function may run, and with it a stream or a purge.
pub const FUNCTION_MS: i64 = 15 * 60_000;
/// What a kill may take beyond its grace and the time in which the death is confirmed.
const KILL_SLACK_MS: u64 = 10_000;
/// When DynamoDB may delete what was never given back.
const CLEAN_UP_MS: i64 = 60 * 60_000;
/// Most permits that are read: those that count, and some that have expired.
const MAX_SEEN: u32 = 256;
/// When a client should try again that got no permit.
const RETRY_S: i64 = 30;
/// The same for a kill, which other calls wait for already.
const KILL_RETRY_S: i64 = 5;

/// A kind of call that holds a function.
#[derive(Debug, Clone, Copy)]
pub enum LongCall<'a> {
    /// Live events of a run.
    Stream,
    /// A purge.
    Purge,
    /// An export of charges.
    Export,
    /// A kill that waits for the death of a work order's processes.
    Kill {
        /// The work order.
        order: &'a WorkOrderId,
        /// The time that the processes have.
        grace_ms: u64,
    },
    /// Attempts at receivers of webhooks.
    Send,
}

impl LongCall<'_> {
    /// Its permits, in the table of what else such a function changes.
    fn partition(self, org: &OrgId) -> Partition {
        let (kind, pk) = match self {
            LongCall::Stream => (ItemKind::CallPermit, format!("{org}#stream")),
            LongCall::Purge => (ItemKind::CallPermit, format!("{org}#purging")),
            LongCall::Export => (ItemKind::CallPermit, format!("{org}#exporting")),
            LongCall::Kill { .. } => (ItemKind::CallPermit, format!("{org}#killing")),
            LongCall::Send => (ItemKind::SendPermit, format!("{org}#sending")),
        };
        Partition::new(kind, pk)
    }

    /// The name of its permit of this number.
    fn name(self, number: u32) -> String {
        match self {
            LongCall::Stream | LongCall::Purge | LongCall::Export | LongCall::Send => {
                format!("{number:02}")
            }
            LongCall::Kill { order, .. } => format!("{order}#{number:02}"),
        }
    }

    /// Most at once of those that share their numbers.
    fn most(self) -> u32 {
        match self {
            LongCall::Stream => MAX_STREAMS,
            LongCall::Purge => MAX_PURGES,
            LongCall::Export => MAX_EXPORTS,
            LongCall::Kill { .. } => MAX_KILLS_OF_ONE,
            LongCall::Send => MAX_SENDING,
        }
    }

    /// Most at once of the organization's.
    fn most_of_organization(self) -> u32 {
        match self {
            LongCall::Stream | LongCall::Purge | LongCall::Export | LongCall::Send => self.most(),
            LongCall::Kill { .. } => MAX_KILLS,
        }
    }

    fn lasts_ms(self) -> i64 {
        match self {
            LongCall::Stream | LongCall::Purge | LongCall::Export => FUNCTION_MS,
            LongCall::Kill { grace_ms, .. } => {
                i64::try_from(grace_ms + CONFIRM_MS + KILL_SLACK_MS).unwrap_or(FUNCTION_MS)
            }
            LongCall::Send => SENDING_MS,
        }
    }

    fn refusal(self, limit: u32) -> Error {
        let what = match self {
            LongCall::Stream => "live streams of your organization",
            LongCall::Purge => "purges of your organization",
            LongCall::Export => "exports of your organization",
            LongCall::Kill { .. } if limit == MAX_KILLS_OF_ONE => {
                return Error::KillUnderWay {
                    retry_after_s: KILL_RETRY_S,
                };
            }
            LongCall::Kill { .. } => "waiting kills of your organization",
            LongCall::Send => "senders to your organization's webhooks",
        };
        Error::TooManyAtOnce {
            what,
            limit,
            retry_after_s: RETRY_S,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PermitItem {
    sk: String,
    expires_at_ms: Option<i64>,
    #[serde(default)]
    holder: Option<String>,
}

/// A permit that is held. Dropping it gives it back, if there is still a runtime to do it; who can
/// wait calls [`CallPermit::give_back`], since on Lambda nothing runs on after the answer's end.
#[derive(Debug)]
pub struct CallPermit {
    store: Store,
    key: Key,
    holder: String,
    /// Its number among those of its kind, from 1.
    number: u32,
    is_held: bool,
}

impl Store {
    /// Takes a permit. `holder` is unique.
    ///
    /// # Errors
    /// [`Error::TooManyAtOnce`], [`Error::KillUnderWay`], or internal.
    pub async fn take_call_permit(
        &self,
        org: &OrgId,
        call: LongCall<'_>,
        holder: &str,
        now: Timestamp,
    ) -> Result<CallPermit, Error> {
        let slice = Slice::of_partition(call.partition(org)).limit(MAX_SEEN);
        let mut known: Vec<PermitItem> = self.slice(slice).await?.items;
        known.retain(|permit| permit.expires_at_ms.is_some_and(|at| at > now.epoch_ms()));
        let in_all = call.most_of_organization();
        if known.len() >= usize::try_from(in_all).unwrap_or(usize::MAX) {
            return Err(call.refusal(in_all));
        }
        let expires = now.plus_ms(call.lasts_ms());
        for number in 1..=call.most() {
            let key = Key::call_permit(call.partition(org), call.name(number));
            if known.iter().any(|permit| permit.sk == key.sk) {
                continue;
            }
            let change = held(holder, expires).at_most_or_missing("expiresAtMs", now.epoch_ms());
            // A refusal means that another caller was faster: the next number is tried.
            if let UpdateOutcome::New(_) = self.update(&key, change).await? {
                return Ok(CallPermit::of(self, key, holder, number));
            }
        }
        Err(call.refusal(call.most()))
    }

    /// As [`Store::take_call_permit`] for a live stream, which takes over the oldest one's permit where
    /// all are held and that one is old enough. The stream that lost it sees so ([`PermitWatch::is_lost`]).
    ///
    /// # Errors
    /// [`Error::TooManyAtOnce`], or internal.
    pub async fn take_stream_permit(
        &self,
        org: &OrgId,
        holder: &str,
        now: Timestamp,
    ) -> Result<CallPermit, Error> {
        let call = LongCall::Stream;
        let refused = match self.take_call_permit(org, call, holder, now).await {
            Err(Error::TooManyAtOnce { .. }) => call.refusal(call.most()),
            other => return other,
        };
        let slice = Slice::of_partition(call.partition(org)).limit(MAX_SEEN);
        let mut known: Vec<PermitItem> = self.slice(slice).await?.items;
        known.sort_by_key(|permit| permit.expires_at_ms);
        let old_enough = now
            .plus_ms(call.lasts_ms() - TAKEN_OVER_AFTER_MS)
            .epoch_ms();
        known.retain(|permit| permit.expires_at_ms.is_some_and(|at| at <= old_enough));
        for permit in known.into_iter().take(TAKE_OVER_TRIES) {
            let Some(before) = permit.holder else {
                continue;
            };
            let number = permit.sk.parse().unwrap_or(0);
            let key = Key::call_permit(call.partition(org), permit.sk);
            let change = held(holder, now.plus_ms(call.lasts_ms())).when("holder", before);
            if let UpdateOutcome::New(_) = self.update(&key, change).await? {
                return Ok(CallPermit::of(self, key, holder, number));
            }
        }
        Err(refused)
    }
}

/// A permit as its holder has it.
fn held(holder: &str, expires: Timestamp) -> Change {
    Change::new()
        .set("holder", holder)
        .set("expiresAtMs", expires.epoch_ms())
        .set("ttl", expires.plus_ms(CLEAN_UP_MS).epoch_seconds())
        .set("v", SCHEMA_VERSION)
}

/// What sees whether a permit is still its holder's.
#[derive(Debug, Clone)]
pub struct PermitWatch {
    store: Store,
    key: Key,
    holder: String,
}

impl PermitWatch {
    /// True if somebody has taken it over.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn is_lost(&self) -> Result<bool, Error> {
        let permit: Option<PermitItem> = self.store.get(&self.key).await?;
        Ok(permit.is_none_or(|permit| permit.holder.as_ref() != Some(&self.holder)))
    }
}

impl CallPermit {
    /// One that was just taken.
    fn of(store: &Store, key: Key, holder: &str, number: u32) -> CallPermit {
        CallPermit {
            store: store.clone(),
            key,
            holder: holder.to_owned(),
            number,
            is_held: true,
        }
    }

    /// True of the first permit of its kind: calls with others joined its holder.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.number == 1
    }

    /// What sees whether it is still held.
    #[must_use]
    pub fn watch(&self) -> PermitWatch {
        PermitWatch {
            store: self.store.clone(),
            key: self.key.clone(),
            holder: self.holder.clone(),
        }
    }

    /// The pieces of a response, and then the permit back. A stream that is dropped drops its permit as well.
    pub fn until_end_of<T>(self, pieces: impl Stream<Item = T>) -> impl Stream<Item = T> {
        let end = stream::once(self.give_back()).filter_map(|()| ready(None));
        pieces.chain(end)
    }

    /// Gives it back. If that fails, it counts no more when it expires.
    pub async fn give_back(mut self) {
        self.is_held = false;
        give_back(&self.store, &self.key, &self.holder).await;
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let store = self.store.clone();
            let (key, holder) = (self.key.clone(), self.holder.clone());
            runtime.spawn(async move { give_back(&store, &key, &holder).await });
        }
    }
}

async fn give_back(store: &Store, key: &Key, holder: &str) {
    let given_back = async {
        let ours = Change::new().when("holder", holder);
        let back = Transaction::new().delete(key, ours);
        back.commit(store).await
    };
    if let Err(error) = given_back.await {
        tracing::warn!(
            event = "call_permit_not_returned",
            ?error,
            permit = key.sk,
            "a call's permit could not be returned"
        );
    }
}
