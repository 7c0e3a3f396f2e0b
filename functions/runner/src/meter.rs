//! Model usage, and whether the budget covers another call. For calls in flight only an estimate of
//! the input is known: a call may end above the budget, but none begins above it. Also the
//! remaining time: compute is part of the budget, even without model calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use awo_domain::Timestamp;
use awo_domain::agent::answer::Counts;
use awo_domain::ledger::Rates;
use awo_domain::money::MicroCredits;
use awo_domain::usage::{ModelUsage, PricedUsage, sum_by_model};
use awo_pricing::Prices;

/// Bytes of a request that make one token, roughly. It is for what is under way alone; what is
/// counted in the end is the provider's number.
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

/// The meter of a run, shared by its readers.
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
    before: Vec<PricedUsage>,
    /// What was used in it.
    now: Vec<PricedUsage>,
    /// The usage that its agent reports; it counts as long as nothing was counted.
    reported_usage: Vec<PricedUsage>,
    /// What its calls under way will take at least.
    under_way: Vec<PricedUsage>,
    /// Why a call was refused, if one was.
    refused: Option<String>,
    /// For how long compute has cost nothing, and since when it does.
    free: Duration,
    paused: Option<Instant>,
}

impl Meter {
    pub(crate) fn new(budget: Budget) -> Meter {
        Meter {
            budget,
            max_tokens: None,
            before: Vec::new(),
            now: Vec::new(),
            reported_usage: Vec::new(),
            under_way: Vec::new(),
            refused: None,
            free: Duration::ZERO,
            paused: None,
        }
    }

    /// From now on compute costs nothing.
    pub(crate) fn pause(&mut self) {
        self.paused.get_or_insert_with(Instant::now);
    }

    /// From now on it costs again.
    pub(crate) fn resume(&mut self) {
        self.free += self
            .paused
            .take()
            .map_or(Duration::ZERO, |since| since.elapsed());
    }

    /// How long compute has cost.
    fn compute(&self) -> Duration {
        let now = self.paused.map_or(Duration::ZERO, |since| since.elapsed());
        let elapsed = self.budget.began.elapsed();
        elapsed.saturating_sub(self.free).saturating_sub(now)
    }

    /// A new attempt begins.
    pub(crate) fn begin(&mut self, before: &[PricedUsage], max_tokens: Option<u64>) {
        self.before = before.to_vec();
        self.max_tokens = max_tokens;
        self.now.clear();
        self.reported_usage.clear();
        self.refused = None;
    }

    /// What the run has used so far, between attempts.
    pub(crate) fn spent(&mut self, before: &[PricedUsage]) {
        self.before = before.to_vec();
    }

    /// Records the usage that the agent at work reports.
    pub(crate) fn report(&mut self, usage: Vec<ModelUsage>, at: Timestamp) {
        self.reported_usage = self.price(usage, at);
    }

    /// What a process reports of itself, with its price.
    pub(crate) fn price(&self, usage: Vec<ModelUsage>, at: Timestamp) -> Vec<PricedUsage> {
        self.budget.prices.price_reported(usage, at)
    }

    /// What the attempt has used, and why a call of it was refused, if one was.
    pub(crate) fn end(&mut self) -> (Vec<PricedUsage>, Option<String>) {
        self.reported_usage.clear();
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
    ) -> Result<PricedUsage, String> {
        let call = Counts {
            input: bytes as u64 / BYTES_PER_TOKEN,
            ..Counts::default()
        };
        let call = self.priced(model, &call, at);
        self.under_way.push(call.clone());
        let Some(why) = self.uncovered() else {
            return Ok(call);
        };
        self.under_way.pop();
        self.refused = Some(why.clone());
        Err(why)
    }

    /// A call is over, and has the price of its own size; without counts nothing is known of it, and
    /// nothing is made up.
    pub(crate) fn done(&mut self, call: &PricedUsage, counts: Option<Counts>, at: Timestamp) {
        if let Some(at) = self.under_way.iter().position(|one| one == call) {
            self.under_way.swap_remove(at);
        }
        if let Some(counts) = counts {
            let used = self.priced(&call.usage.model, &counts, at);
            self.now.push(used);
            self.now = sum_by_model(&self.now);
        }
    }

    fn priced(&self, model: &str, counts: &Counts, at: Timestamp) -> PricedUsage {
        PricedUsage::new(counts.of(model), self.budget.prices.call(model, counts, at))
    }

    /// Why what is used and under way is more than there is, if it is.
    fn uncovered(&self) -> Option<String> {
        let used = tokens(self.all());
        if let Some(most) = self.max_tokens.filter(|most| used >= *most) {
            return Some(format!(
                "with this call the run would use {used} tokens or more, and its profile's \
                 executionLimits.maxTotalTokens is {most}"
            ));
        }
        let cost = self.cost(self.all());
        (cost >= self.budget.max_credits).then(|| {
            format!(
                "with this call the run would cost {} credits or more, and it may cost {}",
                cost.to_decimal(),
                self.budget.max_credits.to_decimal()
            )
        })
    }

    /// Why nothing more may be used, if that is so.
    pub(crate) fn used_up(&self) -> Option<String> {
        let used = tokens(self.used());
        if let Some(most) = self.max_tokens.filter(|most| used >= *most) {
            return Some(format!(
                "the run has used {used} tokens, and its profile's \
                 executionLimits.maxTotalTokens is {most}"
            ));
        }
        self.time_left().is_zero().then(|| {
            format!(
                "the run has cost {} credits, its compute included, and it may cost {}",
                self.cost(self.used()).to_decimal(),
                self.budget.max_credits.to_decimal()
            )
        })
    }

    /// For how long the credits cover compute, if no model is called any more.
    pub(crate) fn time_left(&self) -> Duration {
        let left = self.budget.max_credits.minus(self.models(self.used()));
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
        covered.saturating_sub(self.compute())
    }

    fn used(&self) -> impl Iterator<Item = &PricedUsage> {
        let now = if self.now.is_empty() {
            &self.reported_usage
        } else {
            &self.now
        };
        self.before.iter().chain(now)
    }

    fn all(&self) -> impl Iterator<Item = &PricedUsage> {
        self.before.iter().chain(&self.now).chain(&self.under_way)
    }

    fn cost<'a>(&self, used: impl Iterator<Item = &'a PricedUsage>) -> MicroCredits {
        let models = PricedUsage::total_of(used);
        let compute_ms = self.compute().as_millis();
        let compute_ms = i64::try_from(compute_ms).unwrap_or(i64::MAX);
        self.budget.rates.cost(models, compute_ms)
    }

    /// A model without a price costs nothing here, as it does in the end.
    fn models<'a>(&self, used: impl Iterator<Item = &'a PricedUsage>) -> MicroCredits {
        self.budget.rates.cost(PricedUsage::total_of(used), 0)
    }

    /// US dollars that are left for a model; nothing where its price is not known.
    pub(crate) fn usd_left(&self, model: &str, at: Timestamp) -> Option<f64> {
        let token = Counts {
            output: 1_000,
            ..Counts::default()
        };
        self.budget.prices.call(model, &token, at)?;
        let left = self
            .budget
            .max_credits
            .minus(self.cost(self.all()))
            .to_decimal();
        let per_usd = self.budget.rates.credits_per_usd.to_decimal();
        (per_usd > 0.0).then(|| left.max(0.0) / per_usd)
    }
}

fn tokens<'a>(used: impl Iterator<Item = &'a PricedUsage>) -> u64 {
    used.map(|used| used.usage.tokens())
        .fold(0, u64::saturating_add)
}

/// The time of prices.
pub(crate) fn now() -> Timestamp {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    Timestamp::from_epoch_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
