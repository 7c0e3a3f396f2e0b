//! Periods: the start is included, the end is not, and either may be open.
//!
//! A period consists of its whole UTC days and the remainders at its ends, without gap or overlap.

use crate::time::{DAY_MS, Timestamp};

/// A period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Its first moment; none, if it has always been.
    pub from: Option<Timestamp>,
    /// The first moment after it; none, if it goes on.
    pub until: Option<Timestamp>,
}

/// A period, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts {
    /// Its whole days, as a period from midnight to midnight.
    pub days: Option<Span>,
    /// What comes before and after them; all of a period without a whole day.
    pub edges: [Option<Span>; 2],
}

impl Span {
    /// True if a moment is in it.
    #[must_use]
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }

    /// True if nothing can be in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!((self.from, self.until), (Some(from), Some(until)) if from >= until)
    }

    fn unless_empty(self) -> Option<Span> {
        (!self.is_empty()).then_some(self)
    }

    /// Its whole days and its ends.
    #[must_use]
    pub fn parts(self) -> Parts {
        let first = self.from.map(|from| match from.start_of_day() {
            midnight if midnight == from => from,
            midnight => midnight.plus_ms(DAY_MS),
        });
        let last = self.until.map(Timestamp::start_of_day);
        let days = Span {
            from: first,
            until: last,
        };
        if days.is_empty() {
            return Parts {
                days: None,
                edges: [self.unless_empty(), None],
            };
        }
        let before = first.and_then(|until| {
            let part = Span {
                until: Some(until),
                ..self
            };
            part.unless_empty()
        });
        let after = last.and_then(|from| {
            let part = Span {
                from: Some(from),
                ..self
            };
            part.unless_empty()
        });
        Parts {
            days: Some(days),
            edges: [before, after],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_moment_of_a_period_is_in_one_of_its_parts(
            from in proptest::option::of(0..5 * DAY_MS),
            until in proptest::option::of(0..5 * DAY_MS),
            round in any::<bool>(),
            at in 0..5 * DAY_MS,
        ) {
            let moment = |ms: i64| Timestamp::from_epoch_ms(if round { ms - ms % (DAY_MS / 2) } else { ms });
            let span = Span { from: from.map(moment), until: until.map(moment) };
            let (at, parts) = (moment(at), span.parts());
            let within = parts.edges.iter().flatten().chain(&parts.days).filter(|part| part.contains(at));
            prop_assert_eq!(within.count(), usize::from(span.contains(at)));
            for midnight in parts.days.iter().flat_map(|days| [days.from, days.until]).flatten() {
                prop_assert_eq!(midnight, midnight.start_of_day());
            }
            for edge in parts.edges.iter().flatten() {
                let (from, until) = (edge.from, edge.until);
                prop_assert!(!edge.is_empty());
                if let (Some(from), Some(until)) = (from, until) {
                    prop_assert!(until.ms_since(from) < 2 * DAY_MS);
                }
            }
        }
    }
}
