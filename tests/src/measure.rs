//! What the measurements share.

/// Prints the spread of samples in milliseconds beside their goal.
///
/// # Panics
/// When there are no samples.
pub fn print(what: &str, goal: &str, mut samples: Vec<f64>) {
    samples.sort_by(f64::total_cmp);
    let at = |percent: usize| samples[(samples.len() - 1) * percent / 100];
    println!(
        "{what:<36} p50 {:>7.1} ms   p95 {:>7.1} ms   max {:>7.1} ms   ({goal}; {} samples)",
        at(50),
        at(95),
        at(100),
        samples.len(),
    );
}
