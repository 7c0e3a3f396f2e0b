//! `GET /api/v1/profiles/{name}`: as written, or with `?resolve=true` the effective profile.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::profiles::output::ProfileShape;
use awo_domain::audit::canonical_hash;
use awo_domain::profile::{built_in, resolve};
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-profile`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_PROFILE, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let name = call.path_id()?;
    let query = call.query();
    let resolves = query.parsed("resolve", "must be true or false", |text| text.parse().ok());
    query.finish()?;
    let all = store.profiles(call.org()).await?;
    let (content, shape) = match (built_in(&name), all.get(&name)) {
        (Some(content), _) => {
            let shape = ProfileShape::built_in(name.clone(), content.clone());
            (content, shape)
        }
        (None, Some(own)) => (own.content.clone(), ProfileShape::own(own.clone())),
        (None, None) => return Err(Error::NotFound(Resource::Profile)),
    };
    if resolves != Some(true) {
        return Answer::ok(shape);
    }
    let known = |name: &_| all.get(name).map(|stored| stored.content.clone());
    let whole = resolve(&name, &content, known).map_err(|fault| Error::Invalid(vec![fault]))?;
    let hash = canonical_hash(&whole)?;
    Answer::ok(shape.resolved(whole, hash))
}
