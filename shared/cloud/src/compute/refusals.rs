//! Refusals of ECS that are no fault of a run: those that pass, for a quota, a throttle, or a rival at the same
//! family of definitions; and those of the account or the deployment, which an operator repairs. ECS reports them under
//! several codes, of which no SDK repeats all.

use awo_domain::Error;
use aws_sdk_ecs::error::ProvideErrorMetadata;
use thiserror::Error as ThisError;

/// Parts of the codes of such refusals.
const CODES: [&str; 9] = [
    "Capacity",
    "Throttl",
    "Limit",
    "TooManyRequests",
    "AccessDenied",
    "Blocked",
    "ClusterNotFound",
    "PlatformUnknown",
    "UnsupportedFeature",
];
/// Parts of their messages, in small letters, under a code that also stands for faults of the request.
const MESSAGES: [&str; 7] = [
    "too many concurrent attempts",
    "request limit exceeded",
    "rate exceeded",
    "not authorized",
    "unable to assume",
    "subnet",
    "security group",
];

/// Failure of a call of ECS.
#[derive(Debug, ThisError)]
pub enum EcsError {
    /// A refusal that is no fault of the run. The same call is accepted later, or after a repair.
    #[error("ECS accepts no such call now: {reason}")]
    Busy {
        /// ECS's words.
        reason: String,
    },
    /// Any other failure.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// ECS's words, if the refusal of a call is no fault of the run.
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
    fn quotas_throttles_rivals_and_faults_of_the_account_are_no_fault_of_a_run() {
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
            (
                "AccessDeniedException",
                "User is not authorized to perform: iam:PassRole",
            ),
            (
                "InvalidParameterException",
                "The subnet ID 'subnet-1' does not exist",
            ),
            ("ClusterNotFoundException", "Cluster not found."),
            (
                "ClientException",
                "ECS was unable to assume the role that was provided for this task.",
            ),
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
            (
                "InvalidParameterException",
                "Memory of the containers is greater than that of the task.",
            ),
        ] {
            assert_eq!(busy(&refusal(code, message)), None, "{code}: {message}");
        }
    }
}
