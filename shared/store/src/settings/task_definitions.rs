//! The task definition of an organization: its identity, and what it was created from. ECS and EFS
//! have the full state; a lost item costs one more revision and nothing else.

use awo_domain::{Error, OrgId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{Key, Partition};
use crate::engine::table::Updated;

/// What stands behind the family of an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnDefinition {
    /// ARN of the deployment's revision that it was made from.
    pub base: String,
    /// The file system whose access point it mounts.
    pub file_system: String,
    /// That access point.
    pub access_point: String,
    /// ARN of the organization's own revision.
    pub definition: String,
}

impl Store {
    /// The organization's definition, if one was made.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn own_definition(&self, org: &OrgId) -> Result<Option<OwnDefinition>, Error> {
        let key = Key::task_definition(org);
        self.get(&key).await
    }

    /// Deletes the item of an organization that has no tasks any more.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn forget_own_definition(&self, org: &OrgId) -> Result<(), Error> {
        let key = Key::task_definition(org);
        self.empty(Partition::new(key.kind, key.pk)).await
    }

    /// Writes down what was made, unless somebody else has since `seen`: their definition is as
    /// good.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn note_own_definition(
        &self,
        org: &OrgId,
        seen: Option<&OwnDefinition>,
        made: &OwnDefinition,
    ) -> Result<(), Error> {
        let change = Change::new()
            .set("base", &made.base)
            .set("fileSystem", &made.file_system)
            .set("accessPoint", &made.access_point)
            .set("definition", &made.definition)
            .set("v", SCHEMA_VERSION)
            .when_option("definition", seen.map(|seen| &seen.definition));
        let key = Key::task_definition(org);
        match self.update(&key, change).await? {
            Updated::New(_) => {}
            Updated::Refused(_) => {
                tracing::info!(event = "task_definition_exists", %org, "a rival made the task definition")
            }
        }
        Ok(())
    }
}
