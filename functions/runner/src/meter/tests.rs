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
fn no_call_begins_that_the_credits_do_not_cover() {
    let mut meter = meter(100);
    let first = meter.take_on("m", 40, at()).unwrap();
    meter.done(&first, counts(10, 50), at());
    assert!(meter.take_on("m", 161, at()).is_err(), "60 + 40 are all");
    let second = meter.take_on("m", 80, at()).unwrap();
    let beside = meter.take_on("m", 80, at());
    assert!(beside.is_err(), "what is under way counts: {beside:?}");
    meter.done(&second, None, at());
    let (used, refused) = meter.end();
    let used = &used[0].usage;
    assert_eq!((used.input_tokens, used.output_tokens), (10, 50));
    assert!(refused.unwrap().contains("credits"));
}

#[test]
fn tokens_are_limited_over_the_whole_run_also_without_a_price() {
    let mut meter = meter(100);
    let before = used("free", 500, 400);
    meter.begin(&[before], Some(1_000));
    let call = meter.take_on("free", 40, at()).unwrap();
    meter.done(&call, counts(10, 100), at());
    let why = meter.take_on("free", 4, at()).unwrap_err();
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
    let call = meter.take_on("free", 4, at()).unwrap();
    meter.done(&call, counts(10, 0), at());
    assert_eq!(meter.used_up(), None);
}

#[test]
fn compute_is_part_of_the_budget() {
    let mut meter = meter(1_000);
    // By the started second, of which this test may take some.
    meter.budget.rates.credits_per_minute = MicroCredits::from_credits(60);
    assert!(meter.take_on("free", 4, at()).is_ok());
    meter.budget.rates.credits_per_minute = MicroCredits::from_credits(600_000);
    assert!(meter.take_on("free", 4, at()).is_err());
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
        let call = meter.take_on(model, 4, at()).unwrap();
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

proptest! {
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
