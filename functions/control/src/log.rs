//! `POST /control/{orgId}/runs/{runId}/logs`: an agent's output of an iteration.

use awo_domain::control::{IterationLog, MAX_LOG_BYTES};
use awo_domain::work_order::MAX_ITERATIONS;
use awo_domain::{Error, Timestamp};
use awo_http::Answer;
use awo_store::runs::logs::{Log, MAX_GZIP_BYTES, unpacked};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lambda_http::Request;

use crate::State;
use crate::runner::{body, reporter};

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let log = checked(&body(request)?, now)?;
    Answer::ok(state.store.store_log(&by, &log).await?)
}

fn checked(log: &IterationLog, now: Timestamp) -> Result<Log, Error> {
    if !(1..=MAX_ITERATIONS).contains(&log.iteration) {
        let message = format!("must be from 1 to {MAX_ITERATIONS}");
        return Err(Error::invalid("/iteration", message));
    }
    let gzip = STANDARD
        .decode(&log.output)
        .map_err(|_| Error::invalid("/output", "must be base64"))?;
    let length = Some(&gzip)
        .filter(|gzip| gzip.len() <= MAX_GZIP_BYTES)
        .and_then(|gzip| unpacked(gzip))
        .map(|output| output.len() as u64)
        .ok_or_else(|| {
            let message = format!("must be one gzip of at most {MAX_LOG_BYTES} bytes");
            Error::invalid("/output", message)
        })?;
    if log.bytes < length {
        let message = format!("must not be less than the {length} bytes of the output");
        return Err(Error::invalid("/bytes", message));
    }
    let truncated = log.bytes > length;
    Ok(Log::new(log.iteration, gzip, log.bytes, truncated, now))
}
