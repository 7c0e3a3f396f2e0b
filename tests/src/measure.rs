//! Shared code of the measurements.

use std::io::Write;

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

/// A number that is to be at most, or at least, this.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// A cost.
    AtMost(f64),
    /// A rate.
    AtLeast(f64),
    /// Shown alone.
    None,
}

/// Adds a row to the table at the end of `make bench`: the file that `AWO_BENCH_TABLE` names, if any.
///
/// # Panics
/// When the file cannot be written.
pub fn row(what: &str, (value, unit): (f64, &str), goal: Goal) {
    let Some(path) = std::env::var_os("AWO_BENCH_TABLE") else {
        return;
    };
    let (goal, met) = match goal {
        Goal::AtMost(most) => (format!("≤ {most} {unit}"), value <= most),
        Goal::AtLeast(least) => (format!("≥ {least} {unit}"), value >= least),
        Goal::None => (String::new(), true),
    };
    let missed = if met { "" } else { "missed" };
    let digits = if value < 10.0 { 2 } else { 0 };
    let mut table = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .expect("the table of the bench");
    let row = format!("| {what} | {value:.digits$} {unit} | {goal} | {missed} |\n");
    table.write_all(row.as_bytes()).expect("the table's row");
}

/// Prints the spread of samples in milliseconds beside their goal.
///
/// # Panics
/// When there are no samples.
pub fn print(what: &str, goal: &str, mut samples: Vec<f64>) {
    samples.sort_by(f64::total_cmp);
    let at = |percent: usize| samples[(samples.len() - 1) * percent / 100];
    row(&format!("{what}: median"), (at(50), "ms"), Goal::None);
    println!(
        "{what:<48} p50 {:>7.1} ms   p95 {:>7.1} ms   max {:>7.1} ms   ({goal}; {} samples)",
        at(50),
        at(95),
        at(100),
        samples.len(),
    );
}
