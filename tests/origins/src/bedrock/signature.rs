//! AWS's signature, version 4, checked from its specification and not with the signer's code.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

use super::{KnownOf, REGION, Refusal};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// What a signature has to cover.
const COVERED: [&str; 3] = ["host", "x-amz-date", "x-amz-security-token"];
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const PATH: &AsciiSet = &UNRESERVED.remove(b'/');

/// A segment of a path as it was meant.
pub(super) fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

/// The session token of a request that is signed with known credentials.
pub(super) fn check(
    path: &str,
    headers: &HeaderMap,
    body: &[u8],
    known: &KnownOf,
) -> Result<String, Refusal> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let incomplete = |what: &str| (403, "IncompleteSignatureException", what.to_owned());
    let authorization = text("authorization").ok_or_else(|| {
        (
            403,
            "MissingAuthenticationTokenException",
            "Missing Authentication Token".to_owned(),
        )
    })?;
    let parts = authorization.strip_prefix(ALGORITHM);
    let parts = parts.ok_or_else(|| incomplete("another algorithm"))?;
    let part = |name: &str| {
        let mut parts = parts.split(',').map(str::trim);
        parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
    };
    let (Some(credential), Some(signed), Some(signature), Some(date), Some(token)) = (
        part("Credential"),
        part("SignedHeaders"),
        part("Signature"),
        text("x-amz-date"),
        text("x-amz-security-token"),
    ) else {
        return Err(incomplete("a part is missing"));
    };
    let names: Vec<&str> = signed.split(';').collect();
    if let Some(name) = COVERED.iter().find(|name| !names.contains(*name)) {
        return Err(incomplete(&format!("{name} is not signed")));
    }
    let (id, scope) = credential.split_once('/').unwrap_or_default();
    let day = date.get(..8).unwrap_or_default();
    if scope != format!("{day}/{REGION}/bedrock/aws4_request") || !is_now(date) {
        return Err(incomplete("another scope"));
    }
    let known = known(id, token);
    let known = known.ok_or_else(|| {
        let message = "The security token included in the request is invalid.";
        (403, "UnrecognizedClientException", message.to_owned())
    })?;
    let mut key = mac(format!("AWS4{}", known.secret).as_bytes(), day);
    for part in [REGION, "bedrock", "aws4_request"] {
        key = mac(&key, part);
    }
    let to_sign = to_sign(path, headers, body, (date, scope, signed));
    if hex::encode(mac(&key, &to_sign)) != signature {
        let message = "The request signature we calculated does not match";
        return Err((403, "InvalidSignatureException", message.to_owned()));
    }
    if known.expires_at <= now_ms() {
        let message = "The security token included in the request is expired";
        return Err((403, "ExpiredTokenException", message.to_owned()));
    }
    Ok(token.to_owned())
}

/// What is signed of a request.
fn to_sign(
    path: &str,
    headers: &HeaderMap,
    body: &[u8],
    (date, scope, signed): (&str, &str, &str),
) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let canonical_headers: String = signed
        .split(';')
        .map(|name| format!("{name}:{}\n", text(name).unwrap_or_default().trim()))
        .collect();
    let canonical_path = utf8_percent_encode(path, PATH);
    let canonical = format!(
        "POST\n{canonical_path}\n\n{canonical_headers}\n{signed}\n{}",
        hex::encode(Sha256::digest(body))
    );
    let digest = hex::encode(Sha256::digest(canonical));
    format!("{ALGORITHM}\n{date}\n{scope}\n{digest}")
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// True for `20261120T080000Z` of this day or the next or the last, whatever the clocks.
fn is_now(date: &str) -> bool {
    let days = now_ms() / 86_400_000;
    date.len() == 16
        && date.ends_with('Z')
        && (days - 1..=days + 1).any(|day| date.starts_with(&civil(day)))
}

/// Days since 1970 as `20261120`.
fn civil(days: i64) -> String {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}")
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
