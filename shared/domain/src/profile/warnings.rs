//! Warnings about a valid profile that may not have the effect its client expects.

use super::{Profile, StrategyType};
use crate::Fault;

impl Profile {
    /// What has no effect, or keeps runs from beginning, with JSON pointers.
    #[must_use]
    pub fn warnings(&self) -> Vec<Fault> {
        let mut warnings = Vec::new();
        let mut warn = |path: &str, message: String| {
            let path = path.to_owned();
            warnings.push(Fault { path, message });
        };
        if let Some(why) = self.not_runnable() {
            warn("/loopStrategy/type", why);
        }
        let most = self.execution_limits.max_iterations;
        let strategy = &self.loop_strategy;
        let (wanted, at) = match strategy.kind {
            StrategyType::Ralph => (strategy.min_iterations, "/loopStrategy/minIterations"),
            _ => (strategy.base_iterations, "/loopStrategy/baseIterations"),
        };
        if wanted > most {
            let message =
                format!("is more than executionLimits.maxIterations, {most}, which applies");
            warn(at, message);
        }
        if self.levels().is_empty() {
            let message = "leaves no verification level enabled: every iteration passes, with a \
                           warning";
            warn("/verification/levels", message.to_owned());
        }
        warnings
    }
}
