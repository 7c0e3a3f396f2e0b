//! Secrets of inboxes. A secret is readable by [`InboxSecret::reveal`] only.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::InboxKind;
use crate::Timestamp;
use crate::webhook::signature::OVERLAP_MS;

/// Fewest and most characters of a secret.
pub const SECRET_CHARACTERS: std::ops::RangeInclusive<usize> = 16..=128;
/// Text before the Base64 of a key of Standard Webhooks.
const STANDARD_PREFIX: &str = "whsec_";
/// Fewest bytes of a key of Standard Webhooks.
const MIN_KEY_BYTES: usize = 12;

/// A text that is no secret of an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretFault {
    /// The length is wrong, or there are characters that senders spoil.
    #[error("must have 16 to 128 visible ASCII characters")]
    Characters,
    /// Senders of Standard Webhooks could not use it.
    #[error("must be whsec_ and Base64 for this kind, as Standard Webhooks has secrets")]
    NoKey,
}

/// A secret that an inbox shares with its sender.
#[derive(Clone, PartialEq, Eq)]
pub struct InboxSecret(String);

impl fmt::Debug for InboxSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InboxSecret(…)")
    }
}

impl InboxSecret {
    /// Reads a secret, whatever inbox it is for.
    ///
    /// # Errors
    /// [`SecretFault::Characters`].
    pub fn parse(text: &str) -> Result<InboxSecret, SecretFault> {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_visible && SECRET_CHARACTERS.contains(&text.len()) {
            Ok(InboxSecret(text.to_owned()))
        } else {
            Err(SecretFault::Characters)
        }
    }

    /// A secret as it was stored.
    #[must_use]
    pub fn stored(text: String) -> InboxSecret {
        InboxSecret(text)
    }

    /// Checks that senders of a kind can sign with it. GitLab's token may be any text.
    ///
    /// # Errors
    /// [`SecretFault::NoKey`].
    pub fn check(&self, kind: InboxKind, accepts_token: bool) -> Result<(), SecretFault> {
        if kind.is_standard() && !accepts_token && self.standard_key().is_none() {
            return Err(SecretFault::NoKey);
        }
        Ok(())
    }

    /// The key of an HMAC of the body alone.
    pub(super) fn key(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The key of Standard Webhooks, if it is one.
    pub(super) fn standard_key(&self) -> Option<Vec<u8>> {
        let text = self.0.strip_prefix(STANDARD_PREFIX).unwrap_or(&self.0);
        let key = STANDARD.decode(text).ok()?;
        (key.len() >= MIN_KEY_BYTES).then_some(key)
    }

    /// The secret itself, to be shown once and to be stored.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// The secrets of an inbox: the present one, and after a rotation the one before.
#[derive(Debug, Clone)]
pub struct InboxSecrets {
    /// The present one.
    pub current: InboxSecret,
    /// The one before, which is accepted until then.
    pub previous: Option<(InboxSecret, Timestamp)>,
}

impl InboxSecrets {
    /// Secrets of a new inbox.
    #[must_use]
    pub fn new(current: InboxSecret) -> InboxSecrets {
        InboxSecrets {
            current,
            previous: None,
        }
    }

    /// The secrets after a rotation, and until when the present one is accepted. One from before an earlier
    /// rotation ends at once.
    #[must_use]
    pub fn rotated(&self, next: InboxSecret, now: Timestamp) -> (InboxSecrets, Timestamp) {
        let until = now.plus_ms(OVERLAP_MS);
        let rotated = InboxSecrets {
            current: next,
            previous: Some((self.current.clone(), until)),
        };
        (rotated, until)
    }

    /// The secrets that are accepted at a time.
    pub(super) fn accepted(&self, now: Timestamp) -> impl Iterator<Item = &InboxSecret> {
        let previous = self.previous.iter().filter(move |(_, until)| now < *until);
        std::iter::once(&self.current).chain(previous.map(|(secret, _)| secret))
    }
}
