//! Output of the attempts of an iteration: those that an outage of the provider ended, and the one that did the
//! work, each with a heading of its own in the iteration's log.

use awo_domain::control::MAX_LOG_BYTES;

use crate::output::Tail;

/// Outputs of the attempts so far; of a single attempt it is that one's, unchanged.
#[derive(Debug, Default)]
pub(super) struct AttemptOutputs {
    attempts: u32,
    /// The attempts that an outage ended.
    ended: Option<Tail>,
}

impl AttemptOutputs {
    /// Adds an attempt that an outage ended.
    pub(super) fn add(&mut self, output: Option<&Tail>) {
        let mut tail = self.ended.take().unwrap_or_else(empty);
        self.attempts += 1;
        headed(&mut tail, self.attempts, output);
        self.ended = Some(tail);
    }

    /// All of them, followed by the attempt that ended otherwise; `None` if there was no other.
    pub(super) fn followed_by(self, output: Option<&Tail>) -> Option<Tail> {
        let mut tail = self.ended?;
        headed(&mut tail, self.attempts + 1, output);
        Some(tail)
    }

    /// All of them, where no attempt follows.
    pub(super) fn ended(self) -> Option<Tail> {
        self.ended
    }
}

fn empty() -> Tail {
    Tail::new(MAX_LOG_BYTES)
}

fn headed(tail: &mut Tail, number: u32, output: Option<&Tail>) {
    if !tail.bytes().is_empty() && !tail.bytes().ends_with(b"\n") {
        tail.push(b"\n");
    }
    tail.push(format!("=== attempt {number} ===\n").as_bytes());
    if let Some(output) = output {
        tail.append(output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> Tail {
        let mut tail = Tail::new(MAX_LOG_BYTES);
        tail.push(text.as_bytes());
        tail
    }

    #[test]
    fn attempts_of_an_iteration_stand_under_headings_and_a_single_one_does_not() {
        let single = AttemptOutputs::default();
        assert!(single.followed_by(Some(&output("work"))).is_none());
        let mut outputs = AttemptOutputs::default();
        outputs.add(Some(&output("call: 529")));
        outputs.add(None);
        let all = outputs.followed_by(Some(&output("done\n"))).unwrap();
        let expected = "=== attempt 1 ===\ncall: 529\n=== attempt 2 ===\n=== attempt 3 ===\ndone\n";
        assert_eq!(all.utf8(), expected);
        assert_eq!(all.total(), expected.len() as u64);
    }
}
