//! `POST /api/v1/profiles`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::profiles::input::NewProfile;
use awo_contract::profiles::output::{CreatedProfileShape, ProfileItemShape};
use awo_domain::Error;
use awo_domain::profile::partial::MAX_PROFILES;
use awo_domain::profile::{ProfileName, built_in, resolve_among};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::engine::idempotency::IdempotentRequest;
use awo_store::settings::profiles::{ProfileChange, ProfileSet, StoredProfile};

use crate::replace::{CHANGE_TRIES, still_changing};

/// The function `create-profile`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::CREATE_PROFILE, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let (name, content) = call.object()?.read(&NewProfile)?;
    Error::if_any(content.faults())?;
    let new = StoredProfile {
        name,
        content,
        created_at: call.now,
        updated_at: None,
    };
    for _ in 0..CHANGE_TRIES {
        let set = store.profile_set(call.org()).await?;
        if let Err(error) = may_create(&set, &new) {
            return answered_before(&store, &call, idempotent.as_ref(), error).await;
        }
        if let Some(answer) = create(&store, &call, &set, &new, idempotent.as_ref()).await? {
            return Ok(answer);
        }
    }
    Err(still_changing())
}

/// None if the profiles have changed since.
async fn create(
    store: &Store,
    call: &Call,
    set: &ProfileSet,
    new: &StoredProfile,
    request: Option<&IdempotentRequest>,
) -> Result<Option<Answer>, Error> {
    let (name, content) = (new.name.clone(), new.content.clone());
    let answer = Answer::created(CreatedProfileShape {
        message: format!("the profile {name} is created: work orders can use it as their harness"),
        profile: ProfileItemShape::of(name, content, false),
    })?;
    let response = call.response(request, &answer);
    let change = ProfileChange::Create(new);
    let changed = store.change_profiles(call.org(), set, change, response.as_ref(), call.now);
    let changed = changed.await?;
    Ok(changed.map(|changed| answer.unless_replayed(changed)))
}

fn may_create(set: &ProfileSet, new: &StoredProfile) -> Result<(), Error> {
    let name: &ProfileName = &new.name;
    if built_in(name).is_some() || set.profiles.contains_key(name) {
        return Err(Error::Conflict(format!(
            "the profile {name} already exists: choose another name, or change it with PUT"
        )));
    }
    resolve_among(name, &new.content, &set.contents())
        .map_err(|fault| Error::Invalid(vec![fault]))?;
    if set.profiles.len() >= MAX_PROFILES as usize {
        return Err(Error::Conflict(format!(
            "your organization has {MAX_PROFILES} profiles, the maximum: delete one first"
        )));
    }
    Ok(())
}

/// The first answer to what is in its own way by now, or may have been good once.
async fn answered_before(
    store: &Store,
    call: &Call,
    request: Option<&IdempotentRequest>,
    error: Error,
) -> Result<Answer, Error> {
    let Some(request) = request else {
        return Err(error);
    };
    match store.stored_response(call.org(), request, call.now).await? {
        Some(first) => Ok(Answer::replayed(201, first)),
        None => Err(error),
    }
}
