//! `POST /api/v1/profiles/{name}/validate`: without a body, validates the stored profile; with one,
//! validates a PUT of it. It changes nothing.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::profiles::output::{FaultShape, ValidationShape};
use awo_domain::profile::{Profile, ProfileName};
use awo_domain::{Error, Fault, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::replace::{changeable, replaced};

/// The function `validate-profile`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::VALIDATE_PROFILE, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let name = call.path_id()?;
    call.query().finish()?;
    let whole = if call.has_body() {
        // What cannot be read at all is no profile to be judged.
        call.object()?;
        let set = changeable(&store, &call, &name).await?;
        replaced(&call, &set, &name).map(|(_, whole)| whole)
    } else {
        as_it_is(&store, &call, &name).await
    };
    Answer::ok(judged(whole)?)
}

fn judged(whole: Result<Profile, Error>) -> Result<ValidationShape, Error> {
    match whole {
        Ok(whole) => Ok(ValidationShape {
            valid: true,
            errors: Vec::new(),
            warnings: shapes(whole.warnings()),
        }),
        Err(Error::Invalid(faults)) => Ok(ValidationShape {
            valid: false,
            errors: shapes(faults),
            warnings: Vec::new(),
        }),
        Err(error) => Err(error),
    }
}

async fn as_it_is(store: &Store, call: &Call, name: &ProfileName) -> Result<Profile, Error> {
    let whole = store.resolved_profile(call.org(), name).await?;
    whole.ok_or(Error::NotFound(Resource::Profile))
}

fn shapes(faults: Vec<Fault>) -> Vec<FaultShape> {
    faults.into_iter().map(FaultShape::from).collect()
}
