//! What models were used for, and whether the budget covers another call. Of what is under way only
//! an estimate of its input is known: a call may end above the budget, none begins above it. And how
//! long the run may go on: compute is part of the budget, also where no model is called.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use awo_domain::Timestamp;
use awo_domain::agent::answer::Counts;
use awo_domain::ledger::Rates;
use awo_domain::money::{MicroCredits, NanoUsd};
use awo_domain::usage::{ModelUsage, sum_by_model};
use awo_pricing::Prices;

/// Bytes of a request that make one token, roughly. It is for what is under way alone; what is
/// counted in the end is what the provider says.
const BYTES_PER_TOKEN: u64 = 4;

/// What a run may use.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    pub(crate) prices: Prices,
    pub(crate) rates: Rates,
    /// Of the whole run, its compute included.
    pub(crate) max_credits: MicroCredits,
    /// When its compute began to cost.
    pub(crate) began: Instant,
}

/// The meter of a run, for all who look at it.
#[derive(Debug, Clone)]
pub(crate) struct SharedMeter(Arc<Mutex<Meter>>);

impl SharedMeter {
    pub(crate) fn new(budget: Budget) -> SharedMeter {
        SharedMeter(Arc::new(Mutex::new(Meter::new(budget))))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Meter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The meter of a run.
#[derive(Debug)]
pub(crate) struct Meter {
    budget: Budget,
    /// Of the whole run.
    max_tokens: Option<u64>,
    /// What was used before the present attempt.
    before: Vec<ModelUsage>,
    /// What was used in it.
    now: Vec<ModelUsage>,
    /// What its agent says that it has used; it counts as long as nothing was counted.
    told: Vec<ModelUsage>,
    /// What its calls under way will take at least.
    under_way: Vec<ModelUsage>,
    /// Why a call was refused, if one was.
    refused: Option<String>,
}

impl Meter {
    pub(crate) fn new(budget: Budget) -> Meter {
        Meter {
            budget,
            max_tokens: None,
            before: Vec::new(),
            now: Vec::new(),
            told: Vec::new(),
            under_way: Vec::new(),
            refused: None,
        }
    }

    /// A new attempt begins.
    pub(crate) fn begin(&mut self, before: &[ModelUsage], max_tokens: Option<u64>) {
        self.before = before.to_vec();
        self.max_tokens = max_tokens;
        self.now.clear();
        self.told.clear();
        self.refused = None;
    }

    /// What the run has used so far, between attempts.
    pub(crate) fn spent(&mut self, before: &[ModelUsage]) {
        self.before = before.to_vec();
    }

    /// What the agent at work says that it has used.
    pub(crate) fn tell(&mut self, usage: Vec<ModelUsage>) {
        self.told = usage;
    }

    /// What the attempt has used, and why a call of it was refused, if one was.
    pub(crate) fn end(&mut self) -> (Vec<ModelUsage>, Option<String>) {
        self.told.clear();
        (std::mem::take(&mut self.now), self.refused.take())
    }

    /// Takes a call on; what is returned goes back to [`Self::done`].
    ///
    /// # Errors
    /// A sentence, if the budget does not cover it.
    pub(crate) fn take_on(
        &mut self,
        model: &str,
        bytes: usize,
        at: Timestamp,
    ) -> Result<ModelUsage, String> {
        let call = Counts {
            input: bytes as u64 / BYTES_PER_TOKEN,
            ..Counts::default()
        };
        let call = call.of(model);
        self.under_way.push(call.clone());
        let Some(why) = self.uncovered(at) else {
            return Ok(call);
        };
        self.under_way.pop();
        self.refused = Some(why.clone());
        Err(why)
    }

    /// A call is over; without counts nothing is known of it, and nothing is made up.
    pub(crate) fn done(&mut self, call: &ModelUsage, counts: Option<Counts>) {
        if let Some(at) = self.under_way.iter().position(|one| one == call) {
            self.under_way.swap_remove(at);
        }
        if let Some(counts) = counts {
            self.now.push(counts.of(&call.model));
            self.now = sum_by_model(&self.now);
        }
    }

    /// Why what is used and under way is more than there is, if it is.
    fn uncovered(&self, at: Timestamp) -> Option<String> {
        let used = tokens(self.all());
        if let Some(most) = self.max_tokens.filter(|most| used >= *most) {
            return Some(format!(
                "with this call the run would use {used} tokens or more, and its profile's \
                 executionLimits.maxTotalTokens is {most}"
            ));
        }
        let cost = self.cost(self.all(), at);
        (cost >= self.budget.max_credits).then(|| {
            format!(
                "with this call the run would cost {} credits or more, and it may cost {}",
                cost.to_decimal(),
                self.budget.max_credits.to_decimal()
            )
        })
    }

    /// Why nothing more may be used, if that is so.
    pub(crate) fn used_up(&self, at: Timestamp) -> Option<String> {
        let used = tokens(self.used());
        if let Some(most) = self.max_tokens.filter(|most| used >= *most) {
            return Some(format!(
                "the run has used {used} tokens, and its profile's \
                 executionLimits.maxTotalTokens is {most}"
            ));
        }
        self.time_left(at).is_zero().then(|| {
            format!(
                "the run has cost {} credits, its compute included, and it may cost {}",
                self.cost(self.used(), at).to_decimal(),
                self.budget.max_credits.to_decimal()
            )
        })
    }

    /// For how long the credits cover compute, if no model is called any more.
    pub(crate) fn time_left(&self, at: Timestamp) -> Duration {
        let left = self.budget.max_credits.minus(self.models(self.used(), at));
        let per_minute = self.budget.rates.credits_per_minute.micro();
        let covered = match (left.micro(), per_minute) {
            (..=0, _) => Duration::ZERO,
            (_, ..=0) => return Duration::MAX,
            // By the started second: what is left of the last one is not covered.
            (left, per_minute) => {
                let seconds = i128::from(left) * 60 / i128::from(per_minute);
                Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX))
            }
        };
        covered.saturating_sub(self.budget.began.elapsed())
    }

    fn used(&self) -> impl Iterator<Item = &ModelUsage> {
        let now = match self.now.is_empty() {
            true => &self.told,
            false => &self.now,
        };
        self.before.iter().chain(now)
    }

    fn all(&self) -> impl Iterator<Item = &ModelUsage> {
        self.before.iter().chain(&self.now).chain(&self.under_way)
    }

    fn cost<'a>(&self, used: impl Iterator<Item = &'a ModelUsage>, at: Timestamp) -> MicroCredits {
        let models = self.usd(used, at);
        let compute_ms = self.budget.began.elapsed().as_millis();
        let compute_ms = i64::try_from(compute_ms).unwrap_or(i64::MAX);
        self.budget.rates.cost(models, compute_ms)
    }

    fn models<'a>(
        &self,
        used: impl Iterator<Item = &'a ModelUsage>,
        at: Timestamp,
    ) -> MicroCredits {
        self.budget.rates.cost(self.usd(used, at), 0)
    }

    /// A model without a price costs nothing here, as it does in the end.
    fn usd<'a>(&self, used: impl Iterator<Item = &'a ModelUsage>, at: Timestamp) -> NanoUsd {
        sum_by_model(used)
            .iter()
            .filter_map(|usage| self.budget.prices.cost(usage, at))
            .fold(NanoUsd::default(), NanoUsd::plus)
    }

    /// US dollars that are left for a model; nothing where its price is not known.
    pub(crate) fn usd_left(&self, model: &str, at: Timestamp) -> Option<f64> {
        let token = Counts {
            output: 1_000,
            ..Counts::default()
        };
        self.budget.prices.cost(&token.of(model), at)?;
        let left = self
            .budget
            .max_credits
            .minus(self.cost(self.all(), at))
            .to_decimal();
        let per_usd = self.budget.rates.credits_per_usd.to_decimal();
        (per_usd > 0.0).then(|| left.max(0.0) / per_usd)
    }
}

fn tokens<'a>(used: impl Iterator<Item = &'a ModelUsage>) -> u64 {
    used.map(|used| used.input_tokens.saturating_add(used.output_tokens))
        .fold(0, u64::saturating_add)
}

/// The time of prices.
pub(crate) fn now() -> Timestamp {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    Timestamp::from_epoch_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn no_call_begins_that_the_credits_do_not_cover() {
        let mut meter = meter(100);
        let first = meter.take_on("m", 40, at()).unwrap();
        meter.done(&first, counts(10, 50));
        assert!(meter.take_on("m", 161, at()).is_err(), "60 + 40 are all");
        let second = meter.take_on("m", 80, at()).unwrap();
        let beside = meter.take_on("m", 80, at());
        assert!(beside.is_err(), "what is under way counts: {beside:?}");
        meter.done(&second, None);
        let (used, refused) = meter.end();
        assert_eq!((used[0].input_tokens, used[0].output_tokens), (10, 50));
        assert!(refused.unwrap().contains("credits"));
    }

    #[test]
    fn tokens_are_limited_over_the_whole_run_also_without_a_price() {
        let mut meter = meter(100);
        let before = counts(500, 400).unwrap().of("free");
        meter.begin(&[before], Some(1_000));
        let call = meter.take_on("free", 40, at()).unwrap();
        meter.done(&call, counts(10, 100));
        let why = meter.take_on("free", 4, at()).unwrap_err();
        assert!(why.contains("maxTotalTokens is 1000"), "{why}");
    }

    #[test]
    fn what_is_left_in_dollars_is_known_for_known_prices_alone() {
        let mut meter = meter(100);
        meter.begin(&[counts(10, 10).unwrap().of("m")], None);
        assert_eq!(meter.usd_left("m", at()), Some(0.8));
        assert_eq!(meter.usd_left("free", at()), None);
    }

    #[test]
    fn compute_is_covered_for_as_long_as_the_charge_stays_within_the_credits() {
        let mut meter = meter(100);
        assert_eq!(meter.time_left(at()), Duration::MAX, "it costs nothing");
        meter.budget.rates.credits_per_minute = MicroCredits::from_credits(7);
        meter.spent(&[counts(30, 60).unwrap().of("m")]);
        // Ten credits are 85 s and a part of one.
        let left = meter.time_left(at());
        assert!(
            left <= Duration::from_secs(85) && left > Duration::from_secs(60),
            "{left:?}"
        );
        let charge = |ms| meter.budget.rates.cost(NanoUsd::default(), ms);
        assert!(charge(85_000) <= MicroCredits::from_credits(10));
        assert!(charge(85_001) > MicroCredits::from_credits(10));
        assert_eq!(meter.used_up(at()), None);
        meter.spent(&[counts(100, 0).unwrap().of("m")]);
        assert!(meter.used_up(at()).unwrap().contains("may cost 100"));
    }

    #[test]
    fn what_an_agent_says_counts_until_something_was_counted() {
        let mut meter = meter(100);
        meter.begin(&[], Some(50));
        meter.tell(vec![counts(60, 0).unwrap().of("free")]);
        assert!(meter.used_up(at()).unwrap().contains("60 tokens"));
        let call = meter.take_on("free", 4, at()).unwrap();
        meter.done(&call, counts(10, 0));
        assert_eq!(meter.used_up(at()), None);
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
}
