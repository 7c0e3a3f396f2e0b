//! Shared code of the measurements.

/// Clock ticks in a second, as `/proc` counts them.
const TICKS: f64 = 100.0;

/// CPU that a process has used so far, in seconds.
///
/// # Panics
/// When there is no such process.
#[must_use]
pub fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, fields) = stat.rsplit_once(')').expect("a stat line");
    let ticks = |nth: usize| fields.split_whitespace().nth(nth)?.parse::<f64>().ok();
    let of = |nth| ticks(nth).expect("a number of ticks");
    (of(11) + of(12)) / TICKS
}

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
