//! `POST /control/{orgId}/runs/{runId}/finish`: the end of a run. It is settled at once, or, after
//! a client's stop, when its compute is gone. A run with children leaves its compute until they
//! have ended, even if its runner does not know them.

use awo_domain::control::{Finish as Report, Outcome, StopRequest};
use awo_domain::run::{RunEnd, RunError};
use awo_domain::source::Branch;
use awo_domain::stop::end_of_kill;
use awo_domain::usage::{PricedUsage, sum_by_model};
use awo_domain::{Error, Timestamp, TransactionId};
use awo_http::Answer;
use awo_store::runs::Run;
use awo_store::runs::lifecycle::end::Ending;
use awo_store::runs::lifecycle::finish::{Finish, Stands};
use awo_store::runs::lifecycle::settle::Charge;
use awo_store::runs::lifecycle::suspend::Leave;
use lambda_http::Request;

use crate::State;
use crate::runner::{body, checked, checked_commit, reporter};

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let finish: Report = body(request)?;
    checked(&finish.events)?;
    checked_outcome(&finish.outcome)?;
    let usage = sum_by_model(&finish.usage);
    let charge = |stands: &Stands<'_>| {
        let run = stands.run;
        let (rates, compute_ms) = (state.rates.sized(run.size), run.compute_ms(now));
        Charge {
            cost: rates.parts(PricedUsage::total(&usage), compute_ms),
            compute_ms,
            is_free: is_free(&finish, stands),
            transaction_id: TransactionId::new(now, state.mint.random(now)),
        }
    };
    let finishing = |stands: &Stands<'_>| finishing(stands, &finish, &usage, charge(stands));
    let store = &state.store;
    let finished = store.finish(&by, &finish, &finishing, now).await?;
    if finish.nothing_alive {
        let dead = state
            .stopper
            .reported_dead_or_leave_to_sweep(&by.org, &by.run_id);
        Box::pin(dead).await;
    }
    if let Some(order) = &finished.ended {
        state.endings.notify_parent(&by.org, order, now).await;
    }
    Answer::ok(finished.answer)
}

/// True for a run of which no process of client code has started, however it ends.
fn is_free(finish: &Report, stands: &Stands<'_>) -> bool {
    let executed = finish.executed || !finish.usage.is_empty();
    !executed && !stands.run.has_executed(Some(stands.lease))
}

fn checked_outcome(outcome: &Outcome) -> Result<(), Error> {
    match outcome {
        Outcome::Failed { code, .. } if !code.may_be_reported_by_a_runner() => Err(Error::invalid(
            "/outcome/code",
            "must not be a code that only the service may report",
        )),
        Outcome::Waiting {
            base,
            commit,
            branch,
            ..
        } => {
            checked_commit("/outcome/base", base)?;
            checked_commit("/outcome/commit", commit)?;
            let branch = Branch::parse(branch);
            branch.map_err(|why| Error::invalid("/outcome/branch", why))?;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn finishing(
    stands: &Stands<'_>,
    finish: &Report,
    usage: &[PricedUsage],
    charge: Charge,
) -> Result<Finish, Error> {
    let (run, stop_request) = (stands.run, stands.stop_request);
    let leaves = stands.has_children && stop_request.is_none();
    let pr_url = match &finish.outcome {
        Outcome::Succeeded { pr_url, .. } => pr_url.clone(),
        _ => None,
    };
    let (end, commit, branch) = match &finish.outcome {
        Outcome::Succeeded { .. } | Outcome::Waiting { .. } if leaves => {
            return Ok(Finish::Leaves(Box::new(leave(run, finish, usage)?)));
        }
        Outcome::Succeeded { commit, branch, .. } if !stands.has_children => {
            (RunEnd::Succeeded, commit.clone(), branch.clone())
        }
        Outcome::Waiting { .. } if stop_request.is_none() => {
            let why = "this run has no children to wait for";
            return Err(Error::Conflict(why.to_owned()));
        }
        Outcome::Succeeded { commit, .. } => {
            (end_of_stop(run, stop_request, false)?, commit.clone(), None)
        }
        Outcome::Waiting { commit, .. } => {
            let commit = Some(commit.clone());
            (end_of_stop(run, stop_request, false)?, commit, None)
        }
        Outcome::Failed {
            code,
            message,
            commit,
        } => {
            let error = RunError::new(*code, message).with_baseline(run.baseline.as_ref());
            (RunEnd::Failed(error), commit.clone(), None)
        }
        Outcome::Stopped { forced, commit } => (
            end_of_stop(run, stop_request, *forced)?,
            commit.clone(),
            None,
        ),
    };
    Ok(Finish::Ends(Box::new(Ending {
        end,
        iterations: finish.iterations.min(run.max_iterations),
        commit,
        branch,
        pr_url,
        usage: usage.to_vec(),
        charge,
    })))
}

/// The state of a run that continues when its children have ended. One whose children a client
/// made does not know of them: to its runner it is done.
fn leave(run: &Run, finish: &Report, usage: &[PricedUsage]) -> Result<Leave, Error> {
    let (base, commit, branch, session_id) = match &finish.outcome {
        Outcome::Waiting {
            base,
            commit,
            branch,
            session_id,
        } => (
            Some(base.clone()),
            Some(commit.clone()),
            Some(branch.clone()),
            session_id.clone(),
        ),
        Outcome::Succeeded { commit, branch, .. } => (None, commit.clone(), branch.clone(), None),
        Outcome::Failed { .. } | Outcome::Stopped { .. } => (None, None, None, None),
    };
    let newest = commit.or_else(|| run.commit.clone());
    let base = base.or_else(|| run.base.clone()).or_else(|| newest.clone());
    let base =
        base.ok_or_else(|| Error::Conflict("this run has no commit to begin from yet".to_owned()))?;
    Ok(Leave {
        commit: newest.unwrap_or_else(|| base.clone()),
        base,
        branch,
        session_id,
        iterations: finish.iterations.min(run.max_iterations),
        usage: usage.to_vec(),
    })
}

/// A runner may report that it was stopped only if there is a stop request.
fn end_of_stop(
    run: &Run,
    stop_request: Option<StopRequest>,
    forced: bool,
) -> Result<RunEnd, Error> {
    let reason = run.stop.as_ref().and_then(|stop| stop.reason.as_deref());
    match stop_request {
        None => Err(Error::Conflict(
            "no stop of this run was requested".to_owned(),
        )),
        Some(StopRequest::Cancel) => Ok(RunEnd::Canceled),
        Some(StopRequest::Kill { immediate, .. }) => Ok(end_of_kill(forced || immediate, reason)),
    }
}
