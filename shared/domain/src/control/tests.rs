use super::*;

#[test]
fn a_stronger_wish_is_one_that_leaves_less_time() {
    let kill = |grace_period_ms, immediate| Wish::Kill {
        grace_period_ms,
        immediate,
    };
    let by_strength = [
        Wish::Cancel,
        kill(5_000, false),
        kill(0, false),
        kill(9, true),
    ];
    for (i, weaker) in by_strength.iter().enumerate() {
        for (j, stronger) in by_strength.iter().enumerate() {
            assert_eq!(stronger.is_stronger_than(*weaker), j > i);
        }
    }
}
