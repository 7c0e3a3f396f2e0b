//! Detects that an agent's output no longer changes, and that it reports completion.

use std::collections::BTreeSet;

use super::LoopStrategy;

/// Most outputs that are compared.
pub const MAX_WINDOW: usize = 10;

impl LoopStrategy {
    /// Whether one of the completion signals is a line of its own in what the agent wrote.
    #[must_use]
    pub fn is_signaled(&self, output: &str) -> bool {
        let signals = &self.completion_signals;
        let mut lines = output.lines().map(str::trim);
        lines.any(|line| signals.iter().any(|signal| signal == line))
    }

    /// True if each of the last `window_size` outputs is similar to the one before it. Agents
    /// that write nothing do not converge: there is nothing to compare.
    #[must_use]
    pub fn has_converged(&self, outputs: &[String]) -> bool {
        let window = self.window_size as usize;
        let Some(from) = outputs.len().checked_sub(window) else {
            return false;
        };
        let tokens: Vec<BTreeSet<&str>> = outputs[from..]
            .iter()
            .map(|output| output.split_whitespace().collect())
            .collect();
        window > 1
            && tokens
                .windows(2)
                .all(|two| similarity(&two[0], &two[1]) >= self.convergence_threshold)
            && !tokens.iter().any(BTreeSet::is_empty)
    }
}

/// The share of the tokens that both have, of those that either has: 0 to 1.
#[expect(
    clippy::cast_precision_loss,
    reason = "outputs are far smaller than 2^53 tokens"
)]
fn similarity(a: &BTreeSet<&str>, b: &BTreeSet<&str>) -> f64 {
    let both = a.intersection(b).count();
    let either = a.len() + b.len() - both;
    match either {
        0 => 1.0,
        either => both as f64 / either as f64,
    }
}
