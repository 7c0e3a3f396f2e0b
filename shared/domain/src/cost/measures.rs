//! The measures of costs that are summed, in every dimension.

use serde::{Deserialize, Serialize};

use crate::run::RunStatus;

/// Sums of runs and of what they cost. Credits are micro-credits, dollars billionths.
///
/// model + compute − capped − free = credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Measures {
    /// Runs that are over.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs: i64,
    /// Of these, those that succeeded.
    #[serde(skip_serializing_if = "is_zero")]
    pub succeeded: i64,
    /// Those that failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: i64,
    /// Those that were canceled.
    #[serde(skip_serializing_if = "is_zero")]
    pub canceled: i64,
    /// All input tokens.
    #[serde(skip_serializing_if = "is_zero")]
    pub input_tokens: i64,
    /// Input tokens that came from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_input_tokens: i64,
    /// Output tokens.
    #[serde(skip_serializing_if = "is_zero")]
    pub output_tokens: i64,
    /// What models cost whose price is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub model_usd_nano: i64,
    /// Started seconds of compute.
    #[serde(skip_serializing_if = "is_zero")]
    pub compute_seconds: i64,
    /// What models cost.
    #[serde(skip_serializing_if = "is_zero")]
    pub model_micro: i64,
    /// What compute cost.
    #[serde(skip_serializing_if = "is_zero")]
    pub compute_micro: i64,
    /// The amount that holds did not cover.
    #[serde(skip_serializing_if = "is_zero")]
    pub capped_micro: i64,
    /// What was not charged at all, because the platform lost the run.
    #[serde(skip_serializing_if = "is_zero")]
    pub free_micro: i64,
    /// The charge.
    #[serde(skip_serializing_if = "is_zero")]
    pub credits_micro: i64,
    /// The refunds.
    #[serde(skip_serializing_if = "is_zero")]
    pub refunds_micro: i64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &i64) -> bool {
    *count == 0
}

impl Measures {
    /// One run that ended so.
    #[must_use]
    pub fn of_run(outcome: RunStatus) -> Measures {
        let is = |status| i64::from(outcome == status);
        Measures {
            runs: 1,
            succeeded: is(RunStatus::Succeeded),
            failed: is(RunStatus::Failed),
            canceled: is(RunStatus::Canceled),
            ..Measures::default()
        }
    }

    /// Adds others.
    pub fn add(&mut self, more: &Measures) {
        let mut more = *more;
        for (sum, more) in self.each().into_iter().zip(more.each()) {
            *sum = sum.saturating_add(*more);
        }
    }

    /// What takes these away when it is added.
    #[must_use]
    pub fn negated(mut self) -> Measures {
        for sum in self.each() {
            *sum = sum.saturating_neg();
        }
        self
    }

    fn each(&mut self) -> [&mut i64; 15] {
        [
            &mut self.runs,
            &mut self.succeeded,
            &mut self.failed,
            &mut self.canceled,
            &mut self.input_tokens,
            &mut self.cached_input_tokens,
            &mut self.output_tokens,
            &mut self.model_usd_nano,
            &mut self.compute_seconds,
            &mut self.model_micro,
            &mut self.compute_micro,
            &mut self.capped_micro,
            &mut self.free_micro,
            &mut self.credits_micro,
            &mut self.refunds_micro,
        ]
    }
}

/// Divides a whole number by weights, so that the parts add up to it exactly: each gets its share
/// rounded down, and those with the largest rest one more, the first of equals first. Without any
/// weight the last part gets all.
#[must_use]
pub fn apportion(total: i64, weights: &[i64]) -> Vec<i64> {
    let weights: Vec<i128> = weights.iter().map(|w| i128::from((*w).max(0))).collect();
    let (sum, whole) = (weights.iter().sum::<i128>(), i128::from(total.max(0)));
    let mut parts = vec![0_i64; weights.len()];
    if sum == 0 {
        if let Some(last) = parts.last_mut() {
            *last = total.max(0);
        }
        return parts;
    }
    let mut rests: Vec<(i128, usize)> = Vec::new();
    for (at, weight) in weights.iter().enumerate() {
        parts[at] = i64::try_from(whole * weight / sum).unwrap_or(i64::MAX);
        rests.push((whole * weight % sum, at));
    }
    rests.sort_by_key(|(rest, at)| (-rest, *at));
    let given: i64 = parts.iter().sum();
    let left = usize::try_from(total.max(0) - given).unwrap_or(0);
    for (_, at) in rests.into_iter().take(left) {
        parts[at] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_come_to_the_whole_and_none_is_more_than_its_share_rounded_up(
            total in 0i64..2_000_000_000_000,
            weights in proptest::collection::vec(0i64..2_000_000_000_000, 1..60),
        ) {
            let parts = apportion(total, &weights);
            prop_assert_eq!(parts.iter().sum::<i64>(), total);
            let sum: i128 = weights.iter().map(|w| i128::from(*w)).sum();
            for (part, weight) in parts.iter().zip(&weights).filter(|_| sum > 0) {
                let least = i128::from(total) * i128::from(*weight) / sum;
                prop_assert!((least..=least + 1).contains(&i128::from(*part)));
                prop_assert!(*weight > 0 || *part == 0);
            }
        }
    }
}
