//! Harness profiles: named configurations of how a run iterates, verifies and delivers.

use serde::{Deserialize, Serialize};

use crate::verification::Level;

/// How often the agent may try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StrategyType {
    /// Up to `base_iterations`.
    Fixed,
    /// Up to `base_iterations`, then up to `bonus_iterations` while there is progress.
    Hybrid,
}

/// The loop strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopStrategy {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: StrategyType,
    /// Iterations that every run may have.
    pub base_iterations: u32,
    /// Iterations beyond those, for as long as fewer checks fail than ever before.
    pub bonus_iterations: u32,
}

/// What is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// The levels that count.
    pub levels: Vec<Level>,
    /// Levels taken out of those.
    pub skip_levels: Vec<Level>,
    /// Wall time of one verification.
    pub timeout_ms: u64,
}

/// What happens to the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitMode {
    /// Stays in the run's workspace.
    Local,
    /// A branch is pushed to the origin.
    Push,
}

/// How git is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitOps {
    /// Where the result goes.
    pub mode: GitMode,
    /// What stands before the run's id in the branch's name.
    pub branch_prefix: String,
}

/// Ends of patience.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionLimits {
    /// Most iterations of a run, whatever else is asked.
    pub max_iterations: u32,
    /// Wall time of the whole run.
    pub max_duration_ms: u64,
    /// Wall time of the agent in one iteration.
    pub max_iteration_ms: u64,
}

/// A profile whose gaps are filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// How often the agent may try.
    pub loop_strategy: LoopStrategy,
    /// What is verified.
    pub verification: Verification,
    /// What happens to the result.
    pub git_ops: GitOps,
    /// Ends of patience.
    pub execution_limits: ExecutionLimits,
}

impl Profile {
    /// The profile of a work order that names none.
    pub const DEFAULT_NAME: &'static str = "default";

    /// The built-in profile `default`: three iterations, two more while there is progress.
    #[must_use]
    pub fn default_profile() -> Profile {
        Profile {
            name: Self::DEFAULT_NAME.to_owned(),
            loop_strategy: LoopStrategy {
                kind: StrategyType::Hybrid,
                base_iterations: 3,
                bonus_iterations: 2,
            },
            verification: Verification {
                levels: vec![Level::L0, Level::L1, Level::L2, Level::L3, Level::Custom],
                skip_levels: vec![],
                timeout_ms: 600_000,
            },
            git_ops: GitOps {
                mode: GitMode::Push,
                branch_prefix: "awo/".to_owned(),
            },
            execution_limits: ExecutionLimits {
                max_iterations: 100,
                max_duration_ms: 3_600_000,
                max_iteration_ms: 600_000,
            },
        }
    }

    /// The profile of that name, if it is built in.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Profile> {
        (name == Self::DEFAULT_NAME).then(Self::default_profile)
    }

    /// The iterations a run may have, bonus ones included: the work order's wish instead of the
    /// strategy's own count, and never more than the execution limit.
    #[must_use]
    pub fn max_iterations(&self, asked: Option<u32>) -> u32 {
        let own = self.loop_strategy.base_iterations
            + match self.loop_strategy.kind {
                StrategyType::Fixed => 0,
                StrategyType::Hybrid => self.loop_strategy.bonus_iterations,
            };
        asked
            .unwrap_or(own)
            .min(self.execution_limits.max_iterations)
    }

    /// Whether there is another iteration after `done`, of which the last had `failing` failing
    /// checks and the best one before it `best` (none before the first).
    ///
    /// With a number asked by the work order every iteration up to it may run; otherwise those
    /// beyond the base must be earned by progress.
    #[must_use]
    pub fn goes_on(
        &self,
        asked: Option<u32>,
        done: u32,
        failing: usize,
        best: Option<usize>,
    ) -> bool {
        let progress = best.is_none_or(|best| failing < best);
        done < self.max_iterations(asked)
            && (asked.is_some() || done < self.loop_strategy.base_iterations || progress)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bonus_iterations_are_earned_by_progress() {
        let profile = Profile::default_profile();
        assert_eq!(profile.max_iterations(None), 5);
        assert!(
            profile.goes_on(None, 2, 4, Some(4)),
            "base iterations need no progress"
        );
        assert!(profile.goes_on(None, 3, 3, Some(4)));
        assert!(!profile.goes_on(None, 3, 4, Some(4)));
        assert!(!profile.goes_on(None, 5, 1, Some(4)));
        assert!(
            profile.goes_on(Some(7), 6, 4, Some(4)),
            "an asked number is granted whole"
        );
        assert!(!profile.goes_on(Some(1), 1, 0, None));
    }
}
