//! Refusals of ECS that pass: a quota, a throttle, or a rival at the same family of definitions. ECS
//! reports them under several codes, of which no SDK repeats all.

use awo_domain::Error;
use aws_sdk_ecs::error::ProvideErrorMetadata;
use thiserror::Error as ThisError;

/// Parts of the codes of such refusals.
const CODES: [&str; 4] = ["Capacity", "Throttl", "Limit", "TooManyRequests"];
/// Parts of their messages under a code that also stands for faults of the request.
const MESSAGES: [&str; 3] = [
    "too many concurrent attempts",
    "request limit exceeded",
    "rate exceeded",
];

/// Failure of a call of ECS.
#[derive(Debug, ThisError)]
pub enum EcsError {
    /// A refusal that passes. The same call is accepted later.
    #[error("ECS accepts no such call now: {reason}")]
    Busy {
        /// ECS's words.
        reason: String,
    },
    /// Any other failure.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// ECS's words, if it refused a call only for now.
pub(crate) fn busy(error: &impl ProvideErrorMetadata) -> Option<String> {
    let code = error.code()?;
    let message = error.message().unwrap_or_default();
    let text = message.to_ascii_lowercase();
    let is_busy = CODES.iter().any(|part| code.contains(part))
        || MESSAGES.iter().any(|part| text.contains(part));
    is_busy.then(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use aws_sdk_ecs::error::ErrorMetadata;

    use super::*;

    fn refusal(code: &str, message: &str) -> ErrorMetadata {
        ErrorMetadata::builder().code(code).message(message).build()
    }

    #[test]
    fn refusals_that_pass_are_no_faults_of_the_request() {
        for (code, message) in [
            (
                "ClientException",
                "Too many concurrent attempts to create a new revision of the specified family.",
            ),
            ("ThrottlingException", "Rate exceeded"),
            ("InvalidParameterException", "Request limit exceeded."),
            ("ClientException", "Rate exceeded"),
            ("LimitExceededException", "The limit is reached."),
            ("CapacityUnavailableException", "No capacity."),
        ] {
            let reason = busy(&refusal(code, message));
            assert_eq!(reason.as_deref(), Some(message), "{code}");
        }
        for (code, message) in [
            ("ClientException", "TaskDefinition is inactive"),
            (
                "InvalidParameterException",
                "No Fargate configuration exists for given values.",
            ),
            ("AccessDeniedException", "not authorized"),
        ] {
            assert_eq!(busy(&refusal(code, message)), None, "{code}: {message}");
        }
    }
}
