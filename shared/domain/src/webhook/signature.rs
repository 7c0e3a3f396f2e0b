//! Signatures of deliveries, which prove origin and integrity to the receiver.
//!
//! The signed bytes are the sent bytes: the caller passes the final body, and nothing here writes
//! JSON. A secret is readable by [`Secret::reveal`] only.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::hmac::{MAX_SIGNATURES, hmac_sha256, is_same};
use crate::{EventId, Timestamp};

const PREFIX: &str = "whsec_";
/// Bytes of randomness in a secret.
pub const SECRET_BYTES: usize = 32;
/// How long the secret before signs beside the new one.
pub const OVERLAP_MS: i64 = 24 * 60 * 60 * 1_000;

/// The contract's signature: HMAC-SHA256 of the body, keyed with the whole secret.
pub const SERVICE_SIGNATURE: &str = "X-Service-Signature";
/// The same, keyed with the secret before, for as long as that one signs.
pub const SERVICE_SIGNATURE_PREVIOUS: &str = "X-Service-Signature-Previous";
/// Standard Webhooks: the event's id, the same at each attempt.
pub const WEBHOOK_ID: &str = "webhook-id";
/// Standard Webhooks: Unix seconds of the attempt.
pub const WEBHOOK_TIMESTAMP: &str = "webhook-timestamp";
/// Standard Webhooks: `v1,` and base64, of each secret that signs, the newest first.
pub const WEBHOOK_SIGNATURE: &str = "webhook-signature";

/// The secret of a webhook: `whsec_` and base64 of 32 random bytes.
#[derive(Clone)]
pub struct Secret([u8; SECRET_BYTES]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The body.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The event.
    pub id: &'a EventId,
    /// When this attempt begins.
    pub sent_at: Timestamp,
    /// The body, byte by byte.
    pub body: &'a [u8],
}

impl Secret {
    /// A new secret from randomness.
    #[must_use]
    pub fn new(random: [u8; SECRET_BYTES]) -> Secret {
        Secret(random)
    }

    /// Reads a secret; none for anything that [`Secret::reveal`] does not write.
    #[must_use]
    pub fn parse(text: &str) -> Option<Secret> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        bytes.try_into().ok().map(Secret)
    }

    /// The secret itself, to be shown once and to be stored.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0))
    }

    /// The value of [`SERVICE_SIGNATURE`].
    #[must_use]
    pub fn sign_body(&self, body: &[u8]) -> String {
        let tag = hmac_sha256(self.reveal().as_bytes(), &[body]);
        format!("sha256={}", hex::encode(tag))
    }

    /// One signature of [`WEBHOOK_SIGNATURE`].
    #[must_use]
    pub fn sign(&self, message: &Message<'_>) -> String {
        let seconds = message.sent_at.epoch_seconds().to_string();
        let parts = [
            message.id.as_str().as_bytes(),
            b".",
            seconds.as_bytes(),
            b".",
            message.body,
        ];
        format!("v1,{}", STANDARD.encode(hmac_sha256(&self.0, &parts)))
    }

    /// True if this secret made that value of [`SERVICE_SIGNATURE`]; in constant time.
    #[must_use]
    pub fn verifies_body(&self, body: &[u8], value: &str) -> bool {
        is_same(self.sign_body(body).as_bytes(), value.as_bytes())
    }

    /// True if this secret made one of the signatures in that value of [`WEBHOOK_SIGNATURE`]; in
    /// constant time. The receiver decides about the age of a message.
    #[must_use]
    pub fn verifies(&self, message: &Message<'_>, value: &str) -> bool {
        let own = self.sign(message);
        let given = value.split(' ').take(MAX_SIGNATURES);
        given.fold(false, |holds_one, one| {
            holds_one | is_same(own.as_bytes(), one.as_bytes())
        })
    }
}

/// The secrets of a webhook: the one that signs, and after a rotation the one before.
#[derive(Debug, Clone)]
pub struct Secrets {
    /// Signs.
    pub current: Secret,
    /// Signs, too, until then.
    pub previous: Option<(Secret, Timestamp)>,
}

impl Secrets {
    /// The secrets after a rotation at `now`. One that was still signing from a rotation before
    /// no longer signs: a second rotation retires the first secret.
    #[must_use]
    pub fn rotated(self, next: Secret, now: Timestamp) -> Secrets {
        Secrets {
            current: next,
            previous: Some((self.current, now.plus_ms(OVERLAP_MS))),
        }
    }

    /// The headers of an attempt, names and values.
    #[must_use]
    pub fn headers(&self, message: &Message<'_>) -> Vec<(&'static str, String)> {
        let previous = self.previous.as_ref();
        let previous = previous.filter(|(_, until)| message.sent_at < *until);
        let mut signatures = self.current.sign(message);
        let mut headers = vec![
            (SERVICE_SIGNATURE, self.current.sign_body(message.body)),
            (WEBHOOK_ID, message.id.to_string()),
            (
                WEBHOOK_TIMESTAMP,
                message.sent_at.epoch_seconds().to_string(),
            ),
        ];
        if let Some((secret, _)) = previous {
            signatures = format!("{signatures} {}", secret.sign(message));
            headers.push((SERVICE_SIGNATURE_PREVIOUS, secret.sign_body(message.body)));
        }
        headers.push((WEBHOOK_SIGNATURE, signatures));
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    const VECTORS: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/golden/webhook_signatures.json"
    );

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Vector {
        name: String,
        secret: String,
        previous_secret: Option<String>,
        id: EventId,
        timestamp: i64,
        body_base64: String,
        headers: BTreeMap<String, String>,
    }

    #[derive(Deserialize)]
    struct Vectors {
        vectors: Vec<Vector>,
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_epoch_ms(ms)
    }

    fn value(headers: &[(&'static str, String)], name: &str) -> Option<String> {
        let header = headers.iter().find(|(header, _)| *header == name);
        header.map(|(_, value)| value.clone())
    }

    /// The file was written by another implementation, and is for those of receivers, too.
    #[test]
    fn the_headers_are_those_of_the_golden_vectors() {
        let text = std::fs::read_to_string(VECTORS).unwrap();
        let Vectors { vectors } = serde_json::from_str(&text).unwrap();
        assert!(vectors.len() >= 6);
        for vector in vectors {
            let body = STANDARD.decode(&vector.body_base64).unwrap();
            let message = Message {
                id: &vector.id,
                sent_at: at(vector.timestamp * 1_000 + 999),
                body: &body,
            };
            let until = message.sent_at.plus_ms(1);
            let previous = vector.previous_secret.as_deref();
            let secrets = Secrets {
                current: Secret::parse(&vector.secret).unwrap(),
                previous: previous.map(|text| (Secret::parse(text).unwrap(), until)),
            };
            let headers = secrets.headers(&message).into_iter();
            let headers: BTreeMap<_, _> = headers.map(|(k, v)| (k.to_owned(), v)).collect();
            assert_eq!(headers, vector.headers, "{}", vector.name);
        }
    }

    #[test]
    fn only_secrets_of_32_bytes_in_their_one_spelling_are_read() {
        let secret = Secret::new([0xfb; SECRET_BYTES]).reveal();
        assert_eq!(secret.len(), 50);
        assert_eq!(Secret::parse(&secret).unwrap().reveal(), secret);
        for bad in [
            "",
            "whsec_",
            "whsec_AAAA",
            &secret[6..],
            &secret.replace("whsec_", "WHSEC_"),
            secret.trim_end_matches('='),
            &secret.replace('+', "-").replace('/', "_"),
            &format!("{secret} "),
        ] {
            assert!(Secret::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_debug_print_does_not_show_the_secret() {
        let secret = Secret::new(*b"0123456789abcdef0123456789abcdef");
        let secrets = Secrets {
            current: secret.clone(),
            previous: Some((secret.clone(), at(0))),
        };
        let shown = format!("{secrets:?}");
        assert!(!shown.contains(&secret.reveal()[6..12]), "{shown}");
        assert!(!shown.contains("48, 49"), "{shown}");
    }

    #[test]
    fn after_a_rotation_both_secrets_sign_for_24_hours_and_then_one() {
        let (old, new) = (Secret::new([1; 32]), Secret::new([2; 32]));
        let secrets = Secrets {
            current: old.clone(),
            previous: None,
        };
        let rotated_at = at(1_000_000);
        let secrets = secrets.rotated(new.clone(), rotated_at);
        let id = EventId::new(rotated_at, 1);
        let message = |ms| Message {
            id: &id,
            sent_at: rotated_at.plus_ms(ms),
            body: b"{}",
        };
        for (ms, both) in [(0, true), (OVERLAP_MS - 1, true), (OVERLAP_MS, false)] {
            let message = message(ms);
            let headers = secrets.headers(&message);
            let signatures = value(&headers, WEBHOOK_SIGNATURE).unwrap();
            let newest = value(&headers, SERVICE_SIGNATURE).unwrap();
            let previous = value(&headers, SERVICE_SIGNATURE_PREVIOUS);
            assert!(new.verifies(&message, &signatures) && new.verifies_body(b"{}", &newest));
            assert_eq!(old.verifies(&message, &signatures), both);
            assert_eq!(previous.is_some_and(|v| old.verifies_body(b"{}", &v)), both);
        }
        let third = secrets.rotated(Secret::new([3; 32]), rotated_at.plus_ms(1));
        let headers = third.headers(&message(2));
        let signatures = value(&headers, WEBHOOK_SIGNATURE).unwrap();
        assert!(
            !old.verifies(&message(2), &signatures),
            "rotated away twice"
        );
    }

    proptest! {
        #[test]
        fn a_signature_holds_for_its_own_message_and_secret_only(
            random in proptest::array::uniform32(any::<u8>()),
            body in proptest::collection::vec(any::<u8>(), 1..64),
            seconds in 0_i64..4_000_000_000,
            flip in any::<prop::sample::Index>(),
        ) {
            let secret = Secret::new(random);
            let (id, another) = (EventId::new(at(0), 1), EventId::new(at(0), 2));
            let message = Message { id: &id, sent_at: at(seconds * 1_000), body: &body };
            let (own, of_body) = (secret.sign(&message), secret.sign_body(&body));
            prop_assert!(secret.verifies(&message, &own));
            let among_others = format!("v1a,x v1,AAAA {own}");
            prop_assert!(secret.verifies(&message, &among_others));
            prop_assert!(secret.verifies_body(&body, &of_body));

            let mut changed = body.clone();
            changed[flip.index(body.len())] ^= 1;
            let other_body = Message { body: &changed, ..message };
            prop_assert!(!secret.verifies(&other_body, &own));
            prop_assert!(!secret.verifies_body(&changed, &of_body));
            let other_id = Message { id: &another, ..message };
            prop_assert!(!secret.verifies(&other_id, &own));
            let later = Message { sent_at: at((seconds + 1) * 1_000), ..message };
            prop_assert!(!secret.verifies(&later, &own));
            let mut other = random;
            other[flip.index(32)] ^= 1;
            prop_assert!(!Secret::new(other).verifies(&message, &own));
            prop_assert!(!Secret::new(other).verifies_body(&body, &of_body));
            for wrong in ["", "sha256=", "v1,", &of_body[7..], &own[3..]] {
                prop_assert!(!secret.verifies(&message, wrong) && !secret.verifies_body(&body, wrong));
            }
        }
    }
}
