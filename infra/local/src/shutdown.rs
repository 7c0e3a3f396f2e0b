//! One handle that stops everything. Invariant: once [`Shutdown::begin`] was called, every
//! [`Shutdown::begun`] future of every clone resolves, also those created later.

use std::sync::Arc;

use tokio::sync::watch;

/// The shared sign that the local cloud is going down.
#[derive(Clone, Debug)]
pub struct Shutdown {
    sign: Arc<watch::Sender<bool>>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

impl Shutdown {
    #[must_use]
    pub fn new() -> Self {
        Self {
            sign: Arc::new(watch::Sender::new(false)),
        }
    }

    /// Signals everything to finish. Further calls change nothing.
    pub fn begin(&self) {
        self.sign.send_replace(true);
    }

    #[must_use]
    pub fn has_begun(&self) -> bool {
        *self.sign.borrow()
    }

    /// Resolves once the shutdown has begun.
    pub async fn begun(&self) {
        let mut sign = self.sign.subscribe();
        // An error would mean that no sender is left, yet `self` holds one.
        let _ = sign.wait_for(|begun| *begun).await;
    }
}
