//! What a run calls models with: keys and base URLs, delivered with the claim, and credentials for
//! Bedrock, which expire and are a call of their own: `POST
//! /control/{orgId}/runs/{runId}/credentials`.

use awo_cloud::model_role::ModelRole;
use awo_cloud::settings::models::{self as settings, BEDROCK_ROLE_ARN};
use awo_cloud::{Cloud, SetupError};
use awo_domain::agent::Agent;
use awo_domain::control::bedrock::{BedrockAccess, session_tags};
use awo_domain::control::{ModelEndpoint, ModelKey, Provider, ProviderSettings};
use awo_domain::{Error, OrgId, Timestamp};
use awo_http::Answer;
use awo_store::work_orders::WorkOrder;
use lambda_http::Request;
use serde::Deserialize;

use crate::State;
use crate::runner::{body, reporter};

/// The deployment's providers.
pub struct Models {
    providers: ProviderSettings,
    bedrock: Option<(BedrockAccess, ModelRole)>,
}

impl Models {
    /// As the settings have them.
    ///
    /// # Errors
    /// [`SetupError`] if a setting is missing or does not read.
    pub fn new(cloud: &Cloud) -> Result<Models, SetupError> {
        let bedrock = settings::bedrock(&cloud.environment)?;
        let role = || cloud.environment.required(BEDROCK_ROLE_ARN);
        let bedrock = match bedrock {
            Some(access) => Some((access, cloud.model_role(role()?))),
            None => None,
        };
        Ok(Models {
            providers: settings::providers(&cloud.environment)?,
            bedrock,
        })
    }
}

/// A run's access to models.
#[derive(Default)]
pub struct RunModels {
    pub keys: Vec<ModelKey>,
    pub endpoints: Vec<ModelEndpoint>,
    pub bedrock: Option<BedrockAccess>,
}

/// What an agent of the organization calls models with, as far as it wants to call any.
pub async fn of(state: &State, org: &OrgId, agent: &Agent) -> Result<RunModels, Error> {
    let wanted = agent.kind.providers();
    if wanted.is_empty() {
        return Ok(RunModels::default());
    }
    let (set, mut keys) = tokio::try_join!(state.store.providers(org), keys(state, org, wanted))?;
    let has_key = keys.iter().any(|key| key.provider == Provider::Anthropic);
    let is_bedrock = set.messages_provider == Some(Provider::Bedrock);
    let bedrock = state.models.bedrock.as_ref();
    let bedrock = bedrock.filter(|_| wanted.contains(&Provider::Anthropic));
    let bedrock = bedrock.filter(|_| set.uses_bedrock(has_key));
    // What was chosen and is not there is not replaced by something else.
    if bedrock.is_some() || is_bedrock {
        keys.retain(|key| key.provider != Provider::Anthropic);
    }
    Ok(RunModels {
        keys,
        endpoints: set.or(&state.models.providers).endpoints(),
        bedrock: bedrock.map(|(access, _)| access.clone()),
    })
}

/// The organization's keys, as far as it has set any.
async fn keys(state: &State, org: &OrgId, providers: &[Provider]) -> Result<Vec<ModelKey>, Error> {
    let mut keys = Vec::new();
    for provider in providers {
        let key = state.secrets.get(org, provider.as_str()).await?;
        // A key from a file often brings its line's end along.
        let key = key.map(|key| key.trim().to_owned());
        keys.extend(key.filter(|key| !key.is_empty()).map(|key| ModelKey {
            provider: *provider,
            key,
        }));
    }
    Ok(keys)
}

/// The body of a request for credentials.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CredentialsRequest {
    /// True for a credential of the repository's git host, instead of Bedrock's.
    #[serde(default)]
    git: bool,
    /// Submodules that the base names: the credential is to read them, instead of the repository's.
    #[serde(default)]
    submodules: Vec<String>,
}

/// Issues credentials to a run's runner: for Bedrock, if it answers the run, or for its git host.
pub async fn credentials(
    state: &State,
    request: &Request,
    now: Timestamp,
) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let CredentialsRequest { git, submodules } = body(request)?;
    let lease = state.store.lease(&by.org, &by.run_id).await?;
    let lease = lease.filter(|lease| lease.is_held_by(&by.token_hash));
    let lease = lease.filter(|lease| lease.closed_at.is_none());
    let over = || Error::Conflict("this run is over for you: stop now".to_owned());
    let lease = lease.ok_or_else(over)?;
    let order = state
        .store
        .work_order(&by.org, &lease.work_order_id)
        .await?;
    let order: WorkOrder = order.ok_or_else(over)?;
    if git {
        let repository = &order.source.repository;
        let credential = if submodules.is_empty() {
            let access = state.git_hosts.of(&by.org, repository, now).await?;
            access.credential
        } else {
            let hosts = &state.git_hosts;
            hosts
                .of_submodules(&by.org, repository, &submodules, now)
                .await?
        };
        let none = || Error::Conflict("there is no credential for this git host".to_owned());
        return Answer::ok(credential.ok_or_else(none)?);
    }
    let models = of(state, &by.org, &order.terms.agent).await?;
    let role = state.models.bedrock.as_ref();
    let role = role.filter(|_| models.bedrock.is_some());
    let (_, role) = role.ok_or_else(|| {
        Error::Conflict("this run does not call Bedrock: its organization uses a key".to_owned())
    })?;
    let tenant = order.terms.tenant_context.as_ref();
    let tenant = tenant.map(|tenant| tenant.tenant_id.as_str());
    let tags = session_tags(&by.org, tenant, &order.id);
    Answer::ok(role.assume(&by.run_id, &tags).await?)
}
