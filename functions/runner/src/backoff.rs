//! Pauses between tries.

use std::time::Duration;

/// Pauses that double, with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// From the first pause to the longest.
    pub(crate) fn doubling(first: Duration, longest: Duration) -> Backoff {
        Backoff {
            next: first.min(longest),
            longest,
        }
    }

    /// The next pause, which stays the next one.
    pub(crate) fn next(&self) -> Duration {
        self.next
    }

    /// The next pause; the one after it is longer.
    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let seconds = Duration::from_secs;
        let mut backoff = Backoff::doubling(seconds(2), seconds(5));
        assert_eq!(backoff.next(), seconds(2));
        let pauses = [(); 4].map(|()| backoff.pause());
        assert_eq!(pauses, [2, 4, 5, 5].map(seconds));
        let mut short = Backoff::doubling(seconds(2), seconds(1));
        assert_eq!(short.pause(), seconds(1));
    }
}
