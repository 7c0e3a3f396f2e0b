//! Harness profiles: named configurations of how a run iterates, verifies and delivers.
//!
//! A client's profile has gaps ([`partial`]); a [`Profile`] has none: keys that no profile in the
//! chain of its parents sets come from the built-in `default`. Runs only use the latter.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::environment::EnvironmentName;
use crate::money::MicroCredits;
use crate::verification::{Evidence, Level};

pub use built_in::{BUILT_IN_NAMES, built_in};
pub use chain::{Contents, MAX_CHAIN, children, resolve, resolve_among, resolve_built_in};
pub use convergence::MAX_WINDOW;
pub use git_ops::{GitMode, GitOps};
pub use name::ProfileName;

mod built_in;
mod chain;
mod convergence;
mod git_ops;
mod name;
pub mod partial;
mod warnings;

/// How often the agent may try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = LoopStrategyType)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum StrategyType {
    /// Up to `base_iterations`.
    Fixed,
    /// Up to `base_iterations`, then up to `bonus_iterations` while there is progress.
    Hybrid,
    /// From `min_iterations` up to the limit, until verification passes or nothing new comes.
    Ralph,
    /// One that is registered under a name; registration does not exist yet.
    Custom,
}

/// The loop strategy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStrategy {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: StrategyType,
    /// Iterations that every run may have (`fixed`, `hybrid`).
    pub base_iterations: u32,
    /// Iterations beyond those, for as long as fewer checks fail than ever before (`hybrid`).
    pub bonus_iterations: u32,
    /// Iterations that every run has (`ralph`).
    pub min_iterations: u32,
    /// The similarity from which two outputs count as equal (`ralph`), 0 to 1.
    pub convergence_threshold: f64,
    /// The number of consecutive outputs that must converge (`ralph`).
    pub window_size: u32,
    /// Lines with which an agent signals completion (`ralph`).
    pub completion_signals: Vec<String>,
    /// Which one it is (`custom`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The strategy's parameters (`custom`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub params: Option<Map<String, Value>>,
}

/// The verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = VerificationPolicy)]
pub struct Verification {
    /// The levels that count.
    pub levels: Vec<Level>,
    /// Levels taken out of those.
    pub skip_levels: Vec<Level>,
    /// The plugins that run; all that are applicable where none is named.
    pub plugin_ids: Vec<String>,
    /// Wall time of one verification.
    pub timeout_ms: u64,
    /// How often a check that failed is tried again before it counts as failed.
    pub retry_flaky: u32,
    /// True if a run fails with NOT_VERIFIED, before its result is delivered, unless tests are known to
    /// have run and passed.
    #[serde(default)]
    #[schema(value_type = RequiredValue)]
    pub required: EvidenceRequirement,
    /// Whether test files of the base are protected: what the agent changes or removes of them is
    /// put back.
    #[serde(default)]
    pub protect_tests: bool,
    /// When failures are compared with those of the base.
    #[serde(default)]
    pub baseline: Baseline,
    /// True if named tests that fail on the base, too, leave the verdict alone.
    #[serde(default)]
    pub forgive: bool,
}

/// Evidence of tests without which a run fails; `false`, `true` or `counted`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RequiredValue", into = "RequiredValue")]
pub enum EvidenceRequirement {
    /// None.
    #[default]
    No,
    /// Any: counted tests, or the exit code of a command that the plan names as a test.
    Any,
    /// At least one counted test that passed.
    Counted,
}

impl EvidenceRequirement {
    /// True if a run with this evidence may deliver its result.
    #[must_use]
    pub fn is_met_by(self, evidence: Evidence) -> bool {
        match self {
            EvidenceRequirement::No => true,
            EvidenceRequirement::Any => evidence > Evidence::None,
            EvidenceRequirement::Counted => evidence == Evidence::Counted,
        }
    }
}

/// Evidence of tests without which a run fails: none, any, or counted tests.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = VerificationRequired)]
pub enum RequiredValue {
    /// True if any evidence is required, false if none is.
    Flag(bool),
    /// Evidence of one kind: `counted`.
    Word(String),
}

/// The word for counted tests.
const COUNTED: &str = "counted";

impl TryFrom<RequiredValue> for EvidenceRequirement {
    type Error = &'static str;

    fn try_from(value: RequiredValue) -> Result<EvidenceRequirement, &'static str> {
        match value {
            RequiredValue::Flag(false) => Ok(EvidenceRequirement::No),
            RequiredValue::Flag(true) => Ok(EvidenceRequirement::Any),
            RequiredValue::Word(word) if word == COUNTED => Ok(EvidenceRequirement::Counted),
            RequiredValue::Word(_) => Err("must be true, false or \"counted\""),
        }
    }
}

impl From<EvidenceRequirement> for RequiredValue {
    fn from(required: EvidenceRequirement) -> RequiredValue {
        match required {
            EvidenceRequirement::No => RequiredValue::Flag(false),
            EvidenceRequirement::Any => RequiredValue::Flag(true),
            EvidenceRequirement::Counted => RequiredValue::Word(COUNTED.to_owned()),
        }
    }
}

/// When failures are compared with those of the base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = VerificationBaseline)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Baseline {
    /// Never.
    Off,
    /// Once a check fails.
    #[default]
    Lazy,
    /// Before the agent begins, which is given the result.
    Eager,
    /// Another name of `eager`.
    Before,
}

impl Baseline {
    /// True if the base is verified before the agent begins.
    #[must_use]
    pub fn is_eager(self) -> bool {
        matches!(self, Baseline::Eager | Baseline::Before)
    }
}

/// Ends of patience.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionLimits {
    /// The maximum iterations of a run, whatever other settings request.
    pub max_iterations: u32,
    /// Wall time of the whole run.
    pub max_duration_ms: u64,
    /// Wall time of the agent in one iteration.
    pub max_iteration_ms: u64,
    /// Tokens of a run, input and output together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_total_tokens: Option<u64>,
    /// The hold of a work order without a limit of its own; the deployment's where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_credits: Option<MicroCredits>,
    /// Memory of the agent, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_memory_mb: Option<u64>,
    /// Disk of the workspace, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_disk_mb: Option<u64>,
    /// Processes of the agent at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_processes: Option<u64>,
    /// From which depth on agents may not ask for children: 1 lets only those of work orders
    /// without a parent do so.
    #[serde(default = "default_child_depth")]
    pub max_child_depth: u32,
}

/// Children of agents request no children, unless a profile allows it.
fn default_child_depth() -> u32 {
    1
}

/// A profile whose gaps are filled. Its JSON is what is hashed and audited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ResolvedConfig)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// How often the agent may try.
    pub loop_strategy: LoopStrategy,
    /// The verification.
    pub verification: Verification,
    /// The delivery of the result.
    pub git_ops: GitOps,
    /// Ends of patience.
    pub execution_limits: ExecutionLimits,
    /// The environment of work orders that name none, where their template names none either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentName>,
}

/// The outcome of an iteration, as its strategy evaluates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationOutcome {
    /// How many there were with it.
    pub done: u32,
    /// Whether verification passed.
    pub passed: bool,
    /// How many checks failed.
    pub failing: usize,
    /// The fewest that failed in any iteration before it; none before the first.
    pub best: Option<usize>,
    /// True if the agent's output has a completion signal ([`LoopStrategy::is_signaled`]).
    pub signaled: bool,
    /// True if the agent's outputs have converged ([`LoopStrategy::has_converged`]).
    pub converged: bool,
}

impl Profile {
    /// The profile of a work order that names none.
    pub const DEFAULT_NAME: &'static str = "default";

    /// The iterations a run may have, bonus ones included: the work order's stop request instead of the
    /// strategy's own count, and never more than the execution limit.
    #[must_use]
    pub fn max_iterations(&self, asked: Option<u32>) -> u32 {
        let strategy = &self.loop_strategy;
        let own = match strategy.kind {
            StrategyType::Fixed | StrategyType::Custom => strategy.base_iterations,
            StrategyType::Hybrid => strategy.base_iterations + strategy.bonus_iterations,
            StrategyType::Ralph => self.execution_limits.max_iterations,
        };
        asked
            .unwrap_or(own)
            .min(self.execution_limits.max_iterations)
    }

    /// Milliseconds that a run may take, where the work order may have asked for less.
    #[must_use]
    pub fn max_duration_ms(&self, asked: Option<u64>) -> u64 {
        let longest = self.execution_limits.max_duration_ms;
        asked.map_or(longest, |asked| asked.min(longest))
    }

    /// Credits that a run may cost: what the work order asked for, else the profile's limit. None
    /// leaves it to the deployment.
    #[must_use]
    pub fn max_credits(&self, asked: Option<MicroCredits>) -> Option<MicroCredits> {
        asked.or(self.execution_limits.max_credits)
    }

    /// Whether there is another iteration after this one. With a number asked by the work order
    /// every iteration up to it may run, unless the strategy is content before.
    #[must_use]
    pub fn goes_on(&self, asked: Option<u32>, last: &IterationOutcome) -> bool {
        let strategy = &self.loop_strategy;
        if last.done >= self.max_iterations(asked) {
            return false;
        }
        match strategy.kind {
            StrategyType::Fixed | StrategyType::Custom => !last.passed,
            StrategyType::Hybrid => {
                let progress = last.best.is_none_or(|best| last.failing < best);
                let earned = asked.is_some() || last.done < strategy.base_iterations || progress;
                !last.passed && earned
            }
            StrategyType::Ralph if last.passed && last.signaled => false,
            StrategyType::Ralph => {
                last.done < strategy.min_iterations || !(last.passed || last.converged)
            }
        }
    }

    /// The levels that are verified, in order.
    #[must_use]
    pub fn levels(&self) -> Vec<Level> {
        let mut levels: Vec<Level> = self
            .verification
            .levels
            .iter()
            .filter(|level| !self.verification.skip_levels.contains(level))
            .copied()
            .collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// Why no run can have it, if none can.
    #[must_use]
    pub fn not_runnable(&self) -> Option<String> {
        (self.loop_strategy.kind == StrategyType::Custom).then(|| {
            let name = self.loop_strategy.name.as_deref().unwrap_or_default();
            format!(
                "is a profile with the custom loop strategy {name:?}, which is not registered: \
                 custom strategies cannot be registered yet"
            )
        })
    }
}

#[cfg(test)]
mod tests;
