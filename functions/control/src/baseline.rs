//! `POST /control/{orgId}/runs/{runId}/baseline`: the results of a run's base commit that other runs of the
//! organization had, by the same plan and in the same environment.

use awo_domain::control::{BaselineAnswer, BaselineRequest, MAX_BASELINE_BYTES};
use awo_domain::{Error, Timestamp};
use awo_http::Answer;
use awo_store::runs::baselines::BaselineKey;
use lambda_http::Request;
use sha2::{Digest, Sha256};

use crate::State;
use crate::runner::{body, checked_commit, is_token, reporter};

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let request_body = checked(body(request)?)?;
    let run = state.store.reporting_run(&by).await?;
    let order = state.store.work_order(&by.org, &run.work_order_id).await?;
    let order = order.ok_or_else(|| Error::internal("the work order of a run is missing"))?;
    // All that decides about the results, beside what the runner itself brings.
    let context = (
        &order.source.repository,
        &request_body.commit,
        &request_body.plan_hash,
        &run.environment,
    );
    let context = serde_json::to_vec(&context).map_err(Error::internal)?;
    let key = BaselineKey::new(&by.org, hex::encode(Sha256::digest(context)));
    let results = if request_body.results.is_empty() {
        state.store.baseline(&key, now).await?
    } else {
        state
            .store
            .add_to_baseline(&key, request_body.results, now)
            .await?
    };
    Answer::ok(BaselineAnswer { results })
}

fn checked(request: BaselineRequest) -> Result<BaselineRequest, Error> {
    checked_commit("/commit", &request.commit)?;
    if !is_token(&request.plan_hash) {
        let message = "must be 64 lower-case hex digits";
        return Err(Error::invalid("/planHash", message));
    }
    let json = serde_json::to_vec(&request.results).map_err(Error::internal)?;
    if json.len() > MAX_BASELINE_BYTES {
        let message = format!("must not exceed {MAX_BASELINE_BYTES} bytes");
        return Err(Error::invalid("/results", message));
    }
    Ok(request)
}
