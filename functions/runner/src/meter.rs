//! Model usage, and whether the budget covers another call. A call in flight reserves its worst case
//! (`worst_case`), so that usage stays within the budget whatever the calls under way return. Also the
//! remaining time: compute is part of the budget, even without model calls.

mod worst_case;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use awo_domain::Timestamp;
use awo_domain::agent::answer::Counts;
use awo_domain::ledger::Rates;
use awo_domain::money::{MicroCredits, NanoUsd};
use awo_domain::usage::{ModelUsage, PricedUsage, sum_by_model};
use awo_pricing::Prices;

pub(crate) use worst_case::{CacheWrites, Reservation, Shortage, WorstCase};
use worst_case::{Sessions, largest};

/// Bytes of a request that make one token, roughly. It is for the limit of tokens and for what is under way
/// alone; what is counted in the end is the provider's number.
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
    /// The worst case of its calls under way.
    under_way: Vec<Reservation>,
    /// Number of the next reservation.
    next: u64,
    sessions: Sessions,
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
            next: 0,
            sessions: Sessions::default(),
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

    /// Reserves the worst case of a call; what is returned goes back to [`Self::done`]. Where it does not fit,
    /// a call gets a smaller limit of its output: if `lowers`, or if no other call is under way that could end.
    ///
    /// # Errors
    /// Why there is nothing to be had for it.
    pub(crate) fn reserve(
        &mut self,
        case: &WorstCase,
        lowers: bool,
        at: Timestamp,
    ) -> Result<Reservation, Shortage> {
        let tokens = case.bytes as u64 / BYTES_PER_TOKEN;
        if let Some(why) = self.beyond_tokens(tokens) {
            return Err(self.refuse(why));
        }
        let input = self.sessions.input(case);
        let reserved = self.reserved();
        let is_alone = self.under_way.is_empty();
        let fits = |output: u64, reserved: NanoUsd| {
            let cost = case.cost(&self.budget.prices, input, output, at);
            self.covers(reserved, cost, output).then_some(cost)
        };
        let mut output = case.output;
        let mut cost = fits(output, reserved);
        if cost.is_none() && (is_alone || lowers) {
            output = largest(case, |output| fits(output, reserved).is_some());
            cost = fits(output, reserved);
        }
        if let Some(cost) = cost {
            self.next += 1;
            let reservation = Reservation {
                number: self.next,
                model: case.model.clone(),
                bytes: case.bytes,
                tokens,
                output,
                cost,
            };
            self.under_way.push(reservation.clone());
            return Ok(reservation);
        }
        let least = case.least_output.min(case.output);
        if !is_alone && fits(least, NanoUsd::ZERO).is_some() {
            return Err(Shortage::Contended);
        }
        let least_cost = case.cost(&self.budget.prices, input, least, at);
        let with_it = self.cost(self.counted(), least_cost.unwrap_or_default());
        let why = format!(
            "with this call the run could cost {} credits or more, and it may cost {}: a call reserves its input \
             and its most output tokens",
            with_it.to_decimal(),
            self.budget.max_credits.to_decimal()
        );
        Err(self.refuse(why))
    }

    fn refuse(&mut self, why: String) -> Shortage {
        self.refused = Some(why.clone());
        Shortage::Exceeded(why)
    }

    /// A call is over, and has the price of its own size; without counts nothing is known of it, and
    /// nothing is made up.
    pub(crate) fn done(
        &mut self,
        reservation: &Reservation,
        counts: Option<Counts>,
        at: Timestamp,
    ) {
        self.under_way
            .retain(|other| other.number != reservation.number);
        if let Some(counts) = counts {
            let model = &reservation.model;
            self.sessions.reported(model, reservation.bytes, &counts);
            let used = self.priced(model, &counts, at);
            self.now.push(used);
            self.now = sum_by_model(&self.now);
        }
    }

    fn priced(&self, model: &str, counts: &Counts, at: Timestamp) -> PricedUsage {
        PricedUsage::new(counts.of(model), self.budget.prices.call(model, counts, at))
    }

    /// Why a call with so many tokens of input is more than the profile grants, if it is.
    fn beyond_tokens(&self, tokens_of_call: u64) -> Option<String> {
        let under_way = self.under_way.iter().map(|call| call.tokens);
        let used = under_way.fold(tokens(self.counted()), u64::saturating_add);
        let used = used.saturating_add(tokens_of_call);
        let most = self.max_tokens.filter(|most| used >= *most)?;
        Some(format!(
            "with this call the run would use {used} tokens or more, and its profile's \
             executionLimits.maxTotalTokens is {most}"
        ))
    }

    /// True if the credits cover what is counted and reserved and a call of this cost, with the compute that
    /// passes meanwhile. A model without a price costs nothing.
    fn covers(&self, reserved: NanoUsd, cost: Option<NanoUsd>, output: u64) -> bool {
        let mut ms = self.compute_ms();
        if cost.is_some() {
            ms = ms.saturating_add(millis(WorstCase::time(output)));
        }
        let models = PricedUsage::total_of(self.counted());
        let models = models.plus(reserved).plus(cost.unwrap_or_default());
        self.budget.rates.cost(models, ms) < self.budget.max_credits
    }

    /// The worst case of all calls under way.
    fn reserved(&self) -> NanoUsd {
        let costs = self.under_way.iter().filter_map(|call| call.cost);
        costs.fold(NanoUsd::ZERO, NanoUsd::plus)
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
            let reserved = match self.budget.rates.cost(self.reserved(), 0) {
                MicroCredits::ZERO => String::new(),
                reserved => format!(
                    " ({} more are reserved for calls under way)",
                    reserved.to_decimal()
                ),
            };
            format!(
                "the run has cost {} credits{reserved}, its compute included, and it may cost {}",
                self.cost(self.used(), NanoUsd::ZERO).to_decimal(),
                self.budget.max_credits.to_decimal()
            )
        })
    }

    /// Why a call of the attempt was refused, if one was. A call is refused before the credits are used up.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refused.clone()
    }

    /// For how long the credits cover compute, if no model is called any more and the calls under way cost
    /// their worst case.
    pub(crate) fn time_left(&self) -> Duration {
        let models = PricedUsage::total_of(self.used()).plus(self.reserved());
        let models = self.budget.rates.cost(models, 0);
        let left = self.budget.max_credits.minus(models);
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

    /// Usage that providers have reported.
    fn counted(&self) -> impl Iterator<Item = &PricedUsage> {
        self.before.iter().chain(&self.now)
    }

    /// A model without a price costs nothing here, as it does in the end.
    fn cost<'a>(
        &self,
        used: impl Iterator<Item = &'a PricedUsage>,
        reserved: NanoUsd,
    ) -> MicroCredits {
        let models = PricedUsage::total_of(used).plus(reserved);
        self.budget.rates.cost(models, self.compute_ms())
    }

    fn compute_ms(&self) -> i64 {
        millis(self.compute())
    }

    /// True if the model's calls have a price.
    pub(crate) fn has_price(&self, model: &str, at: Timestamp) -> bool {
        let token = Counts {
            output: 1_000,
            ..Counts::default()
        };
        self.budget.prices.call(model, &token, at).is_some()
    }

    /// US dollars that are left for a model; nothing where its price is not known.
    pub(crate) fn usd_left(&self, model: &str, at: Timestamp) -> Option<f64> {
        if !self.has_price(model, at) {
            return None;
        }
        let left = self
            .budget
            .max_credits
            .minus(self.cost(self.counted(), self.reserved()))
            .to_decimal();
        let per_usd = self.budget.rates.credits_per_usd.to_decimal();
        (per_usd > 0.0).then(|| left.max(0.0) / per_usd)
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
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
