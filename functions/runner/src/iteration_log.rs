//! An agent's output of an iteration, as sent to the control API: its end, unchanged except for
//! invalid UTF-8, and compressed.

use std::io::{self, Write};

use awo_domain::control::IterationLog;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::output::Tail;

/// The log of an iteration; `output` keeps at most `MAX_LOG_BYTES`.
///
/// # Errors
/// If it cannot be compressed.
pub(crate) fn iteration_log(iteration: u32, output: &Tail) -> io::Result<IterationLog> {
    // The last report of a stopped run waits for it: rather quick than small.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(output.utf8().as_bytes())?;
    Ok(IterationLog {
        iteration,
        output: STANDARD.encode(gzip.finish()?),
        bytes: output.total(),
    })
}
