//! The worst case of a call: what it can cost at most, as far as its request shows it. It is reserved while
//! the call is under way, so that no number of calls together costs more than there is.

use std::time::Duration;

use awo_domain::Timestamp;
use awo_domain::agent::answer::Counts;
use awo_domain::money::NanoUsd;
use awo_pricing::Prices;

/// Tokens of a request for each of its bytes, at most, as a fraction: a token has four bytes or so, and half
/// as many tokens again are expected.
const TOKENS_PER_BYTES: (u64, u64) = (3, 8);
/// Largest context of a model on Bedrock, in tokens; the beta feature for larger ones is not passed on.
const BEDROCK_CONTEXT: u64 = 200_000;
/// Time of a call before its first token, and tokens that come in a second: compute costs meanwhile.
const FIRST_TOKEN: Duration = Duration::from_secs(30);
const TOKENS_PER_SECOND: u64 = 50;
/// Most models whose last call is remembered.
const MAX_MODELS: usize = 64;

/// Longest time for which a part of the input may be written to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum CacheWrites {
    #[default]
    No,
    Minutes,
    Hour,
}

/// A call, as far as its request bounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorstCase {
    /// The model that it is priced as.
    pub(crate) model: String,
    /// Size of its request.
    pub(crate) bytes: usize,
    /// Most output tokens that it asks for.
    pub(crate) output: u64,
    /// Fewest that it may get instead.
    pub(crate) least_output: u64,
    pub(crate) cache_writes: CacheWrites,
    pub(crate) searches: u64,
    /// True if its input goes on from an answer that the provider stored.
    pub(crate) goes_on: bool,
    /// True on Bedrock, where the operator pays for what exceeds the worst case.
    pub(crate) is_operators: bool,
}

impl WorstCase {
    /// Returns the cost with so many tokens, or `None` if the model's price is not known.
    pub(super) fn cost(
        &self,
        prices: &Prices,
        input: u64,
        output: u64,
        at: Timestamp,
    ) -> Option<NanoUsd> {
        let plain = Counts {
            input,
            output,
            web_searches: self.searches,
            ..Counts::default()
        };
        let hour = if self.cache_writes == CacheWrites::Hour {
            input
        } else {
            0
        };
        let written = Counts {
            written: input,
            written_for_an_hour: hour,
            ..plain
        };
        let plain = prices.call(&self.model, &plain, at)?;
        if self.cache_writes == CacheWrites::No {
            return Some(plain);
        }
        let written = prices.call(&self.model, &written, at);
        Some(written.map_or(plain, |written| plain.max(written)))
    }

    /// The time of an answer with so many tokens.
    pub(super) fn time(output: u64) -> Duration {
        FIRST_TOKEN + Duration::from_secs(output / TOKENS_PER_SECOND)
    }
}

/// The reserved worst case of a call under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(super) number: u64,
    /// The model that it is priced as.
    pub(crate) model: String,
    pub(super) bytes: usize,
    /// Estimate of its input, for the limit of tokens.
    pub(super) tokens: u64,
    /// Most output tokens that it may have.
    pub(crate) output: u64,
    /// Absent where the model has no price.
    pub(super) cost: Option<NanoUsd>,
}

/// Why a call is not covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// By what is reserved for other calls, which may take less.
    Contended,
    /// By what there is: a sentence.
    Exceeded(String),
}

/// The largest limit of output that fits, or the least if none does.
pub(super) fn largest(case: &WorstCase, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut least, mut beyond) = (case.least_output.min(case.output), case.output);
    while beyond.saturating_sub(least) > 1 {
        let middle = least + (beyond - least) / 2;
        if fits(middle) {
            least = middle;
        } else {
            beyond = middle;
        }
    }
    least
}

/// The last call of each model that was reported: its size, and its tokens.
#[derive(Debug, Default)]
pub(super) struct Sessions(Vec<ReportedCall>);

#[derive(Debug)]
struct ReportedCall {
    model: String,
    bytes: u64,
    input: u64,
    output: u64,
}

impl Sessions {
    /// A call was answered.
    pub(super) fn reported(&mut self, model: &str, bytes: usize, counts: &Counts) {
        self.0.retain(|call| call.model != model);
        if self.0.len() == MAX_MODELS {
            self.0.remove(0);
        }
        self.0.push(ReportedCall {
            model: model.to_owned(),
            bytes: bytes as u64,
            input: counts.input,
            output: counts.output,
        });
    }

    /// Most input tokens of a call: by its size, and by what its session's last call had and what is new.
    pub(super) fn input(&self, case: &WorstCase) -> u64 {
        let bytes = case.bytes as u64;
        let (tokens, of_bytes) = TOKENS_PER_BYTES;
        let by_size = bytes.saturating_mul(tokens).div_ceil(of_bytes);
        let last = self.0.iter().find(|call| call.model == case.model);
        let by_session = last.map_or(0, |last| {
            if case.goes_on {
                return last.input.saturating_add(last.output).saturating_add(bytes);
            }
            // A much larger call, or a smaller one, is another session's.
            match bytes.checked_sub(last.bytes) {
                Some(new) if new <= last.bytes => last.input.saturating_add(new),
                _ => 0,
            }
        });
        let firm = if case.is_operators {
            bytes.min(BEDROCK_CONTEXT)
        } else {
            0
        };
        by_size.max(by_session).max(firm)
    }
}
