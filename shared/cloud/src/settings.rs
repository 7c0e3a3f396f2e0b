//! A deployment's settings and their defaults.

use awo_domain::agent::AgentType;
use awo_domain::environment::{AllowedImages, Deployment};
use awo_domain::ledger::Rates;
use awo_domain::money::MicroCredits;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::private_hosts::{PRIVATE_HOSTS, PrivateHosts};
use awo_domain::webhook::schedule::RetrySchedule;
use awo_store::capacity::permits::MaxTasks;
use awo_store::queue::tally::QueueLimits;
use awo_store::runs::details::DetailsRetention;

use crate::environment::{Environment, SetupError};

pub mod models;

/// Slots and queue size of organizations that have no limits of their own.
///
/// # Errors
/// [`SetupError`] if a setting does not read.
pub fn queue_limits(environment: &Environment) -> Result<QueueLimits, SetupError> {
    Ok(QueueLimits {
        max_concurrent: environment.parsed("AWO_MAX_CONCURRENT", 5)?,
        max_queue_size: environment.parsed("AWO_MAX_QUEUE_SIZE", 100)?,
    })
}

/// Most tasks of all organizations together at once.
///
/// # Errors
/// [`SetupError`] if the setting does not read, or is 0.
pub fn max_tasks(environment: &Environment) -> Result<MaxTasks, SetupError> {
    const NAME: &str = "AWO_MAX_TASKS";
    MaxTasks::new(environment.parsed(NAME, 100)?).ok_or_else(|| SetupError::Invalid {
        name: NAME.to_owned(),
        why: "must be at least 1".to_owned(),
    })
}

/// Retention of timelines, logs and diffs.
///
/// # Errors
/// [`SetupError`] if the setting does not read.
pub fn details_retention(environment: &Environment) -> Result<DetailsRetention, SetupError> {
    let days = environment.get("AWO_KEEP_DETAILS_DAYS");
    days.map_or(Ok(DetailsRetention::default()), |_| {
        environment
            .parsed("AWO_KEEP_DETAILS_DAYS", 0)
            .map(DetailsRetention::days)
    })
}

/// What the images of environments begin with, with commas between; set where tasks are containers.
pub const ENVIRONMENT_IMAGES: &str = "AWO_ENVIRONMENT_IMAGES";

/// 1 where commands cannot be kept from a network; the local service sets it by what its kernel has.
pub const NO_EGRESS: &str = "AWO_NO_EGRESS";

/// Servers outside the public network that may be called with a credential.
///
/// # Errors
/// [`SetupError`] if an entry is neither a host nor a network.
pub fn private_hosts(environment: &Environment, reach: Reach) -> Result<PrivateHosts, SetupError> {
    let hosts = PrivateHosts::parse(environment.list(PRIVATE_HOSTS), reach);
    hosts.map_err(|why| invalid(PRIVATE_HOSTS, why.to_string()))
}

/// Features of environments that this deployment has.
///
/// # Errors
/// [`SetupError`] if a setting does not read.
pub fn environments(environment: &Environment) -> Result<Deployment, SetupError> {
    // Nothing sets it where tasks are processes.
    let images = environment.get(ENVIRONMENT_IMAGES);
    let allow_loopback = environment.flag("AWO_ALLOW_LOOPBACK_REGISTRIES");
    let reach = if allow_loopback {
        Reach::PublicAndLoopback
    } else {
        Reach::Public
    };
    Ok(Deployment {
        images: images.map(|_| AllowedImages::new(environment.list(ENVIRONMENT_IMAGES))),
        allow_loopback,
        private_hosts: private_hosts(environment, reach)?,
        no_egress: environment.flag(NO_EGRESS),
    })
}

/// The amount reserved for a run whose work order has no limit.
///
/// # Errors
/// [`SetupError`] if the setting does not read.
pub fn default_hold(environment: &Environment) -> Result<MicroCredits, SetupError> {
    Ok(MicroCredits::from_credits(
        environment.parsed("AWO_HOLD_CREDITS", 1_000)?,
    ))
}

/// The agent of work orders that name none.
///
/// # Errors
/// [`SetupError`] if the setting is no agent type.
pub fn default_agent(environment: &Environment) -> Result<AgentType, SetupError> {
    let name = environment
        .get("AWO_DEFAULT_AGENT")
        .unwrap_or_else(|| AgentType::Command.as_str().to_owned());
    let agents = AgentType::ALL
        .into_iter()
        .filter(|kind| !kind.is_verification());
    let agents: Vec<&str> = agents.map(AgentType::as_str).collect();
    let agent = AgentType::parse(&name).filter(|kind| !kind.is_verification());
    agent.ok_or_else(|| SetupError::Invalid {
        name: "AWO_DEFAULT_AGENT".to_owned(),
        why: format!("must be one of {}", agents.join(", ")),
    })
}

/// What things cost in this deployment.
///
/// # Errors
/// [`SetupError`] if a setting does not read.
pub fn rates(environment: &Environment) -> Result<Rates, SetupError> {
    let credits = |name: &str, default: f64| {
        let decimal = environment.parsed(name, default)?;
        MicroCredits::from_decimal(decimal).map_err(|why| SetupError::Invalid {
            name: name.to_owned(),
            why,
        })
    };
    Ok(Rates {
        credits_per_usd: credits("AWO_CREDITS_PER_USD", 100.0)?,
        credits_per_minute: credits("AWO_CREDITS_PER_MINUTE", 1.0)?,
    })
}

/// The operator's own prices, a file.
pub const PRICES_FILE: &str = "AWO_PRICES_FILE";

/// A setting that does not read.
#[must_use]
pub fn invalid(name: &str, why: String) -> SetupError {
    SetupError::Invalid {
        name: name.to_owned(),
        why,
    }
}

/// Requests a minute of keys that have no limit of their own.
///
/// # Errors
/// [`SetupError`] if the setting does not read.
pub fn requests_per_minute(environment: &Environment) -> Result<u32, SetupError> {
    environment.parsed("AWO_REQUESTS_PER_MINUTE", 600)
}

/// The origins whose pages may read answers: none by default, `*` for all.
///
/// # Errors
/// [`SetupError`] if one is not as browsers write it, such as `https://app.example.com`.
pub fn cors_origins(environment: &Environment) -> Result<Vec<String>, SetupError> {
    const NAME: &str = "AWO_CORS_ORIGINS";
    let origins = environment.list(NAME);
    let is_origin = |text: &String| {
        let host = text
            .strip_prefix("https://")
            .or(text.strip_prefix("http://"));
        let is_host = |host: &str| {
            let bytes = host.bytes();
            !host.is_empty() && bytes.into_iter().all(|b| b.is_ascii_graphic() && b != b'/')
        };
        text == "*" || host.is_some_and(is_host)
    };
    if origins.iter().all(is_origin) {
        Ok(origins)
    } else {
        Err(SetupError::Invalid {
            name: NAME.to_owned(),
            why: "must be `*`, or origins such as https://app.example.com with commas between them"
                .to_owned(),
        })
    }
}

/// How far deliveries of webhooks may reach: to this machine on one machine only.
#[must_use]
pub fn webhook_reach(environment: &Environment) -> Reach {
    if environment.flag("AWO_WEBHOOK_ALLOW_LOOPBACK") {
        Reach::PublicAndLoopback
    } else {
        Reach::Public
    }
}

/// Delays between attempts at a delivery: the contract's, or a test's shorter ones.
///
/// # Errors
/// [`SetupError`] if the setting does not read.
pub fn webhook_schedule(environment: &Environment) -> Result<RetrySchedule, SetupError> {
    const NAME: &str = "AWO_WEBHOOK_RETRY_DELAYS_MS";
    let Some(delays) = environment.get(NAME) else {
        return Ok(RetrySchedule::default());
    };
    RetrySchedule::parse(&delays).map_err(|why| SetupError::Invalid {
        name: NAME.to_owned(),
        why,
    })
}

/// True where `file:///` repositories may be cloned: on one machine only.
#[must_use]
pub fn allow_file_repositories(environment: &Environment) -> bool {
    environment.flag("AWO_ALLOW_FILE_REPOSITORIES")
}
