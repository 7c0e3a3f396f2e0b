//! Why a run failed. One table answers for every code where the fault lies, whether another run of
//! the same work order can be expected to go better, and the next step.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::verification::BaselineComparison;

/// Why a run failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum RunErrorCode {
    /// Verification did not pass in any iteration.
    MaxIterationsReached,
    /// The run used up its credits or tokens.
    BudgetExceeded,
    /// The run or its last iteration took too long.
    Timeout,
    /// The repository could not be cloned, its plan is not valid, or its environment could not be
    /// set up.
    WorkspaceFailed,
    /// The agent failed in the last iteration.
    AgentFailed,
    /// There is no agent to run.
    AgentNotConfigured,
    /// The result could not be pushed though it was allowed.
    DeliveryFailed,
    /// The platform lost the run, as ECS or the service itself reports. It costs nothing.
    ComputeLost,
    /// The runner ended by itself without a last report, or stopped reporting while its task was
    /// running.
    RunnerFailed,
    /// The provider of the agent's models did not answer for as long as a run waits for it. The wait costs nothing.
    ProviderUnavailable,
    /// The provider of the agent's models did not accept the key, or its account has nothing left.
    ProviderRefused,
    /// A child did not succeed, or what the children did could not be brought together.
    ChildrenFailed,
    /// Nothing of its result was verified, and its profile wants that.
    NotVerified,
    /// The commit of a `verify` order did not pass its verification.
    VerificationFailed,
    /// A client killed it by force.
    Killed,
}

/// The location of a failed run's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ErrorCategory {
    /// In the service, or in what it runs on.
    Platform,
    /// In the provider of the models.
    Provider,
    /// In the repository, its plan or its environment.
    Workspace,
    /// In the agent or its configuration.
    Agent,
    /// In the result, as its checks report it.
    Verification,
    /// In a limit of credits, tokens or time.
    Budget,
    /// In what became of the result at its origin.
    Delivery,
    /// Nowhere: a client ended it.
    Client,
}

impl RunErrorCode {
    /// True when the run's end is the platform's fault: such a run costs nothing.
    #[must_use]
    pub fn is_free_of_charge(self) -> bool {
        matches!(self, RunErrorCode::ComputeLost)
    }

    /// True if a runner may end its run with it; the others are the service's own.
    #[must_use]
    pub fn may_be_reported_by_a_runner(self) -> bool {
        !matches!(
            self,
            RunErrorCode::ComputeLost | RunErrorCode::RunnerFailed | RunErrorCode::Killed
        )
    }

    /// The location of the fault.
    #[must_use]
    pub fn category(self) -> ErrorCategory {
        match self {
            RunErrorCode::MaxIterationsReached
            | RunErrorCode::NotVerified
            | RunErrorCode::VerificationFailed => ErrorCategory::Verification,
            RunErrorCode::BudgetExceeded | RunErrorCode::Timeout => ErrorCategory::Budget,
            RunErrorCode::WorkspaceFailed => ErrorCategory::Workspace,
            RunErrorCode::AgentFailed
            | RunErrorCode::AgentNotConfigured
            | RunErrorCode::ChildrenFailed => ErrorCategory::Agent,
            RunErrorCode::DeliveryFailed => ErrorCategory::Delivery,
            RunErrorCode::ComputeLost | RunErrorCode::RunnerFailed => ErrorCategory::Platform,
            RunErrorCode::ProviderUnavailable | RunErrorCode::ProviderRefused => {
                ErrorCategory::Provider
            }
            RunErrorCode::Killed => ErrorCategory::Client,
        }
    }

    /// True if a new run with nothing changed can be expected to go better.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            RunErrorCode::ComputeLost
                | RunErrorCode::RunnerFailed
                | RunErrorCode::ProviderUnavailable
        )
    }

    /// One sentence for the person who can act.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            RunErrorCode::MaxIterationsReached => {
                "Read the failing checks, then make the task prompt more exact, allow more iterations, or \
                 correct a check that no change can pass."
            }
            RunErrorCode::BudgetExceeded => {
                "Raise the limit that the message names, or split the task, then start the work order again."
            }
            RunErrorCode::Timeout => {
                "Raise maxDurationMs of the work order, or maxDurationMs or maxIterationMs of its profile, \
                 or split the task."
            }
            RunErrorCode::WorkspaceFailed => {
                "Fix what the message names in the repository, its verify.yaml or its environment, then \
                 start the work order again."
            }
            RunErrorCode::AgentFailed => {
                "Read the agent's output in the run's logs, and correct its command, its model or the task \
                 prompt."
            }
            RunErrorCode::AgentNotConfigured => {
                "Name an agent in the work order or add .awo/agent.sh to the repository, and set the key \
                 of its provider."
            }
            RunErrorCode::DeliveryFailed => {
                "Let the service's git credential push the branch that the message names; the diff of the \
                 run still has the result."
            }
            RunErrorCode::ComputeLost => "Start the work order again: this run cost nothing.",
            RunErrorCode::RunnerFailed => {
                "Start the work order again, with a larger size if the task used up its memory; if it \
                 repeats, an operator reads the task's log."
            }
            RunErrorCode::ProviderUnavailable => {
                "Start the work order again when the provider's status page reports no outage, or choose a \
                 model of another provider."
            }
            RunErrorCode::ProviderRefused => {
                "Set another key of the provider that the message names, or restore quota and payment of \
                 its account, then start the work order again."
            }
            RunErrorCode::ChildrenFailed => {
                "Read the error of the child that the message names, fix its cause, then start the parent again."
            }
            RunErrorCode::NotVerified => {
                "Add a check to verify.yaml that runs something of the project, or set \
                 verification.required of the profile to false."
            }
            RunErrorCode::VerificationFailed => {
                "Read the failing checks, push a commit that passes them, and verify that one."
            }
            RunErrorCode::Killed => "Start the work order again if its result is still wanted.",
        }
    }
}

/// Why a run failed, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// For programs.
    pub code: RunErrorCode,
    /// For people: what happened and what to do next.
    pub message: String,
    /// True if every check that failed fails on the base, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pre_existing: bool,
}

/// The next step where the base fails in the same way.
const REPAIR_THE_BASE: &str = "Repair the base first, since every failing check fails there, too, or set \
                               verification.forgive of the profile for tests that have names.";

/// Longest error message that is stored, in characters.
pub const MAX_ERROR_MESSAGE: usize = 2_000;

impl RunError {
    /// An error whose message is cut to [`MAX_ERROR_MESSAGE`].
    #[must_use]
    pub fn new(code: RunErrorCode, message: &str) -> RunError {
        RunError {
            code,
            message: message.chars().take(MAX_ERROR_MESSAGE).collect(),
            pre_existing: false,
        }
    }

    /// With whether every check that failed fails on the base, too.
    #[must_use]
    pub fn with_baseline(self, comparison: Option<&BaselineComparison>) -> RunError {
        let only = comparison.is_some_and(|comparison| comparison.only_pre_existing);
        let is_verdict = match self.code {
            RunErrorCode::MaxIterationsReached | RunErrorCode::VerificationFailed => true,
            RunErrorCode::BudgetExceeded
            | RunErrorCode::Timeout
            | RunErrorCode::WorkspaceFailed
            | RunErrorCode::AgentFailed
            | RunErrorCode::AgentNotConfigured
            | RunErrorCode::DeliveryFailed
            | RunErrorCode::ComputeLost
            | RunErrorCode::RunnerFailed
            | RunErrorCode::ProviderUnavailable
            | RunErrorCode::ProviderRefused
            | RunErrorCode::ChildrenFailed
            | RunErrorCode::NotVerified
            | RunErrorCode::Killed => false,
        };
        RunError {
            pre_existing: is_verdict && only,
            ..self
        }
    }
}

/// Why a run failed, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = RunError)]
pub struct RunFailure<'a> {
    /// For programs.
    pub code: RunErrorCode,
    /// For people: what happened.
    pub message: &'a str,
    /// The location of the fault.
    pub category: ErrorCategory,
    /// True if a new run with nothing changed can be expected to go better.
    pub retryable: bool,
    /// One sentence for the person who can act.
    pub remedy: &'static str,
}

impl<'a> From<&'a RunError> for RunFailure<'a> {
    fn from(error: &'a RunError) -> RunFailure<'a> {
        RunFailure {
            code: error.code,
            message: &error.message,
            category: error.code.category(),
            retryable: error.code.is_retryable(),
            remedy: if error.pre_existing {
                REPAIR_THE_BASE
            } else {
                error.code.remedy()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_is_one_sentence_and_no_two_codes_share_it() {
        for (i, code) in RunErrorCode::ALL.into_iter().enumerate() {
            let remedy = code.remedy();
            assert!(remedy.ends_with('.') && !remedy.contains(". "), "{remedy}");
            assert!(
                remedy.starts_with(|c: char| c.is_ascii_uppercase()),
                "{remedy}"
            );
            let others = &RunErrorCode::ALL[i + 1..];
            assert!(others.iter().all(|other| other.remedy() != remedy));
        }
    }

    #[test]
    fn what_is_free_of_charge_or_the_services_own_is_the_platforms_or_a_clients() {
        for code in RunErrorCode::ALL {
            let (category, retryable) = (code.category(), code.is_retryable());
            let is_platforms = category == ErrorCategory::Platform;
            assert!(!code.is_free_of_charge() || is_platforms, "{code:?}");
            let is_own = is_platforms || category == ErrorCategory::Client;
            assert_eq!(!code.may_be_reported_by_a_runner(), is_own, "{code:?}");
            let is_transient = is_platforms || code == RunErrorCode::ProviderUnavailable;
            assert_eq!(retryable, is_transient, "{code:?}");
        }
    }

    #[test]
    fn the_remedy_of_failures_that_the_base_has_is_to_repair_the_base() {
        let only = BaselineComparison {
            only_pre_existing: true,
            ..BaselineComparison::default()
        };
        let remedy = |code, comparison| {
            let error = RunError::new(code, "").with_baseline(comparison);
            RunFailure::from(&error).remedy
        };
        let code = RunErrorCode::MaxIterationsReached;
        assert_eq!(remedy(code, Some(&only)), REPAIR_THE_BASE);
        let other = BaselineComparison::default();
        assert_eq!(remedy(code, Some(&other)), code.remedy());
        assert_eq!(remedy(code, None), code.remedy());
        let timeout = RunErrorCode::Timeout;
        assert_eq!(remedy(timeout, Some(&only)), timeout.remedy());
    }

    #[test]
    fn what_a_client_sees_has_the_contracts_names() {
        let error = RunError::new(RunErrorCode::ProviderUnavailable, "no answer");
        let shown = serde_json::to_value(RunFailure::from(&error)).unwrap();
        assert_eq!(shown["code"], "PROVIDER_UNAVAILABLE");
        assert_eq!(shown["message"], "no answer");
        assert_eq!(shown["category"], "provider");
        assert_eq!(shown["retryable"], true);
        assert!(shown["remedy"].as_str().unwrap().contains("status page"));
    }
}
