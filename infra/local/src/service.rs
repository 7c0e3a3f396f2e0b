//! The product on the stand-ins: its functions behind the gateway, the mapping, the rule and the
//! schedule, its tables, its queue and its cluster, as in the cloud's template.
//!
//! No part of the product is reimplemented here; this is the wiring that the template does in the
//! cloud.

mod bodies;
mod cluster;
mod queues;
pub mod refusals;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use awo_cloud::{Cloud, Environment, SetupError};
use awo_domain::Error;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::access::AccessKey;
use crate::dynamodb::Storage;
use crate::ecs::Ecs;
use crate::efs::{self, Efs};
use crate::function::Registry;
use crate::functions::{register, routes};
use crate::gateway::{Edge, GatewaySettings};
use crate::health::Health;
use crate::in_process::http_client;
use crate::index_lag::IndexLag;
use crate::locks::Locks;
use crate::metrics::Metrics;
use crate::schedule::Schedule;
use crate::shutdown::Shutdown;
use crate::sqs::{Queues, queue_url};
use crate::{REGION, Server, dynamodb, ecs, gateway, secrets, sqs, sts};

/// How often expired items are removed.
const TTL_PERIOD: Duration = Duration::from_secs(600);
/// Longest wait for tasks and functions at the end.
const DRAIN: Duration = Duration::from_secs(40);
/// Bytes from which the gateway compresses answers, as in the template.
pub const MINIMUM_COMPRESSION_SIZE: usize = 1_024;
const CLUSTER: &str = "awo";
/// What the names of its secrets begin with.
const STACK: &str = "awo";

/// How the service is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of all data; without one, nothing is stored.
    pub data_dir: Option<PathBuf>,
    /// The gateway's port; 0 for any.
    pub port: u16,
    /// The runner's program.
    pub runner: PathBuf,
    /// Where runs have their workspaces.
    pub workspace_root: PathBuf,
    /// Where tasks log.
    pub log_dir: PathBuf,
    /// Files of the service beside its data, which no run may read.
    pub private_files: Vec<PathBuf>,
    /// How often the sweep runs: a minute in the cloud.
    pub sweep_period: Duration,
    /// For how long a transaction locks its items against others: no time, unless a test or a
    /// measurement wants a database that is as unkind as the cloud's.
    pub item_locks: Duration,
    /// False where agents could read the secrets of organizations: then none is taken.
    pub takes_secrets: bool,
    /// Settings over those of the process.
    pub settings: BTreeMap<String, String>,
}

/// A service that runs.
pub struct Service {
    /// Where clients call.
    pub base_url: String,
    /// The product's view of the stand-ins.
    pub cloud: Cloud,
    /// The product's way to the stand-ins.
    pub http: SharedHttpClient,
    /// The cluster.
    pub ecs: Ecs,
    /// What refuses clients and runners before the gateway.
    pub edge: Edge,
    /// Settings with which another process reaches the stand-ins.
    pub settings: BTreeMap<String, String>,
    ending: Ending,
    registry: Registry,
    servers: Vec<Server>,
    pollers: Vec<JoinHandle<()>>,
}

/// The end comes in two steps: first no work is taken any more and tasks are stopped; the stores
/// go on until what that caused is written down.
#[derive(Clone)]
struct Ending {
    work: Shutdown,
    stores: Shutdown,
}

/// Why a service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port, a file or a directory.
    #[error("{what}: {error}")]
    Io {
        /// The call.
        what: String,
        /// Its outcome.
        error: io::Error,
    },
    /// A setting.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A table.
    #[error("the tables could not be made or read: {0:?}")]
    Tables(Error),
}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> StartError {
    let what = what.into();
    move |error| StartError::Io { what, error }
}

async fn listen(port: u16) -> Result<TcpListener, StartError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address)
        .await
        .map_err(failed(format!("cannot listen on {address}")))
}

impl Service {
    /// Starts everything; when this returns, the service serves.
    ///
    /// # Errors
    /// [`StartError`], with nothing left running but what ends with the process.
    pub async fn start(options: Options) -> Result<Service, StartError> {
        let gateway_listener = listen(options.port).await?;
        let base_url = format!(
            "http://{}",
            gateway_listener
                .local_addr()
                .map_err(failed("the gateway's address"))?
        );
        let ending = Ending {
            work: Shutdown::new(),
            stores: Shutdown::new(),
        };
        let registry = Registry::new();
        let stand_ins = StandIns::start(&options, &base_url, &registry, &ending).await?;
        let settings = settings(&options, &stand_ins);
        let http = http_client(&stand_ins.servers);
        let cloud = Cloud::new(environment(&settings), http.clone());
        let store = cloud.store()?;
        store
            .create_missing_tables()
            .await
            .map_err(StartError::Tables)?;
        register(&registry, &cloud)?;
        stand_ins.ecs.report_stopped();
        queues::wake_again(&cloud, &store).await?;
        let mappings = queues::mappings().map(|mapping| {
            mapping.start(
                stand_ins.queues.clone(),
                registry.clone(),
                ending.work.clone(),
            )
        });
        let schedule = Schedule {
            name: "sweep".to_owned(),
            function: "sweep".to_owned(),
            period: options.sweep_period,
        }
        .start(registry.clone(), ending.work.clone());
        let mut servers = stand_ins.servers;
        let mut gateway_settings = GatewaySettings::new(routes());
        gateway_settings.minimum_compression_size = Some(MINIMUM_COMPRESSION_SIZE);
        gateway_settings.responses = &refusals::BODIES;
        gateway_settings.health = Some(Health::since(chrono::Utc::now()));
        let edge = gateway_settings.edge.clone();
        let gateway = gateway::start(
            gateway_listener,
            gateway_settings,
            registry.clone(),
            ending.work.clone(),
        );
        servers.push(gateway.map_err(failed("the gateway"))?);
        Ok(Service {
            base_url,
            cloud,
            http,
            ecs: stand_ins.ecs,
            edge,
            settings,
            ending,
            registry,
            servers,
            pollers: mappings.into_iter().chain([schedule]).collect(),
        })
    }

    /// Sweeps now, as the schedule would.
    ///
    /// # Errors
    /// In the function's words.
    pub async fn sweep(&self) -> Result<serde_json::Value, String> {
        self.registry
            .invoke("sweep", &serde_json::json!({}))
            .await
            .map_err(|error| error.to_string())
    }

    /// From now on all functions together have so many executions at once, of which these are reserved.
    pub fn limit_concurrency(&self, all: usize, reserved: &[(&str, usize)]) {
        self.registry.limit_concurrency(all, reserved);
    }

    /// Serves metrics on this port of loopback until the service stops.
    ///
    /// # Errors
    /// When nothing can listen there.
    pub async fn serve_metrics(&mut self, metrics: &Metrics, port: u16) -> Result<(), StartError> {
        let listener = listen(port).await?;
        let server = metrics.serve(listener, self.cloud.store()?, self.ending.work.clone());
        self.servers.push(server.map_err(failed("metrics"))?);
        Ok(())
    }

    /// Stops: tasks are asked to end, functions under way finish.
    pub async fn stop(self) {
        self.ending.work.begin();
        self.ecs.idle(DRAIN).await;
        for poller in self.pollers {
            if let Err(error) = poller.await {
                tracing::error!(%error, "a poller of the local cloud ended badly");
            }
        }
        self.registry.drained(DRAIN).await;
        self.ending.stores.begin();
        for server in self.servers {
            server.finished().await;
        }
    }
}

struct StandIns {
    key: AccessKey,
    queues: Queues,
    ecs: Ecs,
    servers: Vec<Server>,
    dynamodb: String,
    sqs: String,
    ecs_url: String,
    secrets: String,
    files: String,
    sts: String,
    s3: String,
}

impl StandIns {
    async fn start(
        options: &Options,
        base_url: &str,
        registry: &Registry,
        ending: &Ending,
    ) -> Result<StandIns, StartError> {
        let (key, storage) = match &options.data_dir {
            Some(dir) => {
                let key = AccessKey::of_directory(dir)
                    .map_err(failed(format!("the data directory {}", dir.display())))?;
                (key, Storage::File(dir.join("dynamodb.sqlite")))
            }
            None => (AccessKey::random(), Storage::Memory),
        };
        let dynamodb = dynamodb::start(
            listen(0).await?,
            &storage,
            TTL_PERIOD,
            key.clone(),
            ending.stores.clone(),
            (Locks::held_for(options.item_locks), IndexLag::default()),
        );
        let dynamodb = dynamodb.map_err(failed("the database"))?;
        let queues = queues::create(&ending.stores)?;
        let sqs = sqs::start(
            listen(0).await?,
            queues.clone(),
            key.clone(),
            ending.stores.clone(),
        )
        .map_err(failed("SQS"))?;
        let files = Efs::new(&files_of(options)).map_err(failed("the file system of tasks"))?;
        let ecs = cluster::start(options, base_url, registry, ending, &files)
            .map_err(failed("the journal of tasks"))?;
        let files = efs::start(listen(0).await?, files, key.clone(), ending.stores.clone())
            .map_err(failed("EFS"))?;
        let ecs_server = ecs::start(
            listen(0).await?,
            ecs.clone(),
            key.clone(),
            ending.stores.clone(),
        )
        .map_err(failed("ECS"))?;
        let secrets_file = options
            .data_dir
            .as_ref()
            .unwrap_or(&options.workspace_root)
            .join("secrets.json");
        let secrets = secrets::start(
            listen(0).await?,
            &secrets_file,
            options.takes_secrets,
            key.clone(),
            ending.stores.clone(),
        );
        let secrets = secrets.map_err(failed("Secrets Manager"))?;
        let roles = sts::start(listen(0).await?, key.clone(), ending.stores.clone())
            .map_err(failed("STS"))?;
        let objects = bodies::start(options, &key, ending).await?;
        Ok(StandIns {
            key,
            queues,
            ecs,
            dynamodb: dynamodb.url(),
            sqs: sqs.url(),
            ecs_url: ecs_server.url(),
            secrets: secrets.url(),
            files: files.url(),
            sts: roles.url(),
            s3: objects.url(),
            servers: vec![dynamodb, sqs, ecs_server, secrets, files, roles, objects],
        })
    }
}

fn files_of(options: &Options) -> PathBuf {
    let dir = options.data_dir.as_ref();
    dir.unwrap_or(&options.log_dir).join("files")
}

/// The product's environment variables, as the template sets them in the cloud.
fn settings(options: &Options, stand_ins: &StandIns) -> BTreeMap<String, String> {
    let mut settings: BTreeMap<String, String> = [
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", stand_ins.key.id()),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("AWS_ENDPOINT_URL_DYNAMODB", &stand_ins.dynamodb),
        ("AWS_ENDPOINT_URL_SQS", &stand_ins.sqs),
        ("AWS_ENDPOINT_URL_ECS", &stand_ins.ecs_url),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", &stand_ins.secrets),
        ("AWS_ENDPOINT_URL_EFS", &stand_ins.files),
        ("AWS_ENDPOINT_URL_STS", &stand_ins.sts),
        ("AWS_ENDPOINT_URL_S3", &stand_ins.s3),
        ("AWO_INBOX_BODIES", bodies::BUCKET),
        ("AWO_WORK_TABLE", "awo-work"),
        ("AWO_LEDGER_TABLE", "awo-ledger"),
        ("AWO_SETTINGS_TABLE", "awo-settings"),
        ("AWO_DELIVERIES_TABLE", "awo-deliveries"),
        (
            "AWO_RUN_QUEUE_URL",
            &queue_url(&stand_ins.sqs, queues::RUNS),
        ),
        (
            "AWO_DELIVERIES_QUEUE_URL",
            &queue_url(&stand_ins.sqs, queues::DELIVERIES),
        ),
        ("AWO_CLUSTER", CLUSTER),
        ("AWO_STACK", STACK),
        ("AWO_TASK_DEFINITION", "awo-runner"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    settings.extend(options.settings.clone());
    settings
}

fn environment(settings: &BTreeMap<String, String>) -> Environment {
    let settings = settings.clone();
    Environment::new(move |name| {
        settings
            .get(name)
            .cloned()
            .or_else(|| std::env::var(name).ok())
    })
}
