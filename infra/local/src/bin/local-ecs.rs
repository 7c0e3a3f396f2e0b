//! `local-ecs`: the cluster and the file system that its tasks mount, for tests in which something
//! else stands in for the rest of the cloud. Task definitions are given, tasks are real processes, and every change of a task
//! is one line of JSON on standard output, in the shape of its EventBridge event.
//!
//! Settings come as one line of JSON on standard input; the first line of standard output names
//! the endpoints of the cluster. The end of standard input ends the program and all its tasks, so that
//! nothing outlives a test that was killed.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use awo_local::access::AccessKey;
use awo_local::ecs::{self, Ecs, EcsSettings, MountPoint, TaskDefinition, TaskEvents, TaskRule};
use awo_local::efs::{self, Efs};
use awo_local::function::Registry;
use awo_local::invoke_later::{LaterInvocations, RETRY_WAITS};
use awo_local::shutdown::Shutdown;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

/// Longest wait for tasks at the end.
const DRAIN: Duration = Duration::from_secs(10);
/// The target of the only rule: standard output.
const OUTPUT: &str = "output";
/// Tasks at once.
const TASKS: usize = 16;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The first line of standard input.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    cluster: String,
    /// The ARN of a revision, as `RunTask` will name it.
    task_definition: String,
    container: String,
    command: Vec<String>,
    /// Stands before the command.
    supervisor: Vec<String>,
    environment: BTreeMap<String, String>,
    stop_timeout_s: u64,
    log_directory: PathBuf,
    /// Where tasks are written down, so that the next process knows of them.
    journal: Option<PathBuf>,
    /// Where the file system is that tasks mount.
    files: PathBuf,
    volumes: Vec<Value>,
    mount_points: Vec<MountPoint>,
}

#[tokio::main]
async fn main() -> ExitCode {
    awo_cloud::telemetry::start();
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("local-ecs: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut input = BufReader::new(tokio::fs::File::from_std(input.into()));
    let mut first = String::new();
    input.read_line(&mut first).await?;
    let settings: Settings = serde_json::from_str(&first)?;
    let (shutdown, key) = (Shutdown::new(), AccessKey::random());
    let files = Efs::new(&settings.files)?;
    let ecs = cluster(settings, &files, &shutdown)?;
    let listen = || tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let server = ecs::start(listen().await?, ecs.clone(), key.clone(), shutdown.clone())?;
    let files = efs::start(listen().await?, files, key.clone(), shutdown.clone())?;
    write_line(json!({
        "url": server.url(), "filesUrl": files.url(), "accessKeyId": key.id(),
    }))?;
    // The first line is the address, whatever is remembered of earlier tasks.
    ecs.report_stopped();
    // What comes after the first line has no meaning; only its end has.
    tokio::io::copy(&mut input, &mut tokio::io::sink()).await?;
    shutdown.begin();
    ecs.idle(DRAIN).await;
    server.finished().await;
    files.finished().await;
    Ok(())
}

fn cluster(settings: Settings, files: &Efs, shutdown: &Shutdown) -> Result<Ecs, Failure> {
    let name = settings.task_definition.rsplit('/').next();
    let (family, revision) = name
        .and_then(|name| name.split_once(':'))
        .ok_or("taskDefinition must be the ARN of a revision")?;
    let rule = TaskRule {
        last_status: Vec::new(),
        function: OUTPUT.to_owned(),
    };
    let later = LaterInvocations::new(output(), shutdown.clone(), RETRY_WAITS);
    let cluster = EcsSettings {
        cluster: settings.cluster,
        log_directory: settings.log_directory,
        task_limit: TASKS,
        files: Some(files.clone()),
    };
    let (events, work) = (TaskEvents::new(vec![rule], later), shutdown.clone());
    let ecs = match &settings.journal {
        Some(journal) => Ecs::restored(cluster, events, work, journal)?,
        None => Ecs::new(cluster, events, work),
    };
    let definition = TaskDefinition {
        registered: None,
        family: family.to_owned(),
        container_name: settings.container,
        command: settings.command,
        environment: settings.environment,
        stop_timeout: Duration::from_secs(settings.stop_timeout_s),
        supervisor: settings.supervisor,
        volumes: settings.volumes,
        mount_points: settings.mount_points,
    };
    // Revisions count from 1, and the one that will be asked for has to be there.
    for _ in 0..revision.parse::<u32>()? {
        ecs.register(definition.clone());
    }
    Ok(ecs)
}

/// A registry whose only function writes its event down.
fn output() -> Registry {
    let registry = Registry::new();
    registry.register(
        OUTPUT,
        Arc::new(|event, _| {
            Box::pin(async move {
                write_line(&event).map_err(|error| error.to_string())?;
                Ok(Value::Null)
            })
        }),
        Duration::from_secs(5),
    );
    registry
}

/// One write for a line: events of several tasks must not mix.
fn write_line(line: impl std::fmt::Display) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(format!("{line}\n").as_bytes())?;
    output.flush()
}
