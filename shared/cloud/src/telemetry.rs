//! Logs: JSON lines on standard error, with the level of `AWO_LOG` (default `info`).
//!
//! A line has its message and its fields at the top. The deployment counts lines by them
//! (`template.yaml`, metric filters), so no filter would count a nested one.

use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// The variable of the log level.
pub const LEVELS: &str = "AWO_LOG";

/// Starts logging. Starting it twice does nothing.
pub fn start() {
    let logging = tracing_subscriber::registry()
        .with(levels(LevelFilter::INFO))
        .with(lines(std::io::stderr));
    drop(logging.try_init());
}

/// The log level: the environment's, or this one.
#[must_use]
pub fn levels(default: LevelFilter) -> Targets {
    let levels = std::env::var(LEVELS).ok();
    let levels = levels.and_then(|levels| levels.parse().ok());
    levels.unwrap_or_else(|| Targets::new().with_default(default))
}

/// Lines of JSON. Levels are by target, and not by the crate's richer filter: that one has a reader of regular
/// expressions in it, which every function would load when it starts.
pub fn lines<S, W>(writer: W) -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(writer)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::*;

    /// The output.
    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_has_its_message_and_its_fields_at_the_top_where_alarms_find_them() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let lines = tracing_subscriber::registry()
            .with(LevelFilter::INFO)
            .with(lines(move || writer.clone()));
        tracing::subscriber::with_default(lines, || {
            let none: Option<&str> = None;
            tracing::error!(failed = 3, code = ?Some(1), none, "it \"broke\"");
            tracing::debug!("not logged");
        });
        let written = buffer.0.lock().unwrap().clone();
        let mut line: Value = serde_json::from_slice(&written).unwrap();
        assert!(line["timestamp"].take().is_string());
        let wanted = json!({
            "timestamp": null,
            "level": "ERROR",
            "message": "it \"broke\"",
            "failed": 3,
            "code": "Some(1)",
            "target": "awo_cloud::telemetry::tests",
        });
        assert_eq!(line, wanted);
    }
}
