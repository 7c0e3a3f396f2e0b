//! Bodies of stops of runs.

use awo_domain::stop::MAX_REASON;

use crate::field::{Field, text};
use crate::record::{Members, Record};

/// The body of a cancel. It is read as the reason.
#[derive(Debug)]
pub struct CancelBody;

impl Record for CancelBody {
    type Output = Option<String>;

    fn members<M: Members>(&self, members: &mut M) -> Option<Option<String>> {
        Some(members.optional("reason", reason()))
    }
}

/// The reason of a stop.
pub(crate) fn reason() -> impl Field<Output = String> {
    text(0..=MAX_REASON).described("Stored in the run's events and audit.")
}
