//! `POST /control/{orgId}/runs/{runId}/finish`: the end of a run, priced and settled.

use awo_domain::control::{Finish, Outcome, ReportAnswer};
use awo_domain::run::{RunError, RunErrorCode};
use awo_domain::usage::{MAX_MODELS, sum_by_model};
use awo_domain::{Error, Timestamp, TransactionId};
use awo_http::Answer;
use awo_store::runs::{PricedUsage, Run};
use awo_store::settlement::Ending;
use lambda_http::Request;

use crate::State;
use crate::runner::{body, checked, reporter};

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let finish: Finish = body(request)?;
    checked(&finish.events)?;
    checked_usage(&finish)?;
    let usage = priced(state, &finish, now);
    let transaction_id = TransactionId::new(now, state.mint.random(now));
    let ending = |run: &Run| {
        Ok(ending(
            state,
            run,
            &finish,
            &usage,
            transaction_id.clone(),
            now,
        ))
    };
    let acknowledged = state.store.finish(&by, &finish.events, ending, now).await?;
    Answer::ok(ReportAnswer {
        acknowledged,
        wish: None,
    })
}

fn checked_usage(finish: &Finish) -> Result<(), Error> {
    if finish.usage.len() > MAX_MODELS {
        return Err(Error::invalid(
            "/usage",
            format!("must name at most {MAX_MODELS} models"),
        ));
    }
    if matches!(&finish.outcome, Outcome::Failed { code, .. } if code.is_free_of_charge()) {
        return Err(Error::invalid(
            "/outcome/code",
            "must not be one that only the service may say",
        ));
    }
    finish
        .usage
        .iter()
        .try_for_each(|usage| usage.check().map_err(|why| Error::invalid("/usage", why)))
}

fn priced(state: &State, finish: &Finish, now: Timestamp) -> Vec<PricedUsage> {
    let by_model = sum_by_model(&finish.usage);
    by_model
        .into_iter()
        .map(|usage| PricedUsage {
            cost_usd_nano: state.prices.cost(&usage, now).map(|usd| usd.nano()),
            usage,
        })
        .collect()
}

fn ending(
    state: &State,
    run: &Run,
    finish: &Finish,
    usage: &[PricedUsage],
    transaction_id: TransactionId,
    now: Timestamp,
) -> Ending {
    let (error, commit, branch) = match &finish.outcome {
        Outcome::Succeeded { commit, branch } => (None, commit, branch.clone()),
        Outcome::Failed {
            code,
            message,
            commit,
        } => (Some(RunError::new(*code, message)), commit, None),
        Outcome::Stopped { commit, .. } => (
            Some(RunError::new(RunErrorCode::Killed, "the run was stopped")),
            commit,
            None,
        ),
    };
    let compute_ms = now.ms_since(run.started_at.unwrap_or(now));
    Ending {
        error,
        iterations: finish.iterations.min(run.max_iterations),
        commit: commit.clone(),
        branch,
        cost: state.rates.cost(PricedUsage::total(usage), compute_ms),
        usage: usage.to_vec(),
        transaction_id,
    }
}
