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
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::aws_json::Refusal;

/// The journal of a database file, open as long as the database is: SQLite keeps its journal until the last
/// connection closes.
#[derive(Debug)]
pub struct Commits {
    journal: File,
    flushes: Mutex<Flushes>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Flushes {
    begun: u64,
    /// All flushes up to this one have ended.
    ended: u64,
    /// What the first flush that failed said. The kernel forgets what it could not write, so no later flush
    /// can make up for it.
    failed: Option<String>,
}

impl Commits {
    /// The commits of a database that is open and has been written to.
    ///
    /// # Errors
    /// When its journal cannot be opened, or its folder not be flushed.
    pub fn of(database: &Path) -> io::Result<Commits> {
        let mut journal = database.as_os_str().to_owned();
        journal.push("-wal");
        let journal = File::open(journal)?;
        // The names of both files.
        let folder = database.parent().filter(|parent| *parent != Path::new(""));
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(Commits {
            journal,
            flushes: Mutex::default(),
            ended: Condvar::new(),
        })
    }

    /// Waits until whatever this thread has committed outlasts a loss of power.
    ///
    /// # Errors
    /// When the disk could not be flushed, now or ever before.
    pub fn flush(&self) -> Result<(), Refusal> {
        let mut flushes = self.lock();
        // A flush that is under way may have begun before the commit.
        let mine = flushes.begun + 1;
        while flushes.ended < mine && flushes.failed.is_none() {
            if flushes.begun > flushes.ended {
                flushes = self
                    .ended
                    .wait(flushes)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            flushes.begun += 1;
            drop(flushes);
            let flushed = self.journal.sync_data();
            flushes = self.lock();
            flushes.ended = flushes.begun;
            if let Err(error) = flushed {
                tracing::error!(event = "disk_flush_failed", %error, "the journal of the database cannot be flushed; the service refuses writes until it is started again");
                flushes.failed = Some(error.to_string());
            }
            self.ended.notify_all();
        }
        match &flushes.failed {
            None => Ok(()),
            Some(error) => Err(Refusal::new(500, "InternalServerError", error.clone())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Flushes> {
        self.flushes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::Commits;

    #[test]
    fn whoever_waits_shares_a_flush_that_began_after_the_commit() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        std::fs::write(folder.path().join("db-wal"), "journal").unwrap();
        let commits = Commits::of(&database).unwrap();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let begun = commits.lock().begun;
                        commits.flush().unwrap();
                        assert!(commits.lock().ended > begun);
                    }
                });
            }
        });
        let flushes = commits.lock();
        assert_eq!(flushes.begun, flushes.ended);
        assert!((50..=400).contains(&flushes.begun), "{flushes:?}");
    }
}
