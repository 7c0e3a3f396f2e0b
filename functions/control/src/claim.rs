//! `POST /control/claim`: exchanges the nonce for a token, and returns the run's data.

use awo_domain::control::{Claim, Gate, Resumption, RunSpec, Tariff};
use awo_domain::environment::EnvironmentRecord;
use awo_domain::money::{MicroCredits, NanoUsd};
use awo_domain::plugin::Plugin;
use awo_domain::profile::Profile;
use awo_domain::work_order::Terms;
use awo_domain::{Error, OrgId, RunId, SnapshotId, TaskPrompt, Timestamp};
use awo_http::Answer;
use awo_store::runs::Run;
use awo_store::runs::lifecycle::lease::{Claiming, Lease};
use awo_store::work_orders::WorkOrder;
use lambda_http::Request;
use subtle::ConstantTimeEq;

use crate::State;
use crate::environment;
use crate::models::{self, RunModels};
use crate::runner::{body, is_token, token_hash};
use awo_execution::git_access::GitAccess;

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let claim: Claim = body(request)?;
    let (org, run_id, nonce) = parts(&claim.nonce).ok_or(Error::Unauthorized)?;
    if !is_token(&claim.token) {
        return Err(Error::invalid("/token", "must be 64 lower-case hex digits"));
    }
    let proof = (nonce, token_hash(&claim.token));
    let (lease, order, run) = leased(state, &org, &run_id, &proof).await?;
    let (git, models, prompt) = tokio::try_join!(
        state.git_hosts.of(&org, &order.source.repository, now),
        models::of(state, &org, &order.terms.agent),
        state.store.prompt(&org, &order)
    )?;
    let task_prompt = prompt.ok_or(Error::Unauthorized)?;
    let (profile, plugins, chosen) = tokio::try_join!(
        state.store.profile_of(&org, &order),
        state.store.plugins(&org),
        state.store.environment_of(&org, &order)
    )?;
    let own = order.own_containers()?;
    let claiming = Claiming {
        lease: &lease,
        max_iterations: profile.max_iterations(order.asked_iterations),
        profile,
        snapshot_id: SnapshotId::new(now, state.mint.random(now)),
        price_list: state.prices.version(),
        environment: (chosen.as_ref()).map(|chosen| {
            EnvironmentRecord::of(&chosen.name, &chosen.content, own.as_ref(), run.size)
        }),
        resumes: run.resumed_at.is_some(),
    };
    let proof = (nonce, proof.1.as_str());
    let profile = state.store.claim(claiming, proof, now).await?;
    let goes_by = (profile, plugins);
    let environment = environment::of(state, &org, chosen, own).await?;
    let thread = crate::thread::of(&state.store, &org, &order, now).await?;
    let resumption = resumption(state, &org, &order, &run).await?;
    let asked = (order, task_prompt);
    Answer::ok(RunSpec {
        resumption,
        environment,
        thread,
        ..spec(state, org, asked, &run, goes_by, (git, models))
    })
}

/// The lease of the run with all that it is about, if the nonce is good or the token is the one
/// that it was traded for.
async fn leased(
    state: &State,
    org: &OrgId,
    run_id: &RunId,
    (nonce, token_hash): &(&str, String),
) -> Result<(Lease, WorkOrder, Run), Error> {
    let lease = state.store.lease(org, run_id).await?;
    let lease = lease.ok_or(Error::Unauthorized)?;
    let fresh = lease
        .nonce
        .as_ref()
        .is_some_and(|known| known.as_bytes().ct_eq(nonce.as_bytes()).into());
    if !fresh && !lease.is_held_by(token_hash) {
        return Err(Error::Unauthorized);
    }
    let order = state.store.work_order(org, &lease.work_order_id);
    let (order, run) = tokio::try_join!(order, state.store.run(org, run_id))?;
    match (order, run) {
        (Some(order), Some(run)) => Ok((lease, order, run)),
        _ => Err(Error::Unauthorized),
    }
}

fn parts(nonce: &str) -> Option<(OrgId, RunId, &str)> {
    let mut parts = nonce.splitn(3, '.');
    let org = OrgId::parse(parts.next()?).ok()?;
    let run = RunId::parse(parts.next()?).ok()?;
    Some((org, run, parts.next()?))
}

fn spec(
    state: &State,
    org_id: OrgId,
    (order, task_prompt): (WorkOrder, TaskPrompt),
    run: &Run,
    (profile, plugins): (Profile, Vec<Plugin>),
    (git, models): (GitAccess, RunModels),
) -> RunSpec {
    RunSpec {
        org_id,
        work_order_id: order.id,
        run_id: run.run_id.clone(),
        task_prompt,
        git_credentials: git.credential.into_iter().collect(),
        forge: git.forge,
        model_keys: models.keys,
        model_endpoints: models.endpoints,
        bedrock: models.bedrock,
        source: order.source,
        hooks: order.hooks,
        allow_file_repositories: state.allow_file_repositories,
        gate: gate(&order.terms),
        merge_target: order.terms.merge_target,
        result_branch: order.terms.result_branch.clone(),
        agent: order.terms.agent,
        asked_iterations: order.asked_iterations,
        max_duration_ms: profile
            .max_duration_ms(order.terms.limits.max_duration_ms)
            .saturating_sub(run.earlier_compute_ms()),
        profile,
        plugins,
        max_credits: left_to_spend(state, run).to_decimal(),
        tariff: Tariff::new(state.rates.sized(run.size), state.prices.own()),
        start_commit: order.start_commit,
        depth: order.depth,
        parent_id: order.terms.parent_id,
        provider_waited_ms: run.provider_waited_ms(),
        resumption: None,
        environment: None,
        thread: None,
    }
}

/// The gate of a work order that only verifies a commit.
fn gate(terms: &Terms) -> Option<Gate> {
    terms.agent.kind.is_verification().then(|| Gate {
        base: terms.verify_base.clone(),
        protect: terms.protect,
    })
}

/// The hold, without what the compute before this runner's cost: it counts its own.
fn left_to_spend(state: &State, run: &Run) -> MicroCredits {
    let earlier_ms = run.suspension.as_ref().map_or(0, |left| left.compute_ms);
    let earlier = state.rates.sized(run.size).cost(NanoUsd::ZERO, earlier_ms);
    let hold = MicroCredits::from_micro(run.hold_micro);
    MicroCredits::ZERO.max(hold.minus(earlier))
}

/// The state of a run that waited for its children, and their results.
async fn resumption(
    state: &State,
    org: &OrgId,
    order: &WorkOrder,
    run: &Run,
) -> Result<Option<Resumption>, Error> {
    let Some(left) = run.suspension.as_ref().filter(|_| run.resumed_at.is_some()) else {
        return Ok(None);
    };
    let family = state.store.family(org, order, run).await?;
    let commits = run.base.clone().zip(run.commit.clone());
    let (base, commit) =
        commits.ok_or_else(|| Error::internal("a run left its compute without a commit"))?;
    Ok(Some(Resumption {
        base,
        commit,
        branch: run.branch.clone(),
        iterations: run.iteration,
        usage: run.usage.clone(),
        session_id: left.session_id.clone(),
        children: family.results(&order.source.repository),
    }))
}
