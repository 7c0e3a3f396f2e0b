//! Threads of work orders. A thread's item has the ids of the turns, from the first follow-up on, and the
//! run that has the thread: of the turns one at a time.
//!
//! A run takes the thread in the transaction that gives it a slot, on condition that the thread is still
//! that of the run that was read there, and that this run is over: terminal, with its compute gone. No
//! later event changes that, since a new run has a new id, so nothing has to release a thread, and no
//! crash can leave one taken.

use std::collections::{HashMap, HashSet};

use awo_domain::control::{TurnDelivery, TurnPoint};
use awo_domain::money::MicroCredits;
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::thread::{NoFollowUp, ThreadPlace};
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use futures::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::Key;
use crate::engine::table::read;
use crate::engine::transaction::Transaction;
use crate::runs::Run;
use crate::work_orders::WorkOrder;

/// Lists of runs that are read at once.
const READS_AT_ONCE: usize = 8;

/// A thread as it is stored; empty before its first slot and its first follow-up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// The turns, in order; none before the first follow-up. Those that were purged remain.
    #[serde(default)]
    pub turns: Vec<WorkOrderId>,
    /// When the newest turn came into the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_enqueued_at: Option<Timestamp>,
    /// The run that took the thread last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<RunId>,
    /// The run that took the thread before the holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_holder: Option<RunId>,
    /// The commit with which the first turn began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
    /// The branch from which the work comes, and into which a pull request goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The branch on the origin that has the last delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that was delivered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_commit: Option<String>,
    /// The pull request of the last delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestUrl>,
    /// Starts of turns after changes by others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<TurnPoint>,
    /// Commits that runs pushed, or were about to push.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<TurnDelivery>,
}

/// A new turn, with the thread as it was read.
#[derive(Debug, Clone)]
pub struct FollowUp {
    /// The place of the new turn.
    pub place: ThreadPlace,
    /// The thread without it.
    pub thread: Thread,
    /// The newest turn that was not purged, which it continues.
    pub previous: Box<WorkOrder>,
}

impl WorkOrder {
    /// The id of its thread: of the first turn.
    #[must_use]
    pub fn thread_id(&self) -> &WorkOrderId {
        self.place
            .as_ref()
            .map_or(&self.id, |place| &place.thread_id)
    }

    /// Its turn, from 1.
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.place.as_ref().map_or(1, |place| place.turn)
    }
}

impl Thread {
    /// The ids of the turns of this work order's thread.
    #[must_use]
    pub fn turn_ids(&self, first: &WorkOrderId) -> Vec<WorkOrderId> {
        if self.turns.is_empty() {
            vec![first.clone()]
        } else {
            self.turns.clone()
        }
    }
}

impl FollowUp {
    /// When the turn comes into the queue: after the turn before, whatever the clocks of two functions say.
    #[must_use]
    pub fn enqueued_at(&self, now: Timestamp) -> Timestamp {
        let last = self
            .thread
            .last_enqueued_at
            .unwrap_or(self.previous.created_at);
        now.max(last.plus_ms(1))
    }
}

impl Store {
    /// A thread, by its id.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn thread(&self, org: &OrgId, id: &WorkOrderId) -> Result<Thread, Error> {
        Ok(self.get(&Key::thread(org, id)).await?.unwrap_or_default())
    }

    /// The turns of a thread that were not purged, in order.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn turns(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        thread: &Thread,
    ) -> Result<Vec<WorkOrder>, Error> {
        let keys: Vec<Key> = (thread.turn_ids(id).iter())
            .map(|turn| Key::work_order(org, turn))
            .collect();
        let mut items = self.batch(keys.clone()).await?;
        keys.iter()
            .filter_map(|key| items.remove(key))
            .map(read)
            .collect()
    }

    /// The newest runs of these turns, at least one and at most those of a thread, by their ids.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn newest_runs(
        &self,
        org: &OrgId,
        turns: &[WorkOrder],
    ) -> Result<HashMap<RunId, Run>, Error> {
        let keys = turns.iter().map(|turn| Key::run(org, &turn.run_id));
        let runs = self.batch(keys).await?.into_values().map(read::<Run>);
        let named = runs.map(|run| run.map(|run| (run.run_id.clone(), run)));
        named.collect()
    }

    /// Credits of all runs of these turns. The newest runs are as they were read; an index shows the others.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn cost_of_turns(
        &self,
        org: &OrgId,
        turns: &[WorkOrder],
        newest: &HashMap<RunId, Run>,
    ) -> Result<MicroCredits, Error> {
        let reads: Vec<_> = turns
            .iter()
            .map(|turn| Box::pin(self.runs_of_work_order(org, &turn.id)))
            .collect();
        let lists: Vec<Vec<Run>> = stream::iter(reads)
            .buffered(READS_AT_ONCE)
            .try_collect()
            .await?;
        let older = lists.iter().flatten();
        let older = older.filter(|run| !newest.contains_key(&run.run_id));
        let costs = older
            .chain(newest.values())
            .filter_map(|run| run.cost.as_ref());
        let micro = costs.fold(0_i64, |sum, cost| sum.saturating_add(cost.credits_micro));
        Ok(MicroCredits::from_micro(micro))
    }

    /// The turn that would follow those of a work order's thread.
    ///
    /// # Errors
    /// [`Error::NoFollowUp`], or internal.
    pub async fn follow_up(&self, org: &OrgId, order: &WorkOrder) -> Result<FollowUp, Error> {
        if order.terms.parent_id.is_some() {
            return Err(Error::NoFollowUp(NoFollowUp::Child));
        }
        let id = order.thread_id();
        let thread = self.thread(org, id).await?;
        let turns = self.turns(org, id, &thread).await?;
        let count = u32::try_from(thread.turn_ids(id).len()).unwrap_or(u32::MAX);
        let open = turns.iter().filter(|turn| !turn.status.is_terminal());
        if let Some(reason) = NoFollowUp::of_counts(count, open.count()) {
            return Err(Error::NoFollowUp(reason));
        }
        let previous = turns.last().unwrap_or(order).clone();
        Ok(FollowUp {
            place: ThreadPlace {
                thread_id: id.clone(),
                turn: count.saturating_add(1),
                continues: previous.id.clone(),
            },
            thread,
            previous: Box::new(previous),
        })
    }

    /// True if a run that took a thread has left it: it is over and its compute is gone, or it was purged.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn has_left_thread(&self, org: &OrgId, holder: &RunId) -> Result<bool, Error> {
        let run = self.run(org, holder).await?;
        Ok(run.is_none_or(|run| run.status.is_terminal() && run.compute_stopped_at.is_some()))
    }

    /// A thread as a run may take it now: with the holder that was read. None while another run has it;
    /// `own` is the waiting run itself, which may have had it before. A thread without follow-ups is free:
    /// a failed run of its only turn may still be stopping when the next one begins.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn free_thread(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        own: Option<&RunId>,
    ) -> Result<Option<FreeThread>, Error> {
        let Thread { turns, holder, .. } = self.thread(org, id).await?;
        let is_free = match &holder {
            Some(holder) if !turns.is_empty() && own != Some(holder) => {
                self.has_left_thread(org, holder).await?
            }
            Some(_) | None => true,
        };
        Ok(is_free.then(|| FreeThread {
            id: id.clone(),
            holder,
        }))
    }
}

/// A thread of which no turn would be left.
#[derive(Debug)]
pub(crate) struct EmptiedThread {
    id: WorkOrderId,
    turns: Vec<WorkOrderId>,
}

impl Store {
    /// The threads of which no turn is left without these work orders, at least one of them. Two purges at
    /// once of the last two turns may leave a thread's item, which goes with the organization.
    pub(crate) async fn emptied_threads(
        &self,
        org: &OrgId,
        purged: &[&WorkOrder],
    ) -> Result<Vec<EmptiedThread>, Error> {
        let ids: HashSet<&WorkOrderId> = purged.iter().map(|order| order.thread_id()).collect();
        let going: HashSet<&WorkOrderId> = purged.iter().map(|order| &order.id).collect();
        let keys = ids.iter().map(|id| Key::thread(org, id));
        let mut items = self.batch(keys).await?;
        let mut emptied = Vec::new();
        for id in ids {
            let Some(item) = items.remove(&Key::thread(org, id)) else {
                continue;
            };
            let thread: Thread = read(item)?;
            let others = thread.turns.iter().filter(|turn| !going.contains(turn));
            let others: Vec<Key> = others.map(|turn| Key::work_order(org, turn)).collect();
            if others.is_empty() || self.batch(others).await?.is_empty() {
                emptied.push(EmptiedThread {
                    id: id.clone(),
                    turns: thread.turns,
                });
            }
        }
        Ok(emptied)
    }
}

/// A thread that no run has, as it was read.
#[derive(Debug, Clone)]
pub struct FreeThread {
    id: WorkOrderId,
    holder: Option<RunId>,
}

impl Transaction {
    /// Takes a thread for a run, if no other run took it since it was read.
    pub(crate) fn take_thread(self, org: &OrgId, thread: &FreeThread, run: &RunId) -> Transaction {
        let other = thread.holder.as_ref().filter(|holder| *holder != run);
        let taken = Change::new()
            .set("holder", run)
            .set_some("previousHolder", other)
            .when_option("holder", thread.holder.as_ref());
        self.update(&Key::thread(org, &thread.id), taken)
    }

    /// Deletes a thread, if no turn was added since it was read.
    pub(crate) fn delete_thread(self, org: &OrgId, emptied: &EmptiedThread) -> Transaction {
        let known = (!emptied.turns.is_empty()).then_some(&emptied.turns);
        let unchanged = Change::new().when_option("turns", known);
        self.delete(&Key::thread(org, &emptied.id), unchanged)
    }

    /// Adds a turn to its thread, if no other turn was added since that was read.
    pub(crate) fn add_turn(
        self,
        org: &OrgId,
        id: &WorkOrderId,
        follow_up: &FollowUp,
        now: Timestamp,
    ) -> Transaction {
        let FollowUp { place, thread, .. } = follow_up;
        let mut turns = thread.turn_ids(&place.thread_id);
        turns.push(id.clone());
        let known = (!thread.turns.is_empty()).then_some(&thread.turns);
        let added = Change::new()
            .set("turns", turns)
            .set("lastEnqueuedAt", follow_up.enqueued_at(now))
            .when_option("turns", known);
        self.update(&Key::thread(org, &place.thread_id), added)
    }
}
