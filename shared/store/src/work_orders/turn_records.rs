//! Records of turns by their runners: base, starts and deliveries of a thread. Only the run that has the
//! thread writes them, and only under its lease; a repeated record changes nothing.

use awo_domain::control::{TurnDelivery, TurnPoint, TurnRecord};
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::{Error, Timestamp};

use super::threads::Thread;
use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::Key;
use crate::engine::table::UpdateOutcome;
use crate::engine::transaction::Transaction;
use crate::pull_requests::PullRequestDelivery;
use crate::runs::lifecycle::lease::lease_lost;
use crate::runs::lifecycle::report::Reporter;

/// Most points and most deliveries of a thread that are kept, the newest: of 100 turns with three rounds of
/// delivery each. The item stays below 400 KB.
const MAX_RECORDS: usize = 400;

impl Store {
    /// Stores the record of a turn.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, or another run has the thread; internal.
    pub async fn record_turn(
        &self,
        by: &Reporter,
        record: TurnRecord,
        now: Timestamp,
    ) -> Result<(), Error> {
        let org = &by.org;
        let run = self.reporting_run(by).await?;
        let order = self.work_order(org, &run.work_order_id).await?;
        let order = order.ok_or_else(|| Error::internal("the work order of a run is missing"))?;
        let mut thread = self.thread(org, order.thread_id()).await?;
        if thread.holder.as_ref() != Some(&by.run_id) {
            return Err(lease_lost());
        }
        let has_pull_request = matches!(
            record,
            TurnRecord::Delivered {
                pull_request: Some(_),
                ..
            }
        );
        thread.record(order.turn(), record);
        let change = Change::new()
            .set_some("baseCommit", thread.base_commit.as_ref())
            .set_some("target", thread.target.as_ref())
            .set_some("branch", thread.branch.as_ref())
            .set_some("headCommit", thread.head_commit.as_ref())
            .set_or_remove("pullRequest", thread.pull_request.as_ref())
            .set("points", &thread.points)
            .set("deliveries", &thread.deliveries)
            .when("holder", &by.run_id);
        let key = Key::thread(org, order.thread_id());
        let url = thread.pull_request.as_ref().filter(|_| has_pull_request);
        let is_recorded = match url {
            Some(url) => {
                let delivery = PullRequestDelivery {
                    order: &order,
                    url,
                    verified_commit: None,
                    now,
                };
                let transaction = Transaction::new()
                    .update(&key, change)
                    .delivered_to(org, &delivery);
                transaction.commit(self).await?.is_yes()
            }
            None => matches!(self.update(&key, change).await?, UpdateOutcome::New(_)),
        };
        if is_recorded {
            Ok(())
        } else {
            Err(lease_lost())
        }
    }
}

impl Thread {
    /// The thread after a record of this turn.
    fn record(&mut self, turn: u32, record: TurnRecord) {
        match record {
            TurnRecord::Begun {
                commit,
                tree,
                delivered_tree,
                merged,
                target,
            } => {
                self.target = Some(target);
                self.base_commit.get_or_insert_with(|| commit.clone());
                let changed = delivered_tree.filter(|before| *before != tree);
                if changed.is_some() || merged.is_some() {
                    self.add_point(TurnPoint {
                        turn,
                        delivered_tree: changed.unwrap_or_else(|| tree.clone()),
                        start_tree: tree,
                        start_commit: commit,
                        merged,
                    });
                }
            }
            TurnRecord::Moved {
                commit,
                tree,
                delivered_tree,
            } if delivered_tree != tree => self.add_point(TurnPoint {
                turn,
                delivered_tree,
                start_tree: tree,
                start_commit: commit,
                merged: None,
            }),
            TurnRecord::Moved { .. } => {}
            TurnRecord::Delivering {
                commit,
                tree,
                branch,
            } => self.add_delivery(TurnDelivery {
                turn,
                commit,
                tree,
                branch,
                confirmed: false,
            }),
            TurnRecord::Delivered {
                commit,
                pull_request,
            } => self.confirm(commit, pull_request),
        }
        let surplus = |length: usize| length.saturating_sub(MAX_RECORDS);
        self.points.drain(..surplus(self.points.len()));
        self.deliveries.drain(..surplus(self.deliveries.len()));
    }

    fn add_point(&mut self, point: TurnPoint) {
        if self.points.last() != Some(&point) {
            self.points.push(point);
        }
    }

    fn add_delivery(&mut self, delivery: TurnDelivery) {
        let is_same = |earlier: &TurnDelivery| {
            earlier.commit == delivery.commit && earlier.branch == delivery.branch
        };
        if !self.deliveries.iter().any(is_same) {
            self.deliveries.push(delivery);
        }
    }

    /// The thread whose branch has the commit, of which a delivery was recorded.
    fn confirm(&mut self, commit: String, pull_request: Option<PullRequestUrl>) {
        let mut newest_first = self.deliveries.iter_mut().rev();
        let Some(delivery) = newest_first.find(|delivery| delivery.commit == commit) else {
            return;
        };
        delivery.confirmed = true;
        if self.branch.as_ref() != Some(&delivery.branch) {
            self.pull_request = None;
        }
        self.branch = Some(delivery.branch.clone());
        self.head_commit = Some(commit);
        self.pull_request = pull_request.or(self.pull_request.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivering(commit: &str, branch: &str) -> TurnRecord {
        TurnRecord::Delivering {
            commit: commit.to_owned(),
            tree: format!("tree-{commit}"),
            branch: branch.to_owned(),
        }
    }

    fn begun(commit: &str, delivered: Option<&str>) -> TurnRecord {
        TurnRecord::Begun {
            commit: commit.to_owned(),
            tree: format!("tree-{commit}"),
            delivered_tree: delivered.map(str::to_owned),
            merged: None,
            target: "main".to_owned(),
        }
    }

    #[test]
    fn a_repeated_record_changes_nothing() {
        let mut thread = Thread::default();
        let delivered = TurnRecord::Delivered {
            commit: "b".to_owned(),
            pull_request: None,
        };
        let records = [
            begun("a", Some("tree-0")),
            delivering("b", "awo/run"),
            delivered,
        ];
        for record in records {
            thread.record(1, record.clone());
            let once = thread.clone();
            thread.record(1, record);
            assert_eq!(thread, once);
        }
        assert_eq!(thread.branch.as_deref(), Some("awo/run"));
        assert_eq!(thread.head_commit.as_deref(), Some("b"));
        assert!(thread.deliveries[0].confirmed);
    }

    #[test]
    fn a_start_is_kept_only_where_others_changed_the_tree_since_the_delivery() {
        let mut thread = Thread::default();
        thread.record(1, begun("a", None));
        thread.record(2, begun("b", Some("tree-b")));
        assert!(thread.points.is_empty());
        thread.record(3, begun("c", Some("tree-b")));
        assert_eq!(thread.points.len(), 1);
        assert_eq!(thread.points[0].start_commit, "c");
        assert_eq!(
            thread.base_commit.as_deref(),
            Some("a"),
            "of the first start"
        );
    }

    #[test]
    fn a_merge_of_the_target_branch_is_a_point_of_its_own() {
        let mut thread = Thread::default();
        let merging = |delivered: Option<&str>| match begun("b", delivered) {
            TurnRecord::Begun {
                commit,
                tree,
                delivered_tree,
                target,
                ..
            } => TurnRecord::Begun {
                commit,
                tree,
                delivered_tree,
                merged: Some("m".to_owned()),
                target,
            },
            record => record,
        };
        thread.record(2, merging(None));
        thread.record(3, merging(Some("tree-a")));
        let trees = thread
            .points
            .iter()
            .map(|point| (point.delivered_tree.as_str(), point.start_tree.as_str()));
        assert_eq!(
            trees.collect::<Vec<_>>(),
            [("tree-b", "tree-b"), ("tree-a", "tree-b")]
        );
        assert!(thread.points.iter().all(|point| point.merged.is_some()));
    }

    #[test]
    fn a_push_of_others_during_a_turn_is_a_point_of_that_turn() {
        let mut thread = Thread::default();
        let moved = |tree: &str| TurnRecord::Moved {
            commit: "c".to_owned(),
            tree: tree.to_owned(),
            delivered_tree: "tree-b".to_owned(),
        };
        thread.record(2, moved("tree-b"));
        assert!(thread.points.is_empty(), "the content is the same");
        thread.record(2, moved("tree-c"));
        thread.record(2, moved("tree-c"));
        assert_eq!(thread.points.len(), 1);
        let point = &thread.points[0];
        assert_eq!((point.turn, point.start_commit.as_str()), (2, "c"));
    }

    #[test]
    fn a_delivery_that_was_not_confirmed_is_kept_and_moves_no_head() {
        let mut thread = Thread::default();
        thread.record(1, delivering("b", "awo/run"));
        assert_eq!(thread.head_commit, None);
        assert!(!thread.deliveries[0].confirmed);
    }

    #[test]
    fn a_thread_keeps_its_newest_deliveries() {
        let mut thread = Thread::default();
        for number in 0..=MAX_RECORDS {
            thread.record(1, delivering(&number.to_string(), "awo/run"));
        }
        assert_eq!(thread.deliveries.len(), MAX_RECORDS);
        assert_eq!(thread.deliveries[0].commit, "1");
    }
}
