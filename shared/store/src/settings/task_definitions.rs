//! Families of task definitions that were made for an organization: its own, and one for each image
//! and set of services that its environments name. ECS and EFS have the full state; a lost item
//! costs one more revision and nothing else.
//!
//! An item is there before the first revision of its family is registered, and is due once a day. So
//! the sweep finds every family, and deregisters what no run needs any more.

use awo_domain::environment::ContainersId;
use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{DUE_DEFINITIONS, SCHEMA_VERSION};
use crate::engine::item_kind::{ItemKind, Table};
use crate::engine::key::{Key, task_definitions};
use crate::engine::list::Slice;
use crate::engine::table::UpdateOutcome;
use crate::engine::transaction::Transaction;
use crate::sweep::DueKey;

/// Between two readings of a family by the sweep.
pub const LOOK_MS: i64 = 24 * 3_600_000;

/// What stands behind a family of an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnDefinition {
    /// The owner.
    pub org_id: OrgId,
    /// What its tasks have beside the deployment's own container; none in the organization's own
    /// family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containers: Option<ContainersId>,
    /// The family.
    pub family: String,
    /// ARN of the newest revision that was recorded; none while the first is made, and after it was
    /// found to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// What that was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// True once its organization is deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
    /// Index of due items.
    pub due_shard: String,
    /// When the sweep reads it, Unix milliseconds.
    pub due_at: i64,
    /// Shape of this item.
    pub v: u32,
}

/// What a revision was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// ARN of the deployment's revision.
    pub base: String,
    /// The deployment's shared file system, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// The access point that tasks mount of it, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_point: Option<String>,
}

impl OwnDefinition {
    /// The access point that its tasks mount, with its file system.
    #[must_use]
    pub fn access_point(&self) -> Option<(&str, &str)> {
        let origin = self.origin.as_ref()?;
        let file_system = origin.file_system.as_deref()?;
        Some((file_system, origin.access_point.as_deref()?))
    }

    fn key(&self) -> Key {
        Key::task_definition(&self.org_id, self.containers.as_ref())
    }
}

impl Store {
    /// The organization's own family, or the one of these containers, if there is one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn own_definition(
        &self,
        org: &OrgId,
        containers: Option<&ContainersId>,
    ) -> Result<Option<OwnDefinition>, Error> {
        let key = Key::task_definition(org, containers);
        self.get(&key).await
    }

    /// Notes that revisions of a family are about to be registered, so that the sweep knows of them
    /// whatever happens next.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn begin_own_definition(
        &self,
        org: &OrgId,
        containers: Option<&ContainersId>,
        family: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let change = Change::new()
            .set_if_missing("orgId", org)
            .set_if_missing("family", family)
            .set_if_missing("dueShard", DUE_DEFINITIONS)
            .set_if_missing("dueAt", now.plus_ms(LOOK_MS).epoch_ms())
            .set_if_missing("v", SCHEMA_VERSION);
        let change = match containers {
            Some(id) => change.set_if_missing("containers", id),
            None => change,
        };
        let key = Key::task_definition(org, containers);
        self.update(&key, change).await?;
        Ok(())
    }

    /// Records a revision, unless somebody else has recorded another since `seen`: theirs is as good.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn note_own_definition(
        &self,
        org: &OrgId,
        containers: Option<&ContainersId>,
        seen: Option<&str>,
        (definition, origin): (&str, &Origin),
    ) -> Result<(), Error> {
        let change = Change::new()
            .set("definition", definition)
            .set("origin", origin)
            // One that the sweep has removed meanwhile is made again at the next use.
            .when_present("family")
            .when_option("definition", seen);
        let key = Key::task_definition(org, containers);
        if let UpdateOutcome::Refused(_) = self.update(&key, change).await? {
            tracing::info!(event = "task_definition_exists", %org, "a rival made the task definition");
        }
        Ok(())
    }

    /// Forgets a revision that ECS does not run any more, so that the next task gets a new one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn forget_own_definition(
        &self,
        org: &OrgId,
        containers: Option<&ContainersId>,
    ) -> Result<(), Error> {
        let change = Change::new()
            .remove("definition")
            .when_present("definition");
        let key = Key::task_definition(org, containers);
        self.update(&key, change).await?;
        Ok(())
    }

    /// Families that the sweep has to read, oldest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due_definitions(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OwnDefinition>, Error> {
        let partition = (Table::Work, DUE_DEFINITIONS.to_owned());
        let page = self.due_keys(partition, None, now, limit).await?;
        let mut due = Vec::new();
        for DueKey { pk, sk, .. } in page.items {
            let key = Key::of(ItemKind::TaskDefinition, pk, sk);
            let family: Option<OwnDefinition> = self.get(&key).await?;
            due.extend(family.filter(|family| family.due_at <= now.epoch_ms()));
        }
        Ok(due)
    }

    /// Lets the sweep read a family again tomorrow.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn postpone_definition(
        &self,
        seen: &OwnDefinition,
        now: Timestamp,
    ) -> Result<(), Error> {
        let change = Change::new()
            .set("dueAt", now.plus_ms(LOOK_MS).epoch_ms())
            .when("dueAt", seen.due_at);
        self.update(&seen.key(), change).await?;
        Ok(())
    }

    /// Removes a family of which nothing is registered any more, unless a run needs it now.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn remove_definition(&self, seen: &OwnDefinition) -> Result<(), Error> {
        let unchanged = Change::new()
            .when("dueAt", seen.due_at)
            .when_option("definition", seen.definition.as_ref());
        Transaction::new()
            .delete(&seen.key(), unchanged)
            .commit(self)
            .await?;
        Ok(())
    }

    /// All families of an organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn own_definitions(&self, org: &OrgId) -> Result<Vec<OwnDefinition>, Error> {
        let mut families: Vec<OwnDefinition> = Vec::new();
        let slice = Slice::of_partition(task_definitions(org));
        self.each(&slice, |family| families.push(family)).await?;
        Ok(families)
    }

    /// Notes that the access point which a retired family names is deleted.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn note_access_point_deleted(&self, family: &OwnDefinition) -> Result<(), Error> {
        let change = Change::new().remove("origin").when("retired", true);
        self.update(&family.key(), change).await?;
        Ok(())
    }

    /// Gives the families of an organization that is deleted to the sweep.
    pub(crate) async fn retire_definitions(
        &self,
        org: &OrgId,
        now: Timestamp,
    ) -> Result<(), Error> {
        for family in self.own_definitions(org).await? {
            let change = Change::new()
                .set("retired", true)
                .set("dueAt", now.epoch_ms())
                .when_present("family");
            self.update(&family.key(), change).await?;
        }
        Ok(())
    }
}
