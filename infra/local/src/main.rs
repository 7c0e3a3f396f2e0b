//! `awo-local`: the whole service as one foreground process.

mod backup;
mod first_key;
mod log;
mod settings;

use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use awo_cloud::Environment;
use awo_cloud::personal::{self, LocalRecord};
use awo_domain::Error;
use awo_local::confinement::Confinement;
use awo_local::metrics::Metrics;
use awo_local::workspace_root;
use awo_local::{Options, Service};
use awo_supervisor::{CommandUsers, Layers, UidRange};
use clap::Parser;
use serde_json::json;

use first_key::{FIRST_KEY, FirstKey, first_key};

const DEFAULT_PORT: u16 = 8787;
/// How often the sweep runs. A local service is restarted often and should recover within seconds;
/// the cloud's schedule cannot go below a minute.
const SWEEP_PERIOD: Duration = Duration::from_secs(10);
/// How long another service may hold the data directory. One that was killed still does for a
/// moment, through a process that it was just starting: until its exec, that has all files open.
const LOCK_LIMIT: Duration = Duration::from_secs(3);
/// Pause between two tries of the lock.
const LOCK_AGAIN: Duration = Duration::from_millis(10);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The whole service on this machine, in the foreground, on http://127.0.0.1:8787.
///
/// The environment has its settings. On its first start it makes an organization with a key, and prints
/// the key.
#[derive(Debug, Parser)]
#[command(name = "awo-local", version, after_help = settings::help())]
struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Copies the data directory into a new folder; the service may run meanwhile
    Backup {
        /// A folder that does not exist yet
        folder: PathBuf,
    },
    /// Copies a backup into a data directory that holds no data; no service runs on it
    Restore {
        /// The folder of a backup
        folder: PathBuf,
    },
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let done = match Arguments::parse().action {
        None => run().await,
        Some(Action::Backup { folder }) => back_up(&folder),
        Some(Action::Restore { folder }) => restore(&folder).await,
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("awo-local: {}", settings::with_example(&error.to_string()));
            std::process::ExitCode::FAILURE
        }
    }
}

fn back_up(folder: &Path) -> Result<(), Failure> {
    backup::back_up(&data_dir()?, folder)?;
    println!("The backup is in {}.", folder.display());
    Ok(())
}

async fn restore(folder: &Path) -> Result<(), Failure> {
    let data_dir = data_dir()?;
    make_private_dir(&data_dir)?;
    let _lock = lock(&data_dir).await?;
    backup::restore(folder, &data_dir)?;
    println!("{} has the data of the backup.", data_dir.display());
    Ok(())
}

fn data_dir() -> Result<PathBuf, Failure> {
    let dir = setting("AWO_DATA_DIR").unwrap_or_else(|| ".local".to_owned());
    Ok(std::path::absolute(dir)?)
}

async fn run() -> Result<(), Failure> {
    let metrics_port = port("AWO_METRICS_PORT")?;
    let metrics = metrics_port.map(|port| (port, Metrics::default()));
    log::start(metrics.as_ref().map(|(_, metrics)| metrics.clone()))?;
    for name in
        settings::unknown(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
    {
        eprintln!("awo-local: {name} is no setting of this service; awo-local --help lists them");
    }
    let data_dir = data_dir()?;
    make_private_dir(&data_dir)?;
    let lock = lock(&data_dir).await?;
    let options = options(&data_dir)?;
    let confinement = confinement(&options, &data_dir)?;
    confinement.open(&data_dir, &options.workspace_root)?;
    let takes_secrets =
        confinement.holds() || setting("AWO_ALLOW_UNCONFINED_SECRETS").as_deref() == Some("1");
    let mut options = Options {
        takes_secrets,
        ..options
    };
    if let CommandUsers::Shared(uid) = confinement.users {
        let (name, uid) = ("AWO_AGENT_UID".to_owned(), uid.to_string());
        options.settings.insert(name, uid);
    }
    if !confinement.limits_egress() {
        let refused = (awo_cloud::settings::NO_EGRESS.to_owned(), "1".to_owned());
        options.settings.extend([refused]);
    }
    let mut service = Service::start(options).await?;
    if let Some((port, metrics)) = &metrics {
        service.serve_metrics(metrics, *port).await?;
    }
    let is_first_start = !data_dir.join(FIRST_KEY).exists();
    let first = first_key(&service.cloud, &data_dir).await?;
    write_private(
        &data_dir.join("confinement.json"),
        &json!(confinement.report()),
    )?;
    write_private(&data_dir.join("endpoints.json"), &json!(service.settings))?;
    let ready = json!({
        "baseUrl": service.base_url,
        "apiKey": first.api_key,
        "orgId": first.org_id,
        "pid": std::process::id(),
    });
    write_private(&data_dir.join("service.json"), &ready)?;
    if let Some(path) = ready_file() {
        write_private(&path, &ready)?;
    }
    let recorded = record(&data_dir);
    welcome(&service.base_url, &first, is_first_start, &data_dir);
    println!("  confinement   {}", confinement.describe());
    println!("End it with Ctrl-C.");
    until_asked_to_end().await?;
    if let Some((record, config_dir)) = recorded {
        record.remove(&config_dir);
    }
    eprintln!("awo-local: ending; runs that are under way are stopped");
    service.stop().await;
    drop(lock);
    Ok(())
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The file that receives an API key, under the name that its folder really has.
fn ready_file() -> Option<PathBuf> {
    let path = std::path::absolute(setting("AWO_READY_FILE")?).ok()?;
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => Some(folder.join(name)),
        _ => Some(path),
    }
}

fn port(name: &str) -> Result<Option<u16>, Failure> {
    let port = setting(name).map(|port| port.parse()).transpose();
    port.map_err(|_| format!("{name} must be a port number, 0 for any free one").into())
}

fn options(data_dir: &Path) -> Result<Options, Failure> {
    let port = port("AWO_PORT")?.unwrap_or(DEFAULT_PORT);
    let workspace_root = match setting("AWO_WORKSPACE_ROOT") {
        Some(root) => std::path::absolute(root)?,
        None => workspace_root::default_root(data_dir)
            .map_err(|error| format!("cannot make a folder for workspaces: {error}"))?,
    };
    let log_dir = data_dir.join("task-logs");
    make_private_dir(&workspace_root)?;
    if let Some(file) = workspace_root::file_above(&workspace_root) {
        eprintln!(
            "awo-local: {} is above the workspaces: tool chains of runs may take it for a part of their \
             project. Name a folder outside of any project with AWO_WORKSPACE_ROOT",
            file.display()
        );
    }
    make_private_dir(&log_dir)?;
    let mut settings = BTreeMap::new();
    if setting("AWO_ALLOW_FILE_REPOSITORIES").is_none() {
        settings.insert("AWO_ALLOW_FILE_REPOSITORIES".to_owned(), "1".to_owned());
    }
    Ok(Options {
        data_dir: Some(data_dir.to_owned()),
        port,
        runner: runner()?,
        workspace_root,
        private_files: ready_file().into_iter().collect(),
        log_dir,
        sweep_period: SWEEP_PERIOD,
        item_locks: Duration::ZERO,
        takes_secrets: true,
        settings,
    })
}

/// What keeps agents from the data directory.
fn confinement(options: &Options, data_dir: &Path) -> Result<Confinement, Failure> {
    let uid = setting("AWO_AGENT_UID").map(|uid| uid.parse());
    let uid = uid
        .transpose()
        .map_err(|_| "AWO_AGENT_UID must be a number")?;
    let range = match setting("AWO_AGENT_UIDS") {
        None => UidRange::default(),
        Some(range) => UidRange::parse(&range).map_err(|why| format!("AWO_AGENT_UIDS: {why}"))?,
    };
    let layers = Layers::tried_by(&options.runner)
        .map_err(|why| format!("the layers of confinement cannot be tried: {why}"))?;
    let confinement = Confinement::of(layers, data_dir, &options.workspace_root, uid)?;
    confinement.check_range(range)?;
    confinement.log();
    confinement.check_mode(setting("AWO_CONFINEMENT").as_deref())?;
    if !confinement.holds() {
        eprintln!(
            "awo-local: agents can read the files of this service: the kernel grants neither namespaces nor \
             Landlock, and agents run as your own user. Secrets of organizations are rejected unless \
             AWO_ALLOW_UNCONFINED_SECRETS=1; awo doctor shows what is missing"
        );
    }
    Ok(confinement)
}

/// The runner stands beside this program.
fn runner() -> Result<PathBuf, Failure> {
    let beside = std::env::current_exe()?.with_file_name("runner");
    if beside.is_file() {
        Ok(beside)
    } else {
        Err(format!(
            "{} is missing: build it with `cargo build -p awo-runner`",
            beside.display()
        )
        .into())
    }
}

/// Makes a directory that only the owner can read, unless it is there.
fn make_private_dir(path: &Path) -> Result<(), Failure> {
    let made = personal::make_dir(path);
    made.map_err(|error| format!("cannot make {}: {error}", path.display()).into())
}

/// Two services on one data directory would spoil each other's database.
async fn lock(data_dir: &Path) -> Result<std::fs::File, Failure> {
    let path = data_dir.join("lock");
    let file = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&path)?;
    let given_up_at = Instant::now() + LOCK_LIMIT;
    while file.try_lock().is_err() {
        if Instant::now() >= given_up_at {
            return Err(format!(
                "another service runs on {}; stop it, or set AWO_DATA_DIR",
                data_dir.display()
            )
            .into());
        }
        tokio::time::sleep(LOCK_AGAIN).await;
    }
    Ok(file)
}

fn write_private(path: &Path, content: &serde_json::Value) -> Result<(), Failure> {
    let written = personal::write(path, content.to_string().as_bytes());
    written.map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

/// Records this service for `awo`, which then finds it from any folder. One on a port of the
/// system's choice is for a script or a test, which has its address from `AWO_READY_FILE`.
fn record(data_dir: &Path) -> Option<(LocalRecord, PathBuf)> {
    let config_dir = personal::config_dir(&Environment::of_process())?;
    if setting("AWO_PORT").as_deref() == Some("0") {
        return None;
    }
    let record = LocalRecord {
        data_dir: data_dir.to_owned(),
        pid: std::process::id(),
    };
    if let Err(error) = record.write(&config_dir) {
        let dir = config_dir.display();
        eprintln!("awo-local: awo finds this service by --data-dir alone: {dir}: {error}");
        return None;
    }
    Some((record, config_dir))
}

fn failure(error: Error) -> Failure {
    format!("{error:?}").into()
}

/// The key is shown this once: what is printed later ends up in logs.
fn welcome(base_url: &str, first: &FirstKey, is_first_start: bool, data_dir: &Path) {
    println!("The Agent Work Order Service is ready on {base_url}");
    println!("  organization  {}", first.org_id);
    println!("  data          {}", data_dir.display());
    if is_first_start {
        println!("  API key       {}", first.api_key);
        println!();
        println!("Try it:");
        println!(
            "  curl -H 'Authorization: Bearer {}' {base_url}/v1/credits",
            first.api_key
        );
        println!();
    } else {
        println!("  API key       in {}", data_dir.join(FIRST_KEY).display());
    }
}

async fn until_asked_to_end() -> Result<(), Failure> {
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = term.recv() => {}
    }
    Ok(())
}
