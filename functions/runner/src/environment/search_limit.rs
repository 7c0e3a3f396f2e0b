//! Bounds of a search for secrets: an agent decides how much there is to search, the run how long it lasts.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use crate::stop::StopSignal;

/// Time that a search has where the run has less: what an agent did until its last second is committed.
const LEAST_TIME: Duration = Duration::from_secs(10);
/// Time that a search has after the moment at which everything else is killed.
const STOP_SLACK: Duration = Duration::from_secs(1);

/// End of a search that is not complete by then.
#[derive(Debug, Clone)]
pub(crate) struct SearchLimit {
    deadline: Instant,
    stop: StopSignal,
}

/// Reason why a search was not completed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotSearched {
    #[error("there was no time left to search all of it for secrets")]
    OutOfTime,
    #[error("the run was stopped while it was searched for secrets")]
    Stopped,
    #[error("it could not be searched for secrets: {0}")]
    Failed(io::Error),
}

#[derive(Debug, Clone, Copy, thiserror::Error)]
enum SearchEnd {
    #[error("there is no time left")]
    Time,
    #[error("the run is stopped")]
    Stop,
}

impl From<io::Error> for NotSearched {
    fn from(why: io::Error) -> NotSearched {
        let end = why
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<SearchEnd>());
        match end {
            Some(SearchEnd::Time) => NotSearched::OutOfTime,
            Some(SearchEnd::Stop) => NotSearched::Stopped,
            None => NotSearched::Failed(why),
        }
    }
}

impl SearchLimit {
    /// A limit of this time from now on, of which the least is some seconds; a stop shortens it.
    pub(crate) fn after(left: Duration, stop: StopSignal) -> SearchLimit {
        SearchLimit {
            deadline: Instant::now() + left.max(LEAST_TIME),
            stop,
        }
    }

    /// Fails once the search has no time left.
    ///
    /// # Errors
    /// One that reads as [`NotSearched::OutOfTime`] or [`NotSearched::Stopped`].
    pub(super) fn check(&self) -> io::Result<()> {
        let now = Instant::now();
        let stops = self.stop.kill_at();
        if stops.is_some_and(|kill_at| now >= kill_at + STOP_SLACK) {
            return Err(io::Error::other(SearchEnd::Stop));
        }
        if now >= self.deadline {
            return Err(io::Error::other(SearchEnd::Time));
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn expired(stop: StopSignal) -> SearchLimit {
        let deadline = Instant::now();
        SearchLimit { deadline, stop }
    }
}
