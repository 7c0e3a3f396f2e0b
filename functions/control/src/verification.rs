//! `POST /control/verifications/claim` and `POST /control/{orgId}/verifications/{verificationId}/report`:
//! a manual verification, from the nonce of its task to its result.

use awo_domain::control::Claim;
use awo_domain::manual::{
    Acknowledgement, MAX_REFUSAL_BYTES, MAX_RESULT_BYTES, VerificationEnvironment,
    VerificationReport, VerificationSpec,
};
use awo_domain::plugin::applicable;
use awo_domain::{Error, OrgId, Timestamp, VerificationId};
use awo_http::Answer;
use awo_http::authentication::bearer;
use awo_store::runs::verified_run::VerifiedRun;
use lambda_http::{Request, RequestExt};
use subtle::ConstantTimeEq;

use crate::State;
use crate::environment;
use crate::runner::{body, is_token, token_hash};

pub async fn claim(state: &State, request: &Request) -> Result<Answer, Error> {
    let claim: Claim = body(request)?;
    let (org, id, nonce) = parts(&claim.nonce).ok_or(Error::Unauthorized)?;
    if !is_token(&claim.token) {
        return Err(Error::invalid("/token", "must be 64 lower-case hex digits"));
    }
    let known = state.store.verification(&org, &id).await?;
    let known = known.ok_or(Error::Unauthorized)?;
    let token_hash = token_hash(&claim.token);
    let fresh =
        (known.nonce.as_ref()).is_some_and(|known| known.as_bytes().ct_eq(nonce.as_bytes()).into());
    if !fresh && known.token_hash.as_deref() != Some(&token_hash) {
        return Err(Error::Unauthorized);
    }
    let plugins = state.store.plugins(&org).await?;
    let environment = environment(state, &org, known.run.as_ref()).await?;
    let asked = known.request.clone();
    let spec = VerificationSpec {
        org_id: org,
        verification_id: id,
        work_dir: asked.work_dir,
        task_prompt: asked.task_prompt,
        modified_files: asked.modified_files,
        plugins: applicable(plugins, &asked.levels, &asked.plugin_ids),
        timeout_ms: asked.timeout_ms,
        run_id: known.run.as_ref().map(|run| run.run_id.clone()),
        environment,
    };
    let claimed = state.store.claim_verification(&known, nonce, &token_hash);
    claimed.await?;
    Answer::ok(spec)
}

/// The environment of the verified run's work order, by the rule by which a run that is claimed now
/// would get it.
async fn environment(
    state: &State,
    org: &OrgId,
    run: Option<&VerifiedRun>,
) -> Result<Option<VerificationEnvironment>, Error> {
    let Some(run) = run else {
        return Ok(None);
    };
    let order = state.store.work_order(org, &run.work_order_id).await?;
    // Purged since.
    let order = order.ok_or(Error::Unauthorized)?;
    let chosen = state.store.environment_of(org, &order).await?;
    let own = order.own_containers()?;
    let environment = environment::of(state, org, chosen, own).await?;
    Ok(environment.map(|environment| VerificationEnvironment {
        run_id: run.run_id.clone(),
        environment,
    }))
}

fn parts(nonce: &str) -> Option<(OrgId, VerificationId, &str)> {
    let mut parts = nonce.splitn(3, '.');
    let org = OrgId::parse(parts.next()?).ok()?;
    let id = VerificationId::parse(parts.next()?).ok()?;
    Some((org, id, parts.next()?))
}

pub async fn report(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let (org, id, token_hash) = reporter(request).ok_or(Error::Unauthorized)?;
    let report: VerificationReport = body(request)?;
    checked(&report)?;
    let over = || Error::Conflict("this verification is over: stop now".to_owned());
    let known = state.store.verification(&org, &id).await?;
    let known = known.ok_or_else(over)?;
    let stored = state
        .store
        .keep_verification(&known, &token_hash, report, now);
    if stored.await? {
        Answer::ok(Acknowledgement {})
    } else {
        Err(over())
    }
}

fn reporter(request: &Request) -> Option<(OrgId, VerificationId, String)> {
    let parameters = request.path_parameters();
    let org = OrgId::parse(parameters.first("orgId")?).ok()?;
    let id = VerificationId::parse(parameters.first("verificationId")?).ok()?;
    let token = bearer(request).filter(|token| is_token(token))?;
    Some((org, id, token_hash(token)))
}

fn checked(report: &VerificationReport) -> Result<(), Error> {
    let (path, length, most) = match report {
        VerificationReport::Begun {} => return Ok(()),
        VerificationReport::Refused { message, .. } => {
            ("/message", message.len(), MAX_REFUSAL_BYTES)
        }
        VerificationReport::Finished { result } => {
            let json = serde_json::to_vec(result).map_err(Error::internal)?;
            ("/result", json.len(), MAX_RESULT_BYTES)
        }
    };
    if length > most {
        return Err(Error::invalid(
            path,
            format!("must not exceed {most} bytes"),
        ));
    }
    Ok(())
}
