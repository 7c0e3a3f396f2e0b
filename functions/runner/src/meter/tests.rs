use std::sync::LazyLock;

use awo_domain::money::NanoUsd;
use genai_prices::Calculator;
use proptest::prelude::*;

use super::*;

fn at() -> Timestamp {
    Timestamp::from_epoch_ms(1_790_000_000_000)
}

/// A token costs a cent, whichever; a cent is a credit.
fn meter(max_credits: i64) -> Meter {
    let prices = br#"{"m":{"inputUsdPerMillion":10000,"outputUsdPerMillion":10000}}"#;
    let rates = Rates {
        credits_per_minute: MicroCredits::ZERO,
        ..Rates::default()
    };
    Meter::new(Budget {
        prices: Prices::parse(prices).unwrap(),
        rates,
        max_credits: MicroCredits::from_credits(max_credits),
        began: Instant::now(),
    })
}

/// A call of so many bytes that asks for this output.
fn case(model: &str, bytes: usize, output: u64) -> WorstCase {
    WorstCase {
        model: model.to_owned(),
        bytes,
        output,
        least_output: 1_024,
        cache_writes: CacheWrites::No,
        searches: 0,
        goes_on: false,
        is_operators: false,
    }
}

/// Reserves a call without output.
fn take_on(meter: &mut Meter, model: &str, bytes: usize) -> Result<Reservation, Shortage> {
    meter.reserve(&case(model, bytes, 0), true, at())
}

fn exceeded(reserved: Result<Reservation, Shortage>) -> String {
    match reserved {
        Err(Shortage::Exceeded(why)) => why,
        other => panic!("{other:?}"),
    }
}

fn counts(input: u64, output: u64) -> Option<Counts> {
    Some(Counts {
        input,
        output,
        ..Counts::default()
    })
}

/// With the price of [`meter`].
fn used(model: &str, input: u64, output: u64) -> PricedUsage {
    let counts = counts(input, output).unwrap();
    meter(0).priced(model, &counts, at())
}

#[test]
fn no_call_begins_whose_worst_case_the_credits_do_not_cover() {
    let mut meter = meter(100);
    let first = take_on(&mut meter, "m", 40).unwrap();
    meter.done(&first, counts(10, 50), at());
    // Eight bytes are three tokens at most: 60 + 40 are all.
    exceeded(take_on(&mut meter, "m", 106));
    let second = meter.reserve(&case("m", 16, 30), true, at()).unwrap();
    let beside = meter.reserve(&case("m", 16, 30), true, at());
    assert_eq!(beside, Err(Shortage::Contended), "its output counts");
    meter.done(&second, None, at());
    meter.reserve(&case("m", 16, 30), true, at()).unwrap();
    let (used, refused) = meter.end();
    let used = &used[0].usage;
    assert_eq!((used.input_tokens, used.output_tokens), (10, 50));
    assert!(refused.unwrap().contains("credits"));
}

#[test]
fn a_call_that_asks_for_too_much_gets_a_smaller_limit_and_never_the_least() {
    let mut meter = meter(2_000);
    let case = |output| case("m", 8, output);
    let lowered = meter.reserve(&case(64_000), false, at()).unwrap();
    assert_eq!(lowered.output, 1_996, "beside three tokens of input");
    let contended = meter.reserve(&case(64_000), true, at());
    assert_eq!(contended, Err(Shortage::Contended));
    meter.done(&lowered, counts(3, 997), at());
    exceeded(meter.reserve(&case(64_000), false, at()));
    let small = meter.reserve(&case(900), false, at()).unwrap();
    assert_eq!(small.output, 900, "it asked for less than the least");
}

#[test]
fn input_is_bounded_by_size_and_by_what_the_session_had_before() {
    let mut sessions = Sessions::default();
    assert_eq!(sessions.input(&case("m", 800, 0)), 300);
    sessions.reported("m", 800, &counts(700, 50).unwrap());
    for (bytes, goes_on, input) in [
        (1_000, false, 900),
        (800, false, 700),
        (8_000, false, 3_000),
        (80, false, 30),
        (80, true, 830),
    ] {
        let case = WorstCase {
            goes_on,
            ..case("m", bytes, 0)
        };
        assert_eq!(sessions.input(&case), input, "{bytes}");
    }
    assert_eq!(sessions.input(&case("other", 800, 0)), 300);
    let on_bedrock = WorstCase {
        is_operators: true,
        ..case("other", 800, 0)
    };
    assert_eq!(sessions.input(&on_bedrock), 800, "a token has a byte");
}

#[test]
fn what_may_be_written_to_the_cache_is_reserved_at_its_price() {
    let cost = |cache_writes| {
        let case = WorstCase {
            cache_writes,
            ..case("claude-sonnet-4-5", 8, 0)
        };
        let cost = case.cost(&Prices::default(), 1_000, 0, at());
        cost.unwrap().nano()
    };
    assert_eq!(cost(CacheWrites::No), 3_000_000);
    assert_eq!(cost(CacheWrites::Minutes), 3_750_000);
    assert_eq!(cost(CacheWrites::Hour), 6_000_000);
}

#[test]
fn compute_stops_before_it_eats_what_calls_under_way_may_cost() {
    let mut meter = meter(100);
    meter.budget.rates.credits_per_minute = MicroCredits::from_credits(6);
    let call = meter.reserve(&case("m", 0, 60), false, at()).unwrap();
    let left = meter.time_left();
    assert!(left <= Duration::from_secs(400), "{left:?}");
    meter.done(&call, None, at());
    assert!(meter.time_left() > Duration::from_secs(900));
}

#[test]
fn tokens_are_limited_over_the_whole_run_also_without_a_price() {
    let mut meter = meter(100);
    let before = used("free", 500, 400);
    meter.begin(&[before], Some(1_000));
    let call = take_on(&mut meter, "free", 40).unwrap();
    meter.done(&call, counts(10, 100), at());
    let why = exceeded(take_on(&mut meter, "free", 4));
    assert!(why.contains("maxTotalTokens is 1000"), "{why}");
}

#[test]
fn what_is_left_in_dollars_is_known_for_known_prices_alone() {
    let mut meter = meter(100);
    meter.begin(&[used("m", 10, 10)], None);
    assert_eq!(meter.usd_left("m", at()), Some(0.8));
    assert_eq!(meter.usd_left("free", at()), None);
}

#[test]
fn compute_is_covered_for_as_long_as_the_charge_stays_within_the_credits() {
    let mut meter = meter(100);
    assert_eq!(meter.time_left(), Duration::MAX, "it costs nothing");
    meter.budget.rates.credits_per_minute = MicroCredits::from_credits(7);
    meter.spent(&[used("m", 30, 60)]);
    // Ten credits are 85 s and a part of one.
    let left = meter.time_left();
    assert!(
        left <= Duration::from_secs(85) && left > Duration::from_secs(60),
        "{left:?}"
    );
    let charge = |ms| meter.budget.rates.cost(NanoUsd::default(), ms);
    assert!(charge(85_000) <= MicroCredits::from_credits(10));
    assert!(charge(85_001) > MicroCredits::from_credits(10));
    assert_eq!(meter.used_up(), None);
    meter.spent(&[used("m", 100, 0)]);
    assert!(meter.used_up().unwrap().contains("may cost 100"));
}

#[test]
fn what_an_agent_says_counts_until_something_was_counted() {
    let mut meter = meter(100);
    meter.begin(&[], Some(50));
    meter.report(vec![counts(60, 0).unwrap().of("free")], at());
    assert!(meter.used_up().unwrap().contains("60 tokens"));
    let call = take_on(&mut meter, "free", 4).unwrap();
    meter.done(&call, counts(10, 0), at());
    assert_eq!(meter.used_up(), None);
}

#[test]
fn compute_is_part_of_the_budget() {
    let mut meter = meter(1_000);
    let second = Duration::from_secs(1);
    meter.budget.began = meter.budget.began.checked_sub(second).unwrap();
    meter.budget.rates.credits_per_minute = MicroCredits::from_credits(60);
    assert!(take_on(&mut meter, "free", 4).is_ok());
    meter.budget.rates.credits_per_minute = MicroCredits::from_credits(600_000);
    assert!(take_on(&mut meter, "free", 4).is_err());
}

/// Every model of the table whose price depends on the size of a call.
static TIERED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let providers = Calculator::bundled().providers();
    let ids = providers.flat_map(|provider| provider.models().map(|model| model.id().to_owned()));
    let cost = |model: &str, input: u64| {
        let counts = counts(input, 0).unwrap();
        let cost = Prices::default().call(model, &counts, at());
        cost.map_or(0, NanoUsd::nano)
    };
    let mut tiered: Vec<String> = ids
        .filter(|model| cost(model, 2_000_000) > cost(model, 2_000) * 1_000)
        .collect();
    tiered.sort();
    tiered.dedup();
    tiered
});

/// What a run is charged for models that made these calls, by a meter like that of a real run.
fn charge(calls: &[(&str, Counts)]) -> MicroCredits {
    let rates = Rates::default();
    let mut meter = Meter::new(Budget {
        prices: Prices::default(),
        rates,
        max_credits: MicroCredits::from_credits(1_000_000_000),
        began: Instant::now(),
    });
    for (model, counts) in calls {
        let call = take_on(&mut meter, model, 4).unwrap();
        meter.done(&call, Some(*counts), at());
    }
    rates.cost(PricedUsage::total(&meter.end().0), 0)
}

#[test]
fn many_small_calls_do_not_become_a_long_context() {
    let calls = [("claude-sonnet-4-5", counts(60_000, 0).unwrap()); 40];
    // 2.4 million tokens at 3 US dollars a million, at 100 credits each.
    assert_eq!(charge(&calls), MicroCredits::from_credits(720));
    assert!(TIERED.len() > 30, "{}", TIERED.len());
}

/// An event of a run's calls.
#[derive(Debug, Clone)]
enum Step {
    /// A call of so many bytes that asks for this output, and may get less.
    Call(usize, u64, bool),
    /// One of those under way is answered with these parts of its bounds, in thousandths.
    Answer(usize, u64, u64),
    /// One of them breaks off without a count.
    Fault(usize),
    /// Another attempt begins.
    Attempt,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..400_000usize, 1..100_000u64, any::<bool>()).prop_map(|(b, o, l)| Step::Call(b, o, l)),
        3 => (0..8usize, 0..=1_000u64, 0..=1_000u64).prop_map(|(i, a, b)| Step::Answer(i, a, b)),
        1 => (0..8usize).prop_map(Step::Fault),
        1 => Just(Step::Attempt),
    ];
    prop::collection::vec(step, 1..80)
}

/// Takes these steps; returns what the run is charged for models.
fn charged(model: &str, max_credits: MicroCredits, steps: &[Step]) -> MicroCredits {
    let rates = Rates {
        credits_per_minute: MicroCredits::ZERO,
        ..Rates::default()
    };
    let mut meter = Meter::new(Budget {
        prices: Prices::default(),
        rates,
        max_credits,
        began: Instant::now(),
    });
    let (mut before, mut under_way) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Call(bytes, output, lowers) if under_way.len() < 8 => {
                let case = WorstCase {
                    cache_writes: CacheWrites::Minutes,
                    ..case(model, *bytes, *output)
                };
                let input = meter.sessions.input(&case);
                let reserved = meter.reserve(&case, *lowers, at());
                under_way.extend(reserved.ok().map(|call| (call, input)));
            }
            Step::Answer(which, input_part, output_part) if *which < under_way.len() => {
                let (call, input) = under_way.remove(*which);
                let answer = Counts {
                    input: input * input_part / 1_000,
                    written: input * input_part / 1_000,
                    output: call.output * output_part / 1_000,
                    ..Counts::default()
                };
                meter.done(&call, Some(answer), at());
            }
            Step::Fault(which) if *which < under_way.len() => {
                let (call, _) = under_way.remove(*which);
                meter.done(&call, None, at());
            }
            Step::Attempt => {
                before.extend(meter.end().0);
                meter.begin(&before, None);
            }
            _ => {}
        }
    }
    // All that is still under way takes its worst case.
    for (call, input) in under_way {
        let worst = Counts {
            input,
            written: input,
            output: call.output,
            ..Counts::default()
        };
        meter.done(&call, Some(worst), at());
    }
    before.extend(meter.end().0);
    rates.cost(PricedUsage::total(&before), 0)
}

proptest! {
    #[test]
    fn usage_never_exceeds_the_credits_whatever_calls_return(
        model in prop::sample::select(vec!["claude-opus-4-1", "claude-sonnet-4-5", "gpt-5", "gpt-4o"]),
        max_credits in 1..2_000i64,
        steps in steps(),
    ) {
        let most = MicroCredits::from_credits(max_credits);
        let charge = charged(model, most, &steps);
        prop_assert!(charge <= most, "{} of {}", charge.to_decimal(), most.to_decimal());
    }

    #[test]
    fn the_charge_is_the_sum_of_what_each_call_costs(
        models in prop::collection::vec(prop::sample::select(TIERED.as_slice()), 1..4),
        calls in prop::collection::vec((0..4usize, 0..1_000_000u64, 0..100_000u64), 1..40),
    ) {
        let calls: Vec<(&str, Counts)> = calls
            .into_iter()
            .map(|(model, input, output)| {
                (models[model % models.len()].as_str(), counts(input, output).unwrap())
            })
            .collect();
        let each = calls.iter().filter_map(|(model, counts)| Prices::default().call(model, counts, at()));
        let sum = each.fold(NanoUsd::ZERO, NanoUsd::plus);
        prop_assert_eq!(charge(&calls), Rates::default().cost(sum, 0));
    }
}
