//! What an operator can type.

use awo_domain::OrgId;
use awo_domain::RunId;
use awo_domain::api_key::{KeyId, Scope};
use clap::{Args, Subcommand};

use crate::quantity::{self, Credits};

/// Longest name of an organization.
const MAX_NAME: usize = 128;
/// Longest name of a secret, a git host's included.
const MAX_SECRET_NAME: usize = 200;

const AFTER_HELP: &str = "\
These commands work on the stores themselves. They find them through the process's environment
(AWO_WORK_TABLE, AWO_LEDGER_TABLE, AWO_SETTINGS_TABLE, AWO_DELIVERIES_TABLE, for set-secret
AWO_STACK, the stack's name, and the SDK's own variables), or, with --local, --data-dir or AWO_DATA_DIR, through the data directory of the local
service that runs.

Examples:
  awo admin --local create-org --name 'Team A'
  awo admin --local create-key --org org_01k0000000000000000000000a --scopes work-orders:write,runs:read
  awo admin --local grant --org org_01k0000000000000000000000a --credits 500
  awo admin --local set-secret --org org_01k0000000000000000000000a --name git:github.com < token";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Admin {
    /// Use the stores of the local service
    #[arg(long, global = true, help_heading = "Connection")]
    pub local: bool,
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make an organization, without credits and keys
    CreateOrg {
        /// What you call it
        #[arg(long, value_parser = org_name)]
        name: String,
    },
    /// Make an API key; it is shown this once
    CreateKey {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// What the key may do: names separated by commas, * for everything
        #[arg(long, value_name = "NAMES", value_parser = scopes)]
        scopes: Scopes,
        /// Requests a minute [default: the deployment's]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        requests_per_minute: Option<u32>,
    },
    /// List an organization's keys; the keys themselves are not kept and cannot be shown
    ListKeys {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Revoke a key for ever
    RevokeKey {
        /// The id of the key: the 12 characters after org_live_
        #[arg(long, value_name = "ID", value_parser = key_id)]
        key_id: KeyId,
    },
    /// Make the keys of an earlier release work with this one; once, before the functions are deployed
    UpgradeKeys {
        /// The organization: org_… [default: each of them]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Add credits to an organization
    Grant {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// How many; up to six decimal places
        #[arg(long, value_name = "N", value_parser = quantity::credits)]
        credits: Credits,
        #[command(flatten)]
        booking: BookingArguments,
    },
    /// Give credits back for a run, in all at most what it cost
    Refund {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// The run: run_…
        #[arg(long, value_name = "ID", value_parser = quantity::run_id)]
        run: RunId,
        /// How many; up to six decimal places
        #[arg(long, value_name = "N", value_parser = quantity::credits)]
        credits: Credits,
        #[command(flatten)]
        booking: BookingArguments,
    },
    /// Check that balances are what all entries and open holds come to; exit code 1 if one is not
    CheckLedger {
        /// The organization: org_… [default: each of them]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Set an organization's own limits; what is not named stays as it is
    #[command(group = clap::ArgGroup::new("limit").required(true).multiple(true))]
    SetLimits {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Runs at the same time
        #[arg(long, value_name = "N", group = "limit", value_parser = clap::value_parser!(u32).range(1..=1_000))]
        max_concurrent: Option<u32>,
        /// Work orders that may wait
        #[arg(long, value_name = "N", group = "limit", value_parser = clap::value_parser!(u32).range(1..=1_000))]
        max_queue_size: Option<u32>,
    },
    /// Declare by which keys of `metadata` costs are told apart; instead of those declared before
    SetCostLabels {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// The keys, up to five; an empty list declares none
        #[arg(long, value_name = "KEYS", value_delimiter = ',')]
        labels: Vec<String>,
        /// Of these, the ones without which no work order is created
        #[arg(long, value_name = "KEYS", value_delimiter = ',')]
        required: Vec<String>,
    },
    /// Set a secret; its value is read from standard input, or asked for without echo
    SetSecret {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// A model provider (anthropic, openai, …), or git:HOST for the token of a git host
        #[arg(long, value_parser = secret_name)]
        name: String,
    },
    /// List the names of an organization's secrets; their values are not shown
    ListSecrets {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Delete a secret: runs find none at once, and Secrets Manager forgets it after 30 days
    DeleteSecret {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// As it was set: anthropic, openai, git:HOST
        #[arg(long, value_parser = secret_name)]
        name: String,
    },
}

/// What a key may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(pub Vec<Scope>);

fn scopes(text: &str) -> Result<Scopes, String> {
    let valid = || Scope::ALL.map(Scope::as_str).join(", ");
    let mut scopes = Vec::new();
    for name in text.split(',').map(str::trim) {
        let scope = Scope::parse(name)
            .ok_or_else(|| format!("{name:?} is no scope; the scopes are {}", valid()))?;
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    Ok(Scopes(scopes))
}

fn key_id(text: &str) -> Result<KeyId, String> {
    // A whole key is no key id: it should not be on a command line at all.
    KeyId::parse(text).ok_or_else(|| {
        "must be the 12 letters and digits after org_live_; `awo admin list-keys` shows them"
            .to_owned()
    })
}

fn org_name(text: &str) -> Result<String, String> {
    let text = text.trim();
    let length = text.chars().count();
    if (1..=MAX_NAME).contains(&length) && !text.chars().any(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err(format!("must have 1 to {MAX_NAME} printable characters"))
    }
}

fn secret_name(text: &str) -> Result<String, String> {
    let plain = |part: &str, more: &str| {
        let fits =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || more.contains(char::from(b));
        part.as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphanumeric)
            && part.bytes().all(fits)
    };
    let good = match text.strip_prefix("git:") {
        Some(host) => match host.split_once(':') {
            Some((host, port)) => plain(host, ".-") && port.parse::<u16>().is_ok(),
            None => plain(host, ".-"),
        },
        None => plain(text, "-"),
    };
    if good && text.len() <= MAX_SECRET_NAME {
        Ok(text.to_owned())
    } else {
        Err(
            "must be a provider's name in lower case (anthropic, openai, …) or git:HOST[:PORT]"
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_strictly_and_the_valid_ones_are_told() {
        let read = scopes("runs:read, *,runs:read").unwrap();
        assert_eq!(read, Scopes(vec![Scope::RunsRead, Scope::All]));
        for bad in [
            "",
            "runs:read,",
            "RUNS:READ",
            "runs",
            "runs:read webhooks:read",
        ] {
            let why = scopes(bad).unwrap_err();
            assert!(why.contains("work-orders:write"), "{why}");
        }
    }

    #[test]
    fn secrets_have_plain_names() {
        for good in [
            "anthropic",
            "openai",
            "git:github.com",
            "git:git.example.com:8443",
        ] {
            assert!(secret_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "Anthropic",
            "git:",
            "git:a/b",
            "../x",
            "a b",
            "git:h:99999",
            "a/b",
        ] {
            assert!(secret_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_whole_key_is_not_taken_for_its_id() {
        assert!(key_id("abcdefABC123").is_ok());
        assert!(key_id("org_live_abcdefABC123").is_err());
    }
}

/// How a purchase or a refund came about; the ledger shows it.
#[derive(Debug, Clone, clap::Args)]
pub struct BookingArguments {
    /// Who adds it
    #[arg(long, value_name = "NAME", env = "USER", hide_env = true, value_parser = booking_text)]
    pub actor: Option<String>,
    /// Why, for people
    #[arg(long, value_name = "TEXT", value_parser = booking_text)]
    pub note: Option<String>,
    /// An invoice, an order, a ticket
    #[arg(long, value_name = "TEXT", value_parser = booking_text)]
    pub reference: Option<String>,
}

/// Longest text of a booking, in characters.
const MAX_BOOKING: usize = 256;

fn booking_text(text: &str) -> Result<String, String> {
    let is_plain = !text.chars().any(char::is_control);
    match (1..=MAX_BOOKING).contains(&text.chars().count()) && is_plain {
        true => Ok(text.to_owned()),
        false => Err(format!("must be 1 to {MAX_BOOKING} characters on one line")),
    }
}
