//! The log of `awo-local`: short lines on a terminal, otherwise JSON in the format of the cloud's
//! functions. Metrics do not depend on the log level.

use std::io::{self, IsTerminal};

use awo_cloud::telemetry::{levels, lines};
use awo_local::metrics::Metrics;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// What chooses a form in spite of the terminal.
pub const FORMAT: &str = "AWO_LOG_FORMAT";

/// Starts logging, and counting where there are metrics.
///
/// # Errors
/// When the setting is neither `text` nor `json`.
pub fn start(metrics: Option<Metrics>) -> Result<(), String> {
    let is_for_people = match std::env::var(FORMAT).as_deref() {
        Ok("text") => true,
        Ok("json") => false,
        Ok("") | Err(_) => io::stderr().is_terminal(),
        Ok(other) => return Err(format!("{FORMAT} must be text or json, not {other}")),
    };
    let counting = metrics.map(|metrics| metrics.with_filter(LevelFilter::INFO));
    let registry = tracing_subscriber::registry().with(counting);
    let started = if is_for_people {
        let text = fmt::layer()
            .compact()
            .with_target(false)
            .with_ansi(false)
            .with_writer(io::stderr)
            .with_filter(levels(LevelFilter::WARN));
        registry.with(text).try_init()
    } else {
        let json = lines(io::stderr).with_filter(levels(LevelFilter::INFO));
        registry.with(json).try_init()
    };
    started.map_err(|error| error.to_string())
}
