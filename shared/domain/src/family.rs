//! Limits of a run's children: an agent's family has one budget. The holds of an agent's children
//! come out of the hold of the requesting run, and their time limit is its remaining time.

use crate::money::MicroCredits;

/// Shares what is left of a run's hold among the children that its agent asks for, and the run
/// itself, which has to integrate their work: in equal parts, but no child gets more than it
/// asks for, and what that leaves is shared by the others. A child without a limit of its own, and
/// the run, ask for as much as there is.
#[must_use]
pub fn shares(left: MicroCredits, asked: &[Option<MicroCredits>]) -> Vec<MicroCredits> {
    let wanted = |at: &usize| asked[*at].unwrap_or(left).min(left);
    let mut smallest_first: Vec<usize> = (0..asked.len()).collect();
    smallest_first.sort_by_key(wanted);
    let mut rest = left.max(MicroCredits::ZERO);
    let mut shares = vec![MicroCredits::ZERO; asked.len()];
    for (done, at) in smallest_first.iter().enumerate() {
        // Those that have no share yet, and the run.
        let sharers = i64::try_from(asked.len() - done + 1).unwrap_or(i64::MAX);
        let equal = MicroCredits::from_micro(rest.micro() / sharers);
        shares[*at] = wanted(at).clamp(MicroCredits::ZERO, equal);
        rest = rest.minus(shares[*at]);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn credits(amounts: &[i64]) -> Vec<MicroCredits> {
        amounts
            .iter()
            .map(|n| MicroCredits::from_credits(*n))
            .collect()
    }

    #[test]
    fn children_without_a_limit_share_equally_with_the_run() {
        let left = MicroCredits::from_credits(90);
        assert_eq!(shares(left, &[None, None]), credits(&[30, 30]));
    }

    #[test]
    fn what_a_child_does_not_ask_for_is_shared_by_the_others() {
        let left = MicroCredits::from_credits(90);
        let small = Some(MicroCredits::from_credits(10));
        let large = Some(MicroCredits::from_credits(400_000));
        assert_eq!(shares(left, &[large, small]), credits(&[40, 10]));
    }

    proptest! {
        #[test]
        fn a_family_never_holds_more_than_there_was(
            left in -5i64..1_000_000,
            asked in prop::collection::vec(prop::option::of(1i64..2_000_000), 0..20),
        ) {
            let left = MicroCredits::from_micro(left);
            let asked: Vec<_> = asked.into_iter().map(|a| a.map(MicroCredits::from_micro)).collect();
            let shares = shares(left, &asked);
            let sum: i64 = shares.iter().map(|share| share.micro()).sum();
            let least = shares.iter().max().copied().unwrap_or_default();
            prop_assert!(sum + least.micro() <= left.micro().max(0), "the run has a share, too");
            for (share, asked) in shares.iter().zip(&asked) {
                prop_assert!(*share >= MicroCredits::ZERO);
                prop_assert!(asked.is_none_or(|asked| *share <= asked));
            }
        }
    }
}
