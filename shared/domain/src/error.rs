//! All errors of callers, independent of HTTP.
//!
//! The text of an error is public. The cause of an internal error is private: it is logged and
//! never part of a response.

use std::fmt;

use crate::BudgetId;
use crate::thread::NoFollowUp;

/// One thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer into the body, or the name of a query parameter.
    pub path: String,
    /// What is wrong with it, as a predicate: "must be …".
    pub message: String,
}

/// The kinds of resources that can be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// A work order.
    WorkOrder,
    /// A run.
    Run,
    /// A work order's place in the queue.
    QueueEntry,
    /// A template.
    Template,
    /// A verification plugin.
    Plugin,
    /// A profile.
    Profile,
    /// An environment.
    Environment,
    /// A secret of an environment.
    EnvironmentSecret,
    /// A webhook.
    Webhook,
    /// A budget.
    Budget,
    /// A schedule.
    Schedule,
    /// An inbox.
    Inbox,
    /// A trigger.
    Trigger,
    /// A statement.
    Statement,
    /// A delivery of a webhook, or to an inbox.
    Delivery,
    /// A route.
    Route,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resource::WorkOrder => "work order",
            Resource::Run => "run",
            Resource::QueueEntry => "work order in the queue",
            Resource::Template => "template",
            Resource::Plugin => "plugin",
            Resource::Profile => "profile",
            Resource::Environment => "environment",
            Resource::EnvironmentSecret => "secret of this environment",
            Resource::Webhook => "webhook",
            Resource::Budget => "budget",
            Resource::Schedule => "schedule",
            Resource::Inbox => "inbox",
            Resource::Trigger => "trigger",
            Resource::Statement => "statement",
            Resource::Delivery => "delivery",
            Resource::Route => "route",
        })
    }
}

/// Why a request was not done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// No key, or one that is malformed, unknown or revoked: the response does not distinguish them.
    #[error("a valid API key is needed: send it as \"Authorization: Bearer org_live_…\"")]
    Unauthorized,
    /// A delivery whose signature does not hold, or to an inbox that is missing or disabled: the response does
    /// not distinguish them.
    #[error(
        "the delivery is not signed with the secret of an inbox of this URL, or the inbox is disabled: compare \
         the URL and the secret at the sender"
    )]
    UnsignedDelivery,
    /// The key is good, but not for this.
    #[error("this key lacks the scope {0}")]
    MissingScope(String),
    /// It belongs to the product and can only be read.
    #[error("this {0} is built in and cannot be changed or deleted: create your own")]
    BuiltIn(Resource),
    /// Credits do not cover the hold.
    #[error(
        "{needed} credits are needed and {available} are available: buy credits or lower limits.maxCredits"
    )]
    InsufficientCredits {
        /// The hold.
        needed: f64,
        /// Balance less what is reserved.
        available: f64,
    },
    /// A budget does not cover the hold.
    #[error(
        "{needed} credits are needed and the budget {name:?} ({budget_id}) has {remaining} of {limit} left: \
         wait until its period turns, raise its limit, or lower limits.maxCredits"
    )]
    OverBudget {
        /// The budget.
        budget_id: BudgetId,
        /// Its name.
        name: String,
        /// The hold.
        needed: f64,
        /// The budget's limit.
        limit: f64,
        /// What is left of it.
        remaining: f64,
    },
    /// No such thing, or not the caller's.
    #[error("there is no such {0}")]
    NotFound(Resource),
    /// The path exists, the method does not.
    #[error("the method is not allowed here; allowed: {allow}")]
    MethodNotAllowed {
        /// Comma-separated methods.
        allow: String,
    },
    /// The state of things does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// The work order cannot be followed up.
    #[error("{}", .0.message())]
    NoFollowUp(NoFollowUp),
    /// The request is wrong; all that is wrong with it.
    #[error("{}", summary(.0))]
    Invalid(Vec<Fault>),
    /// The body is not JSON.
    #[error("the body must be sent as application/json")]
    UnsupportedMediaType,
    /// The body is too large.
    #[error("the body must not be larger than {limit_bytes} bytes")]
    PayloadTooLarge {
        /// The limit.
        limit_bytes: usize,
    },
    /// The key was used for another body.
    #[error("this Idempotency-Key was used with a different body")]
    IdempotencyMismatch,
    /// The key's requests of this minute are used up.
    #[error("the rate limit of this key is exceeded: try again in {retry_after_s} s")]
    RateLimited {
        /// Seconds until the window ends.
        retry_after_s: i64,
    },
    /// As many of these are going on already as the organization may have at once.
    #[error(
        "the limit of {limit} {what} at a time is reached: end one, or try again in {retry_after_s} s"
    )]
    TooManyAtOnce {
        /// The plural of what there is too much of.
        what: &'static str,
        /// The most at once.
        limit: u32,
        /// A guess.
        retry_after_s: i64,
    },
    /// Enough calls wait for the death of this work order's processes.
    #[error(
        "a kill is in progress and other requests wait for it: check the work order, or try again in {retry_after_s} s"
    )]
    KillUnderWay {
        /// A guess.
        retry_after_s: i64,
    },
    /// The organization's queue takes no more.
    #[error("the queue is full: try again in {retry_after_s} s")]
    QueueFull {
        /// A guess.
        retry_after_s: i64,
    },
    /// As many deliveries of the organization wait for their processing as may wait.
    #[error(
        "{limit} deliveries of your organization are not processed yet, the maximum: deliver again in {retry_after_s} s"
    )]
    InboxesFull {
        /// The maximum.
        limit: u64,
        /// A guess.
        retry_after_s: i64,
    },
    /// Others change the same things of the organization at this moment, and this did not get its
    /// turn in time. Nothing was written.
    #[error(
        "too many concurrent requests change the same data, and nothing was changed: try again in {retry_after_s} s"
    )]
    Contended {
        /// A guess.
        retry_after_s: i64,
        /// For the log only.
        cause: String,
    },
    /// Our fault.
    #[error("internal error: try again; if the error persists, report the request id")]
    Internal {
        /// For the log only.
        cause: String,
    },
}

/// When to try again what did not get its turn, in seconds.
const CONTENDED_RETRY_S: i64 = 2;

impl Error {
    /// Something that should not happen; `cause` is for the log.
    #[must_use]
    pub fn internal(cause: impl fmt::Display) -> Error {
        Error::Internal {
            cause: cause.to_string(),
        }
    }

    /// Refuses a request with these faults; accepts it if there are none.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are faults.
    pub fn if_any(faults: Vec<Fault>) -> Result<(), Error> {
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Error::Invalid(faults))
        }
    }

    /// What was to be changed kept changing; `cause` is for the log.
    #[must_use]
    pub fn contended(cause: impl fmt::Display) -> Error {
        Error::Contended {
            retry_after_s: CONTENDED_RETRY_S,
            cause: cause.to_string(),
        }
    }

    /// One fault.
    #[must_use]
    pub fn invalid(path: &str, message: impl Into<String>) -> Error {
        Error::Invalid(vec![Fault {
            path: path.to_owned(),
            message: message.into(),
        }])
    }
}

fn summary(faults: &[Fault]) -> String {
    let named: Vec<String> = faults
        .iter()
        .map(|fault| match fault.path.as_str() {
            "" => format!("the body {}", fault.message),
            path => format!("{path} {}", fault.message),
        })
        .collect();
    named.join("; ")
}
