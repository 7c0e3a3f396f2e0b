//! `PUT /api/v1/profiles/{name}`: keys that the body lacks are removed. Active runs apply the
//! profile at their next iteration.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::profiles::output::ProfileShape;
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::settings::profiles::ProfileChange;

use crate::replace::{CHANGE_TRIES, changeable, replaced, still_changing};

/// The function `update-profile`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::UPDATE_PROFILE, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let name = call.path_id()?;
    call.query().finish()?;
    for _ in 0..CHANGE_TRIES {
        let set = changeable(&store, &call, &name).await?;
        let (new, _) = replaced(&call, &set, &name)?;
        let change = ProfileChange::Replace(&new);
        let changed = store.change_profiles(call.org(), &set, change, None, call.now);
        if changed.await?.is_some() {
            return Answer::ok(ProfileShape::own(new));
        }
    }
    Err(still_changing())
}
