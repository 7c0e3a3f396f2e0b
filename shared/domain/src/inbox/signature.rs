//! Signatures of deliveries to inboxes. They are compared in constant time over the raw body, before anything
//! of it is parsed, and with the same work whatever is wrong.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::{
    DuplicateRule, InboxContent, InboxKind, InboxSecret, InboxSecrets, InboxSignature,
    SignatureEncoding,
};
use crate::Timestamp;
use crate::hmac::{MAX_SIGNATURES, hmac_sha256, is_same};
use crate::webhook::signature::{WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP};

/// Greatest difference of `webhook-timestamp` from now, in milliseconds.
pub const MAX_SKEW_MS: i64 = 300_000;
/// Longest `webhook-id`, in bytes.
const MAX_MESSAGE_ID: usize = 256;

const GITHUB_SIGNATURE: &str = "x-hub-signature-256";
const GITHUB_PREFIX: &str = "sha256=";
const FORGEJO_SIGNATURE: &str = "x-forgejo-signature";
const GITEA_SIGNATURE: &str = "x-gitea-signature";
const GITLAB_TOKEN: &str = "x-gitlab-token";

/// A delivery as it came.
#[derive(Debug, Clone, Copy)]
pub struct HookMessage<'a> {
    /// Names, in lower case, and values of its headers.
    pub headers: &'a [(String, String)],
    /// The body, byte by byte.
    pub body: &'a [u8],
    /// The time of its arrival.
    pub received_at: Timestamp,
}

/// The proof of a delivery whose signature holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureProof {
    /// The id that the signature covers, of Standard Webhooks.
    pub message_id: Option<String>,
}

impl<'a> HookMessage<'a> {
    /// The value of a header that was sent once.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let mut values = self.headers.iter().filter(|(given, _)| given == name);
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value.as_str())
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(given, _)| given == name)
    }

    fn is_standard(&self) -> bool {
        [WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE]
            .into_iter()
            .any(|name| self.has(name))
    }
}

/// Checks the signature of a delivery to an inbox.
#[must_use]
pub fn verify(
    content: &InboxContent,
    secrets: &InboxSecrets,
    message: &HookMessage<'_>,
) -> Option<SignatureProof> {
    let now = message.received_at;
    let any = |holds: &dyn Fn(&InboxSecret) -> bool| {
        let accepted = secrets.accepted(now);
        accepted.fold(false, |holds_one, secret| holds_one | holds(secret))
    };
    let token = content.accepts_token() && !message.is_standard();
    let (holds, message_id) = match content.kind {
        InboxKind::Gitlab if token => {
            let given = message.header(GITLAB_TOKEN).unwrap_or_default();
            // A token takes as long as a signature, so that the time does not name the kind.
            let same = |secret: &InboxSecret| {
                let _unused = hmac_sha256(secret.key(), &[message.body]);
                is_same(secret.key(), given.as_bytes())
            };
            (any(&same), None)
        }
        InboxKind::Gitlab | InboxKind::Standard => {
            let given = StandardHeaders::of(message);
            let id = given.id.to_owned();
            (any(&|secret| given.hold(secret, message)), Some(id))
        }
        InboxKind::Github | InboxKind::Gitea | InboxKind::Hmac => {
            let given = body_signature(content, message).unwrap_or_default();
            let same =
                |secret: &InboxSecret| is_same(&hmac_sha256(secret.key(), &[message.body]), &given);
            (any(&same), None)
        }
    };
    holds.then_some(SignatureProof { message_id })
}

/// Spends the time of a check for an inbox that is not there.
pub fn pretend(message: &HookMessage<'_>) {
    let nobodys = hmac_sha256(GITHUB_SIGNATURE.as_bytes(), &[message.body]);
    let _never = is_same(&nobodys, &[]);
}

/// The key under which a delivery is noted for its duplicates; none if it has none.
#[must_use]
pub fn duplicate_key(
    content: &InboxContent,
    proof: &SignatureProof,
    body: &[u8],
) -> Option<String> {
    match (&proof.message_id, content.duplicates) {
        (Some(id), _) => Some(format!("id#{}", sha256(id.as_bytes()))),
        (None, Some(DuplicateRule::None)) => None,
        (None, _) => Some(format!("body#{}", sha256(body))),
    }
}

/// The SHA-256 of bytes in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The signature of the body alone that a header has, decoded.
fn body_signature(content: &InboxContent, message: &HookMessage<'_>) -> Option<Vec<u8>> {
    match (content.kind, &content.signature) {
        (InboxKind::Github, _) => {
            let value = message.header(GITHUB_SIGNATURE)?;
            hex::decode(value.strip_prefix(GITHUB_PREFIX)?).ok()
        }
        (InboxKind::Gitea, _) => {
            let has_own = message.has(FORGEJO_SIGNATURE);
            let name = if has_own {
                FORGEJO_SIGNATURE
            } else {
                GITEA_SIGNATURE
            };
            hex::decode(message.header(name)?).ok()
        }
        (_, Some(InboxSignature::Header(signature))) => {
            let value = message.header(&signature.header)?;
            let prefix = signature.prefix.as_deref().unwrap_or_default();
            let value = value.strip_prefix(prefix)?;
            match signature.encoding {
                SignatureEncoding::Hex => hex::decode(value).ok(),
                SignatureEncoding::Base64 => STANDARD.decode(value).ok(),
            }
        }
        _ => None,
    }
}

/// The headers of Standard Webhooks; what is missing or too long is empty and never holds.
struct StandardHeaders<'a> {
    id: &'a str,
    timestamp: &'a str,
    is_recent: bool,
    signatures: Vec<Vec<u8>>,
}

impl<'a> StandardHeaders<'a> {
    fn of(message: &HookMessage<'a>) -> StandardHeaders<'a> {
        let id = message.header(WEBHOOK_ID).unwrap_or_default();
        let timestamp = message.header(WEBHOOK_TIMESTAMP).unwrap_or_default();
        let signatures = message.header(WEBHOOK_SIGNATURE).unwrap_or_default();
        let signatures = signatures.split(' ').take(MAX_SIGNATURES);
        let signatures = signatures.filter_map(|one| one.strip_prefix("v1,"));
        let is_id = !id.is_empty() && id.len() <= MAX_MESSAGE_ID;
        StandardHeaders {
            id,
            timestamp,
            is_recent: is_id && is_recent(timestamp, message.received_at),
            signatures: signatures
                .filter_map(|one| STANDARD.decode(one).ok())
                .collect(),
        }
    }

    fn hold(&self, secret: &InboxSecret, message: &HookMessage<'_>) -> bool {
        let key = secret.standard_key();
        let parts = [
            self.id.as_bytes(),
            b".",
            self.timestamp.as_bytes(),
            b".",
            message.body,
        ];
        let own = hmac_sha256(key.as_deref().unwrap_or_default(), &parts);
        let signatures = self.signatures.iter();
        let holds = signatures.fold(false, |holds_one, given| holds_one | is_same(&own, given));
        holds & self.is_recent & key.is_some()
    }
}

/// True for Unix seconds in decimal digits that are near enough.
fn is_recent(seconds: &str, now: Timestamp) -> bool {
    let is_number = !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: Option<i64> = seconds.parse().ok().filter(|_| is_number);
    let sent_at = seconds.and_then(|seconds| seconds.checked_mul(1_000));
    let distance = sent_at.and_then(|sent_at| now.epoch_ms().checked_sub(sent_at));
    distance.is_some_and(|ms| ms.unsigned_abs() <= MAX_SKEW_MS.unsigned_abs())
}

#[cfg(test)]
mod tests;
