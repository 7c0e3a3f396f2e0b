//! Operations that read, decide and write on condition: what was read may have changed by then, and
//! all of it is done again.

use awo_domain::Error;

use crate::engine::table::conflict_pause;

/// Most tries of an operation: 64 rivals for one item are through by then.
const MOST: u32 = 24;

/// The tries of one operation.
#[derive(Debug)]
pub(crate) struct Tries {
    contended: &'static str,
    tried: u32,
}

impl Tries {
    /// Those of an operation; `contended` is what an operator reads when none came through.
    pub fn new(contended: &'static str) -> Tries {
        Tries {
            contended,
            tried: 0,
        }
    }

    /// Begins a try, each but the first after a growing, jittered pause.
    ///
    /// # Errors
    /// [`Error::Contended`], after the last one.
    pub async fn next(&mut self) -> Result<(), Error> {
        if self.tried == MOST {
            return Err(Error::contended(self.contended));
        }
        if let Some(refused) = self.tried.checked_sub(1) {
            conflict_pause(refused).await;
        }
        self.tried += 1;
        Ok(())
    }
}
