//! Resolves a profile's name.

use awo_domain::profile::{Profile, ProfileName};
use awo_domain::{Error, OrgId};
use awo_store::Store;

/// The resolved profile of that name, if the organization has it.
///
/// # Errors
/// Internal, when DynamoDB fails.
pub async fn profile(store: &Store, org: &OrgId, name: &str) -> Result<Option<Profile>, Error> {
    match ProfileName::parse(name) {
        Ok(name) => store.resolved_profile(org, &name).await,
        Err(_) => Ok(None),
    }
}
