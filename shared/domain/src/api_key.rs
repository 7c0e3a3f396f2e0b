//! API keys: `org_live_` + key id (12) + secret (22) + checksum (6), all base-62 characters.
//!
//! The checksum refuses a mistyped key without a read of the database. Only the key's SHA-256 is
//! stored: 22 random base-62 characters are 131 bits, so guessing is infeasible.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use strum::{EnumString, IntoStaticStr, VariantArray};

const PREFIX: &str = "org_live_";
const ID_LEN: usize = 12;
const SECRET_LEN: usize = 22;
const CHECK_LEN: usize = 6;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Bytes of randomness that [`ApiKey::new`] needs.
pub const RANDOM_BYTES: usize = 64;

/// The public part of a key, by which it is listed and revoked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl KeyId {
    /// Reads a key id from outside.
    #[must_use]
    pub fn parse(text: &str) -> Option<KeyId> {
        let good = text.len() == ID_LEN && text.bytes().all(|b| ALPHABET.contains(&b));
        good.then(|| KeyId(text.to_owned()))
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A whole key. It is shown once; its `Debug` shows the id only.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({})", self.id())
    }
}

impl ApiKey {
    /// A new key from randomness.
    #[must_use]
    pub fn new(random: [u8; RANDOM_BYTES]) -> ApiKey {
        // Bytes of 248 and more would favour the first letters; they are passed over, and the
        // supply of 64 for 34 letters does not run out but once in 10^38 keys.
        let letters = random
            .iter()
            .filter(|b| **b < 248)
            .map(|b| ALPHABET[usize::from(b % 62)]);
        let body: String = letters
            .chain(std::iter::repeat(b'0'))
            .take(ID_LEN + SECRET_LEN)
            .map(char::from)
            .collect();
        let check = checksum(&body);
        ApiKey(format!("{PREFIX}{body}{check}"))
    }

    /// Reads a key from outside; none if its shape or its checksum is wrong.
    #[must_use]
    pub fn parse(text: &str) -> Option<ApiKey> {
        let rest = text.strip_prefix(PREFIX)?;
        let shaped = rest.len() == ID_LEN + SECRET_LEN + CHECK_LEN
            && rest.bytes().all(|b| ALPHABET.contains(&b));
        if !shaped {
            return None;
        }
        let (body, check) = rest.split_at(ID_LEN + SECRET_LEN);
        (checksum(body) == check).then(|| ApiKey(text.to_owned()))
    }

    /// Its public part.
    #[must_use]
    pub fn id(&self) -> KeyId {
        KeyId(self.0[PREFIX.len()..PREFIX.len() + ID_LEN].to_owned())
    }

    /// The stored part: lower-case hex SHA-256 of the whole key.
    #[must_use]
    pub fn hash(&self) -> String {
        hex::encode(Sha256::digest(self.0.as_bytes()))
    }

    /// The key itself, to be shown once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

fn checksum(body: &str) -> String {
    let mut crc = crc32fast::hash(body.as_bytes());
    let mut digits = [b'0'; CHECK_LEN];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(crc % 62) as usize];
        crc /= 62;
    }
    digits.into_iter().map(char::from).collect()
}

/// The scopes of a key.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum Scope {
    /// Create and cancel work orders.
    #[strum(serialize = "work-orders:write")]
    WorkOrdersWrite,
    /// Read work orders and the queue.
    #[strum(serialize = "work-orders:read")]
    WorkOrdersRead,
    /// Read runs, their events and their audit.
    #[strum(serialize = "runs:read")]
    RunsRead,
    /// Start, cancel and kill runs.
    #[strum(serialize = "runs:write")]
    RunsWrite,
    /// Read balance and usage.
    #[strum(serialize = "credits:read")]
    CreditsRead,
    /// Read budgets.
    #[strum(serialize = "budgets:read")]
    BudgetsRead,
    /// Change budgets.
    #[strum(serialize = "budgets:write")]
    BudgetsWrite,
    /// Read webhooks and deliveries.
    #[strum(serialize = "webhooks:read")]
    WebhooksRead,
    /// Change webhooks.
    #[strum(serialize = "webhooks:write")]
    WebhooksWrite,
    /// Read templates.
    #[strum(serialize = "templates:read")]
    TemplatesRead,
    /// Change templates.
    #[strum(serialize = "templates:write")]
    TemplatesWrite,
    /// Read profiles.
    #[strum(serialize = "profiles:read")]
    ProfilesRead,
    /// Change profiles.
    #[strum(serialize = "profiles:write")]
    ProfilesWrite,
    /// Read verification plugins.
    #[strum(serialize = "verification:read")]
    VerificationRead,
    /// Change plugins and verify manually.
    #[strum(serialize = "verification:write")]
    VerificationWrite,
    /// Read environments.
    #[strum(serialize = "environments:read")]
    EnvironmentsRead,
    /// Change environments.
    #[strum(serialize = "environments:write")]
    EnvironmentsWrite,
    /// Read schedules and their firings.
    #[strum(serialize = "schedules:read")]
    SchedulesRead,
    /// Change and fire schedules.
    #[strum(serialize = "schedules:write")]
    SchedulesWrite,
    /// Read inboxes, their deliveries, and triggers.
    #[strum(serialize = "triggers:read")]
    TriggersRead,
    /// Change inboxes and triggers, and replay deliveries.
    #[strum(serialize = "triggers:write")]
    TriggersWrite,
    /// Set and delete values of environments' secrets.
    #[strum(serialize = "environments:secrets")]
    EnvironmentsSecrets,
    /// Everything.
    #[strum(serialize = "*")]
    All,
}

impl Scope {
    /// True if a key with the scopes `held` may do what needs `self`.
    #[must_use]
    pub fn is_granted_by(self, held: &[Scope]) -> bool {
        held.iter()
            .any(|scope| *scope == self || *scope == Scope::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_key_reads_back_and_one_wrong_letter_is_noticed(seed in proptest::array::uniform32(any::<u8>()), at in 0usize..40, letter in 0usize..62) {
            let mut random = [0; RANDOM_BYTES];
            random[..32].copy_from_slice(&seed);
            random[32..].copy_from_slice(&seed);
            let key = ApiKey::new(random);
            let read = ApiKey::parse(key.reveal()).unwrap();
            prop_assert_eq!(read.id(), key.id());
            prop_assert_eq!(read.hash(), key.hash());
            let mut other = key.reveal().as_bytes().to_vec();
            other[PREFIX.len() + at] = ALPHABET[letter];
            let other = String::from_utf8(other).unwrap();
            prop_assert_eq!(ApiKey::parse(&other).is_some(), other == key.reveal());
        }
    }

    #[test]
    fn a_debug_print_does_not_show_the_secret() {
        let key = ApiKey::new([7; RANDOM_BYTES]);
        let shown = format!("{key:?}");
        assert!(
            !shown.contains(&key.reveal()[PREFIX.len() + ID_LEN..]),
            "{shown}"
        );
    }

    #[test]
    fn the_star_grants_everything_and_nothing_else_does() {
        for needed in Scope::ALL {
            assert!(needed.is_granted_by(&[Scope::All]));
            assert!(!needed.is_granted_by(&[]));
            for held in Scope::ALL {
                assert_eq!(
                    needed.is_granted_by(&[held]),
                    held == needed || held == Scope::All
                );
            }
        }
    }
}
