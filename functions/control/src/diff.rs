//! `POST /control/{orgId}/runs/{runId}/diff`: a run's changes so far.

use awo_domain::control::{MAX_DIFF_BYTES, MAX_DIFF_GZIP_BYTES, SnapshotDiff};
use awo_domain::work_order::MAX_ITERATIONS;
use awo_domain::{Error, Timestamp};
use awo_http::Answer;
use awo_store::runs::diffs::Diff;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lambda_http::Request;

use crate::State;
use crate::runner::{body, checked_commit, reporter};

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let diff = checked(body(request)?)?;
    Answer::ok(state.store.store_diff(&by, &diff, now).await?)
}

fn checked(sent: SnapshotDiff) -> Result<Diff, Error> {
    if !(1..=MAX_ITERATIONS).contains(&sent.iteration) {
        let message = format!("must be from 1 to {MAX_ITERATIONS}");
        return Err(Error::invalid("/iteration", message));
    }
    for (path, commit) in [
        ("/baseCommit", &sent.base_commit),
        ("/commit", &sent.commit),
    ] {
        checked_commit(path, commit)?;
    }
    let gzip = STANDARD
        .decode(&sent.diff)
        .map_err(|_| Error::invalid("/diff", "must be base64"))?;
    let diff = Diff {
        iteration: sent.iteration,
        base_commit: sent.base_commit,
        commit: sent.commit,
        gzip,
        bytes: sent.bytes,
    };
    let length = Some(&diff)
        .filter(|diff| diff.gzip.len() <= MAX_DIFF_GZIP_BYTES)
        .and_then(Diff::unpacked)
        .map(|bytes| bytes.len() as u64)
        .ok_or_else(|| {
            let message = format!(
                "must be one gzip of at most {MAX_DIFF_BYTES} bytes that takes at most \
                 {MAX_DIFF_GZIP_BYTES}"
            );
            Error::invalid("/diff", message)
        })?;
    if diff.bytes < length {
        let message = format!("must not be less than the {length} bytes of the diff");
        return Err(Error::invalid("/bytes", message));
    }
    Ok(diff)
}
