use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use sha2::Sha256;

const TOLERANCE_SECONDS: u64 = 5 * 60;

/// True if the service signed this delivery, a moment ago. `body` is what was received, byte by
/// byte; `secret` is `whsec_…`; `now` is in Unix seconds.
pub fn is_genuine(headers: &HeaderMap, body: &[u8], secret: &str, now: u64) -> bool {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(timestamp), Some(signatures)) = (
        header("webhook-id"),
        header("webhook-timestamp"),
        header("webhook-signature"),
    ) else {
        return false;
    };
    if !timestamp
        .parse()
        .is_ok_and(|sent: u64| now.abs_diff(sent) <= TOLERANCE_SECONDS)
    {
        return false;
    }
    let Ok(key) = STANDARD.decode(secret.trim_start_matches("whsec_")) else {
        return false;
    };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else {
        return false;
    };
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    let given = signatures
        .split(' ')
        .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    // `verify_slice` compares in constant time.
    given
        .into_iter()
        .any(|tag| mac.clone().verify_slice(&tag).is_ok())
}
