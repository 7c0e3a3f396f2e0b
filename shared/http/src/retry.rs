//! Changes that are repeated when a concurrent request was faster.

use awo_domain::{Error, Resource};

use crate::answer::Answer;

/// Number of attempts at a change.
const TRIES: u32 = 8;

/// Repeats a change of a resource until it is made of what is stored; an attempt returns `None` if a
/// concurrent request has changed that since it was read.
///
/// # Errors
/// Those of an attempt; [`Error::Conflict`] after the last one.
pub async fn until_unchanged<F>(
    resource: Resource,
    attempt: impl Fn() -> F,
) -> Result<Answer, Error>
where
    F: Future<Output = Result<Option<Answer>, Error>>,
{
    for _ in 0..TRIES {
        if let Some(answer) = attempt().await? {
            return Ok(answer);
        }
    }
    Err(Error::Conflict(format!(
        "other requests keep changing this {resource}: try again"
    )))
}
