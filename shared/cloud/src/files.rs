//! The file system that the tasks of one organization share (EFS). An access point leads to the
//! organization's own folder only; users keep their ids behind it, so files that only the runner
//! may read stay protected.

use std::time::Duration;

use awo_domain::{Error, OrgId};
use aws_sdk_efs::Client;
use aws_sdk_efs::error::DisplayErrorContext;
use aws_sdk_efs::operation::create_access_point::CreateAccessPointError;
use aws_sdk_efs::operation::delete_access_point::DeleteAccessPointError;
use aws_sdk_efs::types::{CreationInfo, LifeCycleState, RootDirectory};

/// Most reads of a new access point until it can be mounted, and the pause between two.
const READS: u32 = 30;
const PAUSE: Duration = Duration::from_millis(500);
/// The folder of an organization is the runner's, which is root, and no other user may enter it.
const OWNER: i64 = 0;
const MODE: &str = "0700";

/// The shared file system.
#[derive(Debug, Clone)]
pub struct Files {
    client: Client,
    file_system: String,
}

impl Files {
    pub(crate) fn new(client: Client, file_system: String) -> Files {
        Files {
            client,
            file_system,
        }
    }

    /// Its id.
    #[must_use]
    pub fn file_system(&self) -> &str {
        &self.file_system
    }

    /// The access point of an organization, made if there is none: asking again gives the same one.
    /// None if the file system can have no more of them.
    ///
    /// # Errors
    /// Internal, when EFS fails, or the access point cannot be mounted yet.
    pub async fn access_point(&self, org: &OrgId) -> Result<Option<String>, Error> {
        let owner = CreationInfo::builder()
            .owner_uid(OWNER)
            .owner_gid(OWNER)
            .permissions(MODE)
            .build();
        let owner = owner.map_err(Error::internal)?;
        let folder = RootDirectory::builder()
            .path(format!("/{org}"))
            .creation_info(owner)
            .build();
        let made = self
            .client
            .create_access_point()
            .client_token(format!("{org}.{}", self.file_system))
            .file_system_id(&self.file_system)
            .root_directory(folder)
            .send()
            .await;
        let id = match made {
            Ok(made) => made.access_point_id,
            Err(e) => match e.as_service_error() {
                Some(CreateAccessPointError::AccessPointAlreadyExists(there)) => {
                    Some(there.access_point_id.clone())
                }
                Some(CreateAccessPointError::AccessPointLimitExceeded(_)) => return Ok(None),
                _ => return Err(failed("CreateAccessPoint", DisplayErrorContext(&e))),
            },
        };
        let id = id.ok_or_else(|| Error::internal("CreateAccessPoint: no id in the answer"))?;
        self.until_available(&id).await.map(|()| Some(id))
    }

    /// Deletes an access point; one that does not exist is deleted already. Files behind it stay.
    ///
    /// # Errors
    /// Internal, when EFS fails.
    pub async fn delete_access_point(&self, id: &str) -> Result<(), Error> {
        let deleted = self.client.delete_access_point().access_point_id(id).send();
        match deleted.await {
            Ok(_) => Ok(()),
            Err(e) => match e.as_service_error() {
                Some(DeleteAccessPointError::AccessPointNotFound(_)) => Ok(()),
                _ => Err(failed("DeleteAccessPoint", DisplayErrorContext(&e))),
            },
        }
    }

    async fn until_available(&self, id: &str) -> Result<(), Error> {
        for _ in 0..READS {
            let answer = self
                .client
                .describe_access_points()
                .access_point_id(id)
                .send()
                .await
                .map_err(|e| failed("DescribeAccessPoints", DisplayErrorContext(&e)))?;
            let state = answer.access_points().first();
            match state.and_then(|point| point.life_cycle_state()) {
                Some(LifeCycleState::Available) => return Ok(()),
                Some(LifeCycleState::Creating | LifeCycleState::Updating) | None => {}
                Some(state) => {
                    return Err(Error::internal(format!("access point {id} is {state}")));
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
        let why = format!("access point {id} cannot be mounted yet");
        Err(Error::internal(why))
    }
}

fn failed(call: &str, why: impl std::fmt::Display) -> Error {
    Error::internal(format!("{call}: {why}"))
}
