//! Operations that read, decide and write on condition: what was read may have changed by then, and
//! all of it is done again.

use awo_domain::Error;

use crate::engine::table::conflict_pause;

/// Most tries of an operation: 64 rivals for one item are through by then.
const MOST: u32 = 24;

/// The tries of one operation.
#[derive(Debug)]
pub struct Tries {
    /// What the operation fails with when no try came through; absent once it has.
    last: Option<Error>,
    tried: u32,
}

impl Tries {
    /// Those of an operation of the service's; `contended` is what an operator reads when none came
    /// through, and the caller is to try again later.
    #[must_use]
    pub fn new(contended: &'static str) -> Tries {
        Tries::failing_with(Error::contended(contended))
    }

    /// Those of an operation that fails with this when none came through.
    #[must_use]
    pub fn failing_with(last: Error) -> Tries {
        Tries {
            last: Some(last),
            tried: 0,
        }
    }

    /// Begins a try, each but the first after a growing, jittered pause; returns how many there were
    /// before it.
    ///
    /// # Errors
    /// The operation's, after the last one.
    pub async fn next(&mut self) -> Result<u32, Error> {
        if self.tried == MOST {
            let over = || Error::internal("a try was begun after the last one");
            return Err(self.last.take().unwrap_or_else(over));
        }
        if let Some(refused) = self.tried.checked_sub(1) {
            conflict_pause(refused).await;
        }
        self.tried += 1;
        Ok(self.tried - 1)
    }
}
