//! `POST /control/{orgId}/runs/{runId}/finish`: the end of a run, priced; settled at once, or,
//! where a client stopped it, when its compute is gone.

use awo_domain::control::{Finish, Outcome, Wish};
use awo_domain::run::{RunEnd, RunError};
use awo_domain::stop::end_of_kill;
use awo_domain::usage::{ModelUsage, sum_by_model};
use awo_domain::{Error, Timestamp, TransactionId};
use awo_http::Answer;
use awo_store::endings::Ending;
use awo_store::runs::{PricedUsage, Run};
use awo_store::settlement::Charge;
use lambda_http::Request;

use crate::State;
use crate::runner::{body, checked, checked_usage, reporter};

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let finish: Finish = body(request)?;
    checked(&finish.events)?;
    checked_usage("/usage", &finish.usage)?;
    checked_code(&finish.outcome)?;
    let usage = priced(state, sum_by_model(&finish.usage), now);
    let charge = |run: &Run| Charge {
        cost: state
            .rates
            .cost(PricedUsage::total(&usage), run.compute_ms(now)),
        transaction_id: TransactionId::new(now, state.mint.random(now)),
    };
    let ending = |run: &Run, wish| ending(run, wish, &finish, &usage, charge(run));
    let pricing = |usage| priced(state, usage, now);
    let answer = state
        .store
        .finish(&by, &finish.events, &ending, &pricing, now)
        .await?;
    Answer::ok(answer)
}

fn checked_code(outcome: &Outcome) -> Result<(), Error> {
    match outcome {
        Outcome::Failed { code, .. } if !code.is_runners_to_say() => Err(Error::invalid(
            "/outcome/code",
            "must not be one that only the service may say",
        )),
        _ => Ok(()),
    }
}

/// Usage with the part of its cost whose price is known.
pub fn priced(state: &State, usage: Vec<ModelUsage>, now: Timestamp) -> Vec<PricedUsage> {
    usage
        .into_iter()
        .map(|usage| PricedUsage {
            cost_usd_nano: state.prices.cost(&usage, now).map(|usd| usd.nano()),
            usage,
        })
        .collect()
}

fn ending(
    run: &Run,
    wish: Option<Wish>,
    finish: &Finish,
    usage: &[PricedUsage],
    charge: Charge,
) -> Result<Ending, Error> {
    let (branch, pr_url) = match &finish.outcome {
        Outcome::Succeeded { branch, pr_url, .. } => (branch.clone(), pr_url.clone()),
        _ => (None, None),
    };
    let (end, commit) = match &finish.outcome {
        Outcome::Succeeded { commit, .. } => (RunEnd::Succeeded, commit),
        Outcome::Failed {
            code,
            message,
            commit,
        } => (RunEnd::Failed(RunError::new(*code, message)), commit),
        Outcome::Waiting { .. } => {
            return Err(Error::Conflict("this run has no open children".to_owned()));
        }
        Outcome::Stopped { forced, commit } => (end_of_stop(run, wish, *forced)?, commit),
    };
    Ok(Ending {
        end,
        iterations: finish.iterations.min(run.max_iterations),
        commit: commit.clone(),
        branch,
        pr_url,
        usage: usage.to_vec(),
        charge,
    })
}

/// A runner may say that it was stopped only if somebody wanted it to stop.
fn end_of_stop(run: &Run, wish: Option<Wish>, forced: bool) -> Result<RunEnd, Error> {
    let reason = run.stop.as_ref().and_then(|stop| stop.reason.as_deref());
    match wish {
        None => Err(Error::Conflict(
            "nobody has asked for this run to stop".to_owned(),
        )),
        Some(Wish::Cancel) => Ok(RunEnd::Canceled),
        Some(Wish::Kill { immediate, .. }) => Ok(end_of_kill(forced || immediate, reason)),
    }
}
