//! Finds tasks whose ARN was not recorded.

use awo_domain::{Error, OrgId, VerificationId};
use aws_sdk_ecs::error::DisplayErrorContext;
use aws_sdk_ecs::types::DesiredStatus;

use super::{Compute, describe_failed, started_as, started_for};

impl Compute {
    /// The task of a lease's client token that is to run, if there is one.
    ///
    /// # Errors
    /// Internal, when ECS fails.
    pub async fn find_task(
        &self,
        org: &OrgId,
        client_token: &str,
    ) -> Result<Option<String>, Error> {
        self.find(started_as(org, client_token)).await
    }

    /// The task of a manual verification, as [`Compute::find_task`].
    ///
    /// # Errors
    /// Internal, when ECS fails.
    pub async fn find_verification(
        &self,
        org: &OrgId,
        id: &VerificationId,
    ) -> Result<Option<String>, Error> {
        self.find(started_for(org, id)).await
    }

    async fn find(&self, started_by: String) -> Result<Option<String>, Error> {
        // ECS takes no other filter beside this one.
        let listed = self
            .client
            .list_tasks()
            .cluster(&self.cluster)
            .started_by(&started_by)
            .send()
            .await;
        let listed = listed.map_err(|e| list_failed(&e))?;
        Ok(listed.task_arns().first().cloned())
    }

    /// The task of a lease's client token that is to stop or has stopped, if it is of this family. It may still be
    /// alive. ECS lists such tasks by family alone, so all of the last hour are read.
    ///
    /// # Errors
    /// Internal, when ECS fails.
    pub async fn find_stopped_task(
        &self,
        family: &str,
        org: &OrgId,
        client_token: &str,
    ) -> Result<Option<String>, Error> {
        let started_by = started_as(org, client_token);
        let mut pages = self
            .client
            .list_tasks()
            .cluster(&self.cluster)
            .family(family)
            .desired_status(DesiredStatus::Stopped)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            let arns = page
                .map_err(|e| list_failed(&e))?
                .task_arns
                .unwrap_or_default();
            if arns.is_empty() {
                continue;
            }
            let tasks = self.client.describe_tasks().cluster(&self.cluster);
            let tasks = tasks.set_tasks(Some(arns)).send().await;
            let tasks = tasks.map_err(|e| describe_failed(&e))?;
            let mut tasks = tasks.tasks().iter();
            if let Some(task) = tasks.find(|task| task.started_by() == Some(&started_by)) {
                return Ok(task.task_arn().map(str::to_owned));
            }
        }
        Ok(None)
    }
}

fn list_failed(e: &(impl std::error::Error + 'static)) -> Error {
    Error::internal(format!("ListTasks: {}", DisplayErrorContext(e)))
}
