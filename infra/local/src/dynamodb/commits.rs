//! Commits that survive a loss of power, many with one disk flush.
//!
//! The engine flushes the disk in each commit, while it holds the lock that every operation needs:
//! a hundred clients wait for a hundred flushes. So it commits here without a flush (SQLite's
//! `synchronous = NORMAL`: its journal is flushed before its pages reach the database file, so the
//! file is always consistent), and each write is acknowledged after a flush of the journal that
//! began after its commit. Writes that arrive meanwhile share the next flush. A read may see a
//! write that is not yet flushed, and therefore not yet acknowledged.

use std::fs::File;
use std::io;
use std::path::Path;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::aws_json::Refusal;

/// What an operation is answered with.
pub type Outcome = Result<String, Refusal>;

/// Most writes that one flush acknowledges; the others share the next one.
const MOST: usize = 1_024;

/// Acknowledges the writes of a database file. A thread of its own flushes the journal, so that
/// operations go on meanwhile.
#[derive(Debug)]
pub struct Commits(UnboundedSender<PendingWrite>);

/// A write that is committed and not yet acknowledged.
#[derive(Debug)]
struct PendingWrite {
    outcome: Outcome,
    caller: oneshot::Sender<Outcome>,
}

impl Commits {
    /// The commits of a database that is open and has been written to. Its journal stays open as
    /// long as the database is: SQLite keeps it until the last connection closes.
    ///
    /// # Errors
    /// When the journal cannot be opened, or its folder not be flushed.
    pub fn of(database: &Path) -> io::Result<Commits> {
        let mut journal = database.as_os_str().to_owned();
        journal.push("-wal");
        let journal = File::open(journal)?;
        // The names of both files.
        let folder = database.parent().filter(|parent| *parent != Path::new(""));
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(Commits::flushed_by(move || journal.sync_data()))
    }

    fn flushed_by(flush: impl Fn() -> io::Result<()> + Send + 'static) -> Commits {
        let (sender, committed) = unbounded_channel();
        tokio::task::spawn_blocking(move || acknowledge(committed, flush));
        Commits(sender)
    }

    /// Answers a caller once whatever the calling thread has committed outlasts a loss of power; with
    /// a refusal where the disk could not be flushed, now or ever before.
    pub fn acknowledge(&self, outcome: Outcome, caller: oneshot::Sender<Outcome>) {
        // Without a flush there is no answer.
        drop(self.0.send(PendingWrite { outcome, caller }));
    }
}

fn acknowledge(mut committed: UnboundedReceiver<PendingWrite>, flush: impl Fn() -> io::Result<()>) {
    // The kernel forgets what it could not write, so no later flush can make up for a failed one.
    let mut failed: Option<String> = None;
    let mut together = Vec::new();
    while committed.blocking_recv_many(&mut together, MOST) > 0 {
        if failed.is_none()
            && let Err(error) = flush()
        {
            tracing::error!(event = "disk_flush_failed", %error, "the journal of the database cannot be flushed; the service refuses writes until it is started again");
            failed = Some(error.to_string());
        }
        for PendingWrite { outcome, caller } in together.drain(..) {
            let outcome = match &failed {
                None => outcome,
                Some(error) => Err(Refusal::new(500, "InternalServerError", error.clone())),
            };
            // A caller that is gone needs no answer.
            drop(caller.send(outcome));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, mpsc};

    use futures::future::join_all;

    use super::*;

    async fn committed(commits: &Commits) -> Outcome {
        let (caller, outcome) = oneshot::channel();
        commits.acknowledge(Ok(String::new()), caller);
        outcome.await.unwrap()
    }

    #[tokio::test]
    async fn writes_that_wait_share_a_flush_that_began_after_their_commits() {
        let (begun, flushes) = (Arc::new(AtomicUsize::new(0)), mpsc::channel());
        let (allow, allowed) = flushes;
        let count = Arc::clone(&begun);
        let commits = Commits::flushed_by(move || {
            count.fetch_add(1, Ordering::SeqCst);
            allowed.recv().map_err(io::Error::other)
        });
        let first = committed(&commits);
        tokio::pin!(first);
        assert!(futures::poll!(&mut first).is_pending());
        while begun.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        // The flush under way may have begun before these commits.
        let mut others = Box::pin(join_all((0..8).map(|_| committed(&commits))));
        assert!(futures::poll!(&mut others).is_pending());
        allow.send(()).unwrap();
        first.await.unwrap();
        assert!(futures::poll!(&mut others).is_pending());
        allow.send(()).unwrap();
        assert!(others.await.iter().all(Result::is_ok));
        assert_eq!(begun.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn after_a_flush_that_failed_no_write_is_acknowledged() {
        let flushes = AtomicUsize::new(0);
        let second_fails = move || match flushes.fetch_add(1, Ordering::SeqCst) {
            1 => Err(io::Error::other("no disk")),
            _ => Ok(()),
        };
        let commits = Commits::flushed_by(second_fails);
        assert!(committed(&commits).await.is_ok());
        for _ in 0..3 {
            assert_eq!(committed(&commits).await.unwrap_err().status, 500);
        }
    }
}
