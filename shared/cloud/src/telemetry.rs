//! Logs: JSON lines on standard error, `AWO_LOG` says how much (default `info`).

use tracing_subscriber::EnvFilter;

/// What says how much is logged.
pub const LEVELS: &str = "AWO_LOG";

/// Starts logging. Starting it twice does nothing.
pub fn start() {
    let filter = EnvFilter::try_from_env(LEVELS).unwrap_or_else(|_| EnvFilter::new("info"));
    let started = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
    drop(started);
}
