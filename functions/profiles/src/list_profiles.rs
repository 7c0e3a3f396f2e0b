//! `GET /api/v1/profiles`: all of them in one response, since there are few.

use std::cmp::Reverse;
use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::profiles::output::{ProfileItemShape, ProfileListShape};
use awo_domain::Error;
use awo_domain::profile::{BUILT_IN_NAMES, ProfileName, built_in};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::settings::profiles::StoredProfile;

/// The function `list-profiles`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_PROFILES, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    call.query().finish()?;
    let own = store.profiles(call.org()).await?;
    let mut own: Vec<StoredProfile> = own.into_values().collect();
    own.sort_by_key(|stored| Reverse((stored.created_at, stored.name.clone())));
    let own = own
        .into_iter()
        .map(|stored| ProfileItemShape::of(stored.name, stored.content, false));
    let names = BUILT_IN_NAMES.iter();
    let built_in = names.filter_map(|name| {
        let name = ProfileName::parse(name).ok()?;
        let content = built_in(&name)?;
        Some(ProfileItemShape::of(name, content, true))
    });
    let items: Vec<ProfileItemShape> = own.chain(built_in).collect();
    let total = items.len();
    Answer::ok(ProfileListShape { items, total })
}
