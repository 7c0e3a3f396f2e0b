//! Sessions of a role, as the stand-in of STS gives them, for receivers that check signatures.

use std::sync::OnceLock;

use awo_local::sts::Session;

/// The secret of a session's credentials and when they end, in Unix milliseconds; none if the access
/// key is not that of the token. `local_key` is the service's own access key, once it is known.
#[must_use]
pub fn secret_of(
    local_key: &OnceLock<String>,
    access_key_id: &str,
    token: &str,
) -> Option<(String, i64)> {
    let session = Session::of_token(token).filter(|one| one.access_key_id == access_key_id)?;
    let secret = Session::secret_of(local_key.get()?, token);
    Some((secret, session.expires_at))
}
