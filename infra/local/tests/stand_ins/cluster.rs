use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use awo_local::access::AccessKey;
use awo_local::ecs::{self, Ecs, EcsSettings, TaskDefinition, TaskEvents, TaskRule};
use awo_local::function::{Registry, event_function};
use awo_local::invoke_later::LaterInvocations;
use awo_local::shutdown::Shutdown;
use aws_sdk_ecs::Client;
use aws_sdk_ecs::types::Task;
use lambda_runtime::LambdaEvent;
use serde_json::Value;

use crate::cloud::{ecs_client, eventually, loopback};

/// A running cluster with a rule for every event.
pub struct Cluster {
    pub ecs: Ecs,
    pub client: Client,
    pub events: Arc<Mutex<Vec<Value>>>,
    /// When the first event of a stopped task came, by its ARN.
    pub ends: Arc<Mutex<BTreeMap<String, Instant>>>,
    pub logs: tempfile::TempDir,
    pub shutdown: Shutdown,
    pub endpoint: String,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

pub fn definition(script: &str) -> TaskDefinition {
    TaskDefinition {
        registered: None,
        family: "runner".to_owned(),
        container_name: "main".to_owned(),
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        environment: BTreeMap::from([("DEFINED".to_owned(), "1".to_owned())]),
        stop_timeout: Duration::from_secs(30),
        supervisor: Vec::new(),
        volumes: Vec::new(),
        mount_points: Vec::new(),
    }
}

impl Cluster {
    pub async fn start(definition: TaskDefinition) -> Self {
        Self::of(definition, None).await
    }

    /// A cluster that goes on from a journal.
    pub async fn restored(definition: TaskDefinition, journal: &Path) -> Self {
        Self::of(definition, Some(journal)).await
    }

    async fn of(definition: TaskDefinition, journal: Option<&Path>) -> Self {
        let (shutdown, key, registry) = (Shutdown::new(), AccessKey::random(), Registry::new());
        let events: Arc<Mutex<Vec<Value>>> = Arc::default();
        let ends: Arc<Mutex<BTreeMap<String, Instant>>> = Arc::default();
        let (sink, times) = (Arc::clone(&events), Arc::clone(&ends));
        let every = event_function(move |event: LambdaEvent<Value>| {
            sink.lock().unwrap().push(event.payload);
            async { Ok(()) }
        });
        registry.register("task-changed", every, Duration::from_secs(5));
        let stopped = event_function(move |event: LambdaEvent<Value>| {
            let detail = &event.payload["detail"];
            assert_eq!(
                detail["lastStatus"], "STOPPED",
                "the rule lets nothing else through"
            );
            let arn = detail["taskArn"].as_str().unwrap().to_owned();
            let mut times = times.lock().unwrap();
            times.entry(arn).or_insert_with(Instant::now);
            async { Ok(()) }
        });
        registry.register("task-stopped", stopped, Duration::from_secs(5));
        let waits = [Duration::from_millis(1); 2];
        let later = LaterInvocations::new(registry, shutdown.clone(), waits);
        let rule = |last_status: &[&str], function: &str| TaskRule {
            last_status: last_status
                .iter()
                .map(|status| (*status).to_owned())
                .collect(),
            function: function.to_owned(),
        };
        let rules = vec![
            rule(&[], "task-changed"),
            rule(&["STOPPED"], "task-stopped"),
        ];
        let logs = tempfile::tempdir().unwrap();
        let settings = EcsSettings {
            cluster: "local".to_owned(),
            log_directory: logs.path().to_owned(),
            task_limit: 5,
            files: None,
        };
        let (events_of, work) = (TaskEvents::new(rules, later), shutdown.clone());
        let ecs = match journal {
            Some(journal) => Ecs::restored(settings, events_of, work, journal).unwrap(),
            None => Ecs::new(settings, events_of, work),
        };
        ecs.register(definition);
        let server =
            ecs::start(loopback().await, ecs.clone(), key.clone(), shutdown.clone()).unwrap();
        let endpoint = server.url();
        let client = ecs_client(&endpoint, key.id());
        Self {
            ecs,
            client,
            events,
            ends,
            logs,
            shutdown,
            endpoint,
        }
    }

    pub fn run(&self) -> aws_sdk_ecs::operation::run_task::builders::RunTaskFluentBuilder {
        self.client
            .run_task()
            .cluster("local")
            .task_definition("runner")
    }

    pub async fn describe(&self, arn: &str) -> Task {
        let tasks = self
            .client
            .describe_tasks()
            .cluster("local")
            .tasks(arn)
            .send()
            .await
            .unwrap();
        tasks.tasks.unwrap().remove(0)
    }

    pub async fn wait_for(&self, arn: &str, status: &str) -> Task {
        eventually(status, async || {
            let task = self.describe(arn).await;
            (task.last_status() == Some(status)).then_some(task)
        })
        .await
    }

    pub fn log(&self, arn: &str, stream: &str) -> PathBuf {
        let id = arn.rsplit('/').next().unwrap();
        self.logs.path().join(format!("{id}.{stream}.log"))
    }

    /// Waits until a task has printed a line.
    pub async fn printed(&self, arn: &str) -> String {
        let path = self.log(arn, "stdout");
        eventually("output", async || {
            std::fs::read_to_string(&path)
                .ok()
                .filter(|text| text.ends_with('\n'))
        })
        .await
    }
}

pub fn arn_of(tasks: &[Task]) -> String {
    tasks[0].task_arn().unwrap().to_owned()
}
