//! Time and randomness, which the domain receives as values.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use awo_domain::Timestamp;
use awo_domain::api_key::{ApiKey, RANDOM_BYTES};
use awo_domain::inbox::InboxSecret;
use awo_domain::webhook::signature::{SECRET_BYTES, Secret};

/// The time, which a test may move forward.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    ahead_ms: Arc<AtomicI64>,
}

impl Clock {
    /// The present time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let ms = chrono::Utc::now().timestamp_millis();
        Timestamp::from_epoch_ms(ms + self.ahead_ms.load(Ordering::Relaxed))
    }

    /// Advances this clock and all its clones.
    pub fn advance(&self, ms: i64) {
        self.ahead_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

/// Randomness that ids are made of. Within a process the ids of one millisecond grow, so that
/// they sort in the order in which they were made.
#[derive(Debug, Clone, Default)]
pub struct Mint {
    last: Arc<Mutex<(i64, u128)>>,
}

const ULID_BITS: u32 = 80;

impl Mint {
    /// Randomness for an id made at `at`.
    #[must_use]
    pub fn random(&self, at: Timestamp) -> u128 {
        let fresh = u128::from_be_bytes(bytes()) >> (128 - ULID_BITS);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let random = if last.0 == at.epoch_ms() {
            last.1 + 1
        } else {
            fresh >> 1
        };
        *last = (at.epoch_ms(), random);
        random
    }

    /// 256 random bits as hex.
    #[must_use]
    pub fn secret(&self) -> String {
        bytes::<32>().iter().map(|b| format!("{b:02x}")).collect()
    }

    /// A new secret of a webhook.
    #[must_use]
    pub fn webhook_secret(&self) -> Secret {
        Secret::new(bytes::<SECRET_BYTES>())
    }

    /// A new secret of an inbox, as senders of its kind take it.
    #[must_use]
    pub fn inbox_secret(&self, is_standard: bool) -> InboxSecret {
        InboxSecret::stored(if is_standard {
            self.webhook_secret().reveal()
        } else {
            self.secret()
        })
    }

    /// A new API key.
    #[must_use]
    pub fn api_key(&self) -> ApiKey {
        ApiKey::new(bytes::<RANDOM_BYTES>())
    }
}

/// Bytes of the operating system. Without them nothing here is safe, so there is no other way on.
fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!(event = "no_randomness", %error, "the operating system gives no randomness");
        std::process::abort();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use awo_domain::RunId;

    #[test]
    fn ids_of_one_millisecond_grow() {
        let (mint, at) = (Mint::default(), Timestamp::from_epoch_ms(1_700_000_000_000));
        let ids: Vec<RunId> = (0..1_000)
            .map(|_| RunId::new(at, mint.random(at)))
            .collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
