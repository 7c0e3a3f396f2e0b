//! An account's limit of concurrent executions, which all functions share, and its reservations. A
//! reservation is both: a guarantee for that function, and its maximum.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Without a limit, nothing is refused. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Concurrency(Arc<RwLock<Option<Limits>>>);

#[derive(Debug)]
struct Limits {
    unreserved: Arc<Semaphore>,
    reserved: HashMap<String, Arc<Semaphore>>,
}

impl Concurrency {
    /// So many executions at once in all, of which these are reserved.
    pub fn limit(&self, all: usize, reserved: &[(&str, usize)]) {
        let taken: usize = reserved.iter().map(|(_, executions)| executions).sum();
        let of = |(name, executions): &(&str, usize)| {
            ((*name).to_owned(), Arc::new(Semaphore::new(*executions)))
        };
        let limits = Limits {
            unreserved: Arc::new(Semaphore::new(all.saturating_sub(taken))),
            reserved: reserved.iter().map(of).collect(),
        };
        let mut current = self
            .0
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *current = Some(limits);
    }

    /// An execution of a function: none inside if there is no limit.
    ///
    /// # Errors
    /// If it is throttled.
    pub fn take(
        &self,
        function: &str,
    ) -> Result<Option<OwnedSemaphorePermit>, ConcurrencyExceeded> {
        let limits = self
            .0
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(limits) = limits.as_ref() else {
            return Ok(None);
        };
        let executions = limits.reserved.get(function).unwrap_or(&limits.unreserved);
        let permit = Arc::clone(executions).try_acquire_owned();
        permit.map(Some).map_err(|_| ConcurrencyExceeded)
    }
}

/// The function has all executions that it may have.
#[derive(Debug)]
pub(crate) struct ConcurrencyExceeded;
