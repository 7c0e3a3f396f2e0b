//! Changes a profile: reads, decides on all profiles of the organization, and writes if none has
//! changed meanwhile.

use awo_contract::profiles::input::ProfileReplacement;
use awo_domain::profile::{Profile, ProfileName, built_in, resolve_among};
use awo_domain::{Error, Resource};
use awo_http::Call;
use awo_store::Store;
use awo_store::settings::profiles::{ProfileSet, StoredProfile};

/// How often a change is decided anew when others change profiles under it.
pub const CHANGE_TRIES: u32 = 8;

/// The error after the last try.
pub fn still_changing() -> Error {
    Error::Conflict(
        "other requests keep changing profiles of your organization: try \
     again"
            .to_owned(),
    )
}

/// The profiles of the organization, if a client may change the one of that name.
pub async fn changeable(
    store: &Store,
    call: &Call,
    name: &ProfileName,
) -> Result<ProfileSet, Error> {
    if built_in(name).is_some() {
        return Err(Error::BuiltIn(Resource::Profile));
    }
    let set = store.profile_set(call.org()).await?;
    if set.profiles.contains_key(name) {
        Ok(set)
    } else {
        Err(Error::NotFound(Resource::Profile))
    }
}

/// The profile of the call's body, and its effective content.
pub fn replaced(
    call: &Call,
    set: &ProfileSet,
    name: &ProfileName,
) -> Result<(StoredProfile, Profile), Error> {
    let old = set.profiles.get(name);
    let old = old.ok_or(Error::NotFound(Resource::Profile))?;
    let body = ProfileReplacement { name: Some(name) };
    let content = call.object()?.read(&body)?;
    Error::if_any(content.faults())?;
    let new = StoredProfile {
        name: name.clone(),
        content,
        created_at: old.created_at,
        updated_at: Some(call.now),
    };
    let whole = resolve_among(name, &new.content, &set.contents())
        .map_err(|fault| Error::Invalid(vec![fault]))?;
    Ok((new, whole))
}
