//! One task, with its ECS descriptions and events. Invariants: the version grows with every change;
//! a stopped task does not change any more.

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::ecs::conduct::StartFailure;
use crate::ecs::journal;
use crate::{arn, clock};

/// Where a task is in its life; the order is the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TaskStatus {
    Provisioning,
    Pending,
    Running,
    Deprovisioning,
    Stopped,
}

impl TaskStatus {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Provisioning => "PROVISIONING",
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Deprovisioning => "DEPROVISIONING",
            Self::Stopped => "STOPPED",
        }
    }

    fn of_container(self) -> &'static str {
        match self {
            Self::Provisioning | Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Deprovisioning | Self::Stopped => "STOPPED",
        }
    }
}

/// Why a task stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StopCause {
    pub code: Cow<'static, str>,
    pub reason: String,
}

/// As it is serialized, it stands in the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    pub id: String,
    #[serde(skip)]
    pub cluster: Arc<str>,
    pub family: String,
    pub revision: u32,
    pub container_name: String,
    #[serde(default)]
    pub image: String,
    /// Names and images of containers that are described and not run.
    #[serde(default)]
    pub others: Vec<(String, String)>,
    /// Why it did not start, if a container is why.
    #[serde(default)]
    pub failure: Option<StartFailure>,
    pub started_by: Option<String>,
    pub group: String,
    pub launch_type: String,
    /// As the caller gave them.
    #[serde(serialize_with = "journal::without_values")]
    pub overrides: Value,
    pub tags: Value,
    pub status: TaskStatus,
    pub version: u64,
    pub stop_cause: Option<StopCause>,
    pub exit_code: Option<i32>,
    pub created: DateTime<Utc>,
    pub started: Option<DateTime<Utc>>,
    pub stopping: Option<DateTime<Utc>>,
    pub stopped: Option<DateTime<Utc>>,
    /// Set to true to stop the process.
    #[serde(skip)]
    pub stop: watch::Sender<bool>,
}

impl Task {
    pub fn arn(&self) -> String {
        arn::task(&self.cluster, &self.id)
    }

    pub fn definition_arn(&self) -> String {
        arn::task_definition(&self.family, self.revision)
    }

    pub fn desired_status(&self) -> &'static str {
        let ending = self.stop_cause.is_some() || self.status >= TaskStatus::Deprovisioning;
        if ending { "STOPPED" } else { "RUNNING" }
    }

    /// The task as the API renders it.
    pub fn describe(&self, with_tags: bool) -> Value {
        let mut task = self.render(|time| json!(clock::epoch_seconds(time)));
        task["tags"] = if with_tags {
            self.tags.clone()
        } else {
            json!([])
        };
        task
    }

    /// The `detail` of the task's event.
    pub fn event_detail(&self) -> Value {
        let mut detail = self.render(|time| json!(clock::precise_time(time)));
        detail["updatedAt"] = json!(clock::precise_time(clock::now()));
        detail
    }

    fn render(&self, time: impl Fn(DateTime<Utc>) -> Value) -> Value {
        let mut task = json!({
            "attachments": [],
            "attributes": [{"name": "ecs.cpu-architecture", "value": "x86_64"}],
            "availabilityZone": format!("{}a", arn::REGION),
            "clusterArn": arn::cluster(&self.cluster),
            "connectivity": "CONNECTED",
            "containers": self.containers(),
            "cpu": self.size("cpu", "1024"),
            "createdAt": time(self.created),
            "desiredStatus": self.desired_status(),
            "enableExecuteCommand": false,
            "group": self.group,
            "lastStatus": self.status.name(),
            "launchType": self.launch_type,
            "memory": self.size("memory", "2048"),
            "overrides": self.overrides,
            "platformVersion": "1.4.0",
            "taskArn": self.arn(),
            "taskDefinitionArn": self.definition_arn(),
            "version": self.version,
        });
        for (name, moment) in [
            ("startedAt", self.started),
            ("stoppingAt", self.stopping),
            ("stoppedAt", self.stopped),
            ("executionStoppedAt", self.stopped),
        ] {
            if let Some(moment) = moment {
                task[name] = time(moment);
            }
        }
        if let Some(started_by) = &self.started_by {
            task["startedBy"] = json!(started_by);
        }
        if let Some(cause) = &self.stop_cause {
            task["stopCode"] = json!(cause.code);
            task["stoppedReason"] = json!(cause.reason);
        }
        task
    }

    /// What the task has of this, by its overrides or by default.
    fn size(&self, of: &str, default: &str) -> String {
        let overridden = self.overrides[of].as_str();
        overridden.unwrap_or(default).to_owned()
    }

    fn containers(&self) -> Vec<Value> {
        let mut first = self.container(&self.container_name, &self.image);
        if let Some(code) = self.exit_code {
            first["exitCode"] = json!(code);
        }
        let others = self.others.iter();
        let others = others.map(|(name, image)| self.container(name, image));
        std::iter::once(first).chain(others).collect()
    }

    fn container(&self, name: &str, image: &str) -> Value {
        let mut container = json!({
            "containerArn": arn::container(&self.cluster, &self.id, &self.id),
            "cpu": "0",
            "healthStatus": "UNKNOWN",
            "image": image,
            "lastStatus": self.status.of_container(),
            "name": name,
            "networkInterfaces": [],
            "runtimeId": format!("{}-local", self.id),
            "taskArn": self.arn(),
        });
        let failure = self.failure.as_ref();
        if let Some(failure) = failure.filter(|one| one.container.as_deref() == Some(name)) {
            container["reason"] = json!(failure.reason);
            if let Some(code) = failure.exit_code {
                container["exitCode"] = json!(code);
            }
            if failure.is_unhealthy {
                container["healthStatus"] = json!("UNHEALTHY");
            }
        }
        container
    }
}
