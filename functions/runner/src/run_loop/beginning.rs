//! What a run begins with: what can be known before anything is cloned, its folders, its budget, the
//! proxy of its models, its caches.

use awo_domain::control::RunSpec;
use awo_domain::environment::SecretPhase;
use awo_domain::money::MicroCredits;
use awo_domain::run::RunErrorCode;
use awo_pricing::Prices;
use tokio::time::Instant;

use super::integration::Integration;
use super::{Abort, Tally, fail};
use crate::agent;
use crate::contained_process::ContainedProcesses;
use crate::environment::{Archiver, Cache, Environment};
use crate::git::Git;
use crate::git_credentials::GitCredentials;
use crate::layout::Layout;
use crate::meter::{Budget, SharedMeter};
use crate::proxy::{ModelAccess, Proxy};
use crate::registries::Registries;
use crate::reporter::Reporter;
use crate::repository::Repository;
use crate::settings::Settings;
use crate::stop::StopSignal;
use crate::workspace;

/// Where caches are on a machine whose tasks share no other folder.
const CACHES: &str = ".caches";

impl Tally {
    /// With what the run has come to before.
    pub(super) fn of(spec: &RunSpec) -> Tally {
        let in_thread = spec.thread.is_some();
        let Some(resumption) = &spec.resumption else {
            return Tally {
                in_thread,
                ..Tally::default()
            };
        };
        // The sessions of drivers were in the home of a compute that is gone.
        let has_session = !agent::is_driver(spec.agent.kind);
        Tally {
            iterations: resumption.iterations,
            commit: Some(resumption.commit.clone()).filter(|commit| *commit != resumption.base),
            usage: resumption.usage.clone(),
            session_id: resumption.session_id.clone().filter(|_| has_session),
            integration: Integration::of(resumption),
            resumes: true,
            in_thread,
            ..Tally::default()
        }
    }
}

/// The environment, and the way to its registries.
pub(super) async fn surroundings(
    settings: &Settings,
    spec: &RunSpec,
) -> Result<(Environment, Registries), Abort> {
    let opened = Environment::open(spec.environment.as_ref(), &settings.private_hosts).await;
    opened.map_err(|why| fail(RunErrorCode::WorkspaceFailed, &why))
}

/// Where the organization's caches are; none if that cannot be: a run goes on without.
pub(super) fn caches(settings: &Settings, spec: &RunSpec) -> Option<Cache> {
    let wants = spec
        .environment
        .as_ref()
        .is_some_and(|one| !one.caches.is_empty());
    if !wants {
        return None;
    }
    // Beside the organizations' folders, into which verifications of their own lead.
    let own = settings.workspace_root.join(CACHES);
    let own = own.join(spec.org_id.as_str());
    let folder = settings.shared_root.clone().unwrap_or(own);
    let opened = std::fs::create_dir_all(&folder)
        .and_then(|()| Cache::open(&folder, Archiver::of(settings)));
    opened
        .inspect_err(|why| tracing::warn!(event = "no_caches", %why, "there are no caches"))
        .ok()
}

/// What can be known before anything is cloned, and the folders.
pub(super) fn begin(
    settings: &Settings,
    spec: &RunSpec,
    processes: &ContainedProcesses,
) -> Result<Layout, Abort> {
    let providers = ModelAccess::providers(&spec.model_keys, spec.bedrock.is_some());
    agent::check_type(&spec.agent, processes.path(), &providers)
        .map_err(|why| fail(RunErrorCode::AgentNotConfigured, &why.0))?;
    let broken = |why: &str| fail(RunErrorCode::WorkspaceFailed, why);
    workspace::check_source(spec).map_err(|why| broken(&why))?;
    let root = &settings.workspace_root;
    let cleared = match &spec.resumption {
        None => Ok(()),
        Some(_) => Layout::set_aside(root, &spec.org_id, &spec.run_id),
    };
    cleared
        .and_then(|()| Layout::create(root, &spec.org_id, &spec.run_id, processes.user()))
        .and_then(|layout| {
            workspace::write_git_config(&layout, spec.allow_file_repositories)?;
            Ok(layout)
        })
        .map_err(|why| broken(&format!("the run's folders could not be created: {why}")))
}

/// The runner's repository, which is empty.
pub(super) fn repository(
    settings: &Settings,
    spec: &RunSpec,
    stop: &StopSignal,
    layout: &Layout,
    credentials: &GitCredentials,
) -> Repository {
    let git = Git::new(
        settings.path.clone(),
        stop.clone(),
        spec.allow_file_repositories,
        layout.git_config(),
        credentials.clone(),
        settings.hosts.ca_file(),
    );
    Repository::new(git, layout).within(spec.profile.execution_limits.max_disk_mb)
}

/// What the run may cost, compute included, and what it has cost.
pub(super) fn meter(spec: &RunSpec, began: Instant) -> Result<SharedMeter, Abort> {
    let budget = || {
        let own_prices = serde_json::to_vec(&spec.tariff.own_prices).map_err(|e| e.to_string())?;
        Ok::<_, String>(Budget {
            prices: Prices::parse(&own_prices)?,
            rates: spec.tariff.rates()?,
            max_credits: MicroCredits::from_decimal(spec.max_credits)?,
            began: began.into_std(),
        })
    };
    budget().map(SharedMeter::new).map_err(|why| {
        let message = format!("the cost of the run cannot be computed: {why}");
        fail(RunErrorCode::WorkspaceFailed, &message)
    })
}

/// The proxy to the models that the run may call, if it may call any.
pub(super) async fn start_proxy(
    spec: &RunSpec,
    reporter: &Reporter,
    meter: &SharedMeter,
    environment: &Environment,
) -> Result<Option<Proxy>, Abort> {
    if spec.model_keys.is_empty() && spec.bedrock.is_none() {
        return Ok(None);
    }
    let bedrock = spec.bedrock.clone();
    let access = ModelAccess {
        keys: spec.model_keys.clone(),
        endpoints: spec.model_endpoints.clone(),
        bedrock: bedrock.map(|bedrock| (bedrock, reporter.credential_issuer())),
        hosts: environment.hosts_in(SecretPhase::Agent),
    };
    let opened = Proxy::start(access, meter.clone());
    opened.await.map(Some).map_err(|why| {
        let message = format!("the agent cannot reach its models: {why}");
        fail(RunErrorCode::AgentNotConfigured, &message)
    })
}
