//! `DELETE /api/v1/profiles/{name}`: work orders that name it continue with its last content.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_domain::profile::{ProfileName, children};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::settings::profiles::{ProfileChange, ProfileSet};

use crate::replace::{CHANGE_TRIES, changeable, still_changing};

/// The function `delete-profile`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::DELETE_PROFILE, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let name = call.path_id()?;
    call.query().finish()?;
    for _ in 0..CHANGE_TRIES {
        let set = changeable(&store, &call, &name).await?;
        nobody_extends(&name, &set)?;
        let change = ProfileChange::Delete(&name);
        let changed = store.change_profiles(call.org(), &set, change, None, call.now);
        if changed.await?.is_some() {
            return Ok(Answer::no_content());
        }
    }
    Err(still_changing())
}

fn nobody_extends(name: &ProfileName, set: &ProfileSet) -> Result<(), Error> {
    let contents = set.contents();
    let children = children(name, &contents);
    if children.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = children.into_iter().map(ProfileName::as_str).collect();
    Err(Error::Conflict(format!(
        "other profiles extend this one: {}; change their extends first, or delete them",
        names.join(", ")
    )))
}
