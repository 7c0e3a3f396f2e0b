//! Parsers of an operator's arguments.

use awo_domain::api_key::{KeyId, Scope};
use awo_domain::control::Provider;
use awo_domain::environment::{self, parse_secret_name};
use awo_domain::{RunId, VerificationId};
use awo_store::ledger::refunds::ChargedWork;

use crate::quantity;

/// Longest name of an organization or a key.
const MAX_NAME: usize = 128;
/// Longest name of a secret, a git host's included.
const MAX_SECRET_NAME: usize = 200;

/// The scopes of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(pub Vec<Scope>);

/// Reads scopes.
fn scopes(text: &str) -> Result<Scopes, String> {
    let valid = || Scope::ALL.map(Scope::as_str).join(", ");
    let mut scopes = Vec::new();
    for name in text.split(',').map(str::trim) {
        let scope = Scope::parse(name)
            .ok_or_else(|| format!("{name:?} is not a scope; the scopes are {}", valid()))?;
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    Ok(Scopes(scopes))
}

/// Reads the id of a key.
pub fn key_id(text: &str) -> Result<KeyId, String> {
    // A whole key is no key id: it should not be on a command line at all.
    KeyId::parse(text).ok_or_else(|| {
        "must be the 12 letters and digits after org_live_; `awo admin list-keys` shows them"
            .to_owned()
    })
}

/// Reads a name for people.
pub fn org_name(text: &str) -> Result<String, String> {
    let text = text.trim();
    let length = text.chars().count();
    if (1..=MAX_NAME).contains(&length) && !text.chars().any(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err(format!("must have 1 to {MAX_NAME} printable characters"))
    }
}

/// Reads the name of a secret that something reads.
pub fn secret_name(text: &str) -> Result<String, String> {
    let plain = |part: &str, more: &str| {
        let fits =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || more.contains(char::from(b));
        part.as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphanumeric)
            && part.bytes().all(fits)
    };
    if let Some((environment, name)) = parse_secret_name(text)? {
        return Ok(environment::secret_name(&environment, name.as_str()));
    }
    let good = match text.strip_prefix("git:") {
        Some(host) => match host.split_once(':') {
            Some((host, port)) => plain(host, ".-") && port.parse::<u16>().is_ok(),
            None => plain(host, ".-"),
        },
        None => Provider::KEYED.iter().any(|known| known.as_str() == text),
    };
    if good && text.len() <= MAX_SECRET_NAME {
        return Ok(text.to_owned());
    }
    let known = Provider::KEYED.map(Provider::as_str).join(", ");
    Err(format!(
        "is not a known secret name: it must be {known}, git:HOST[:PORT] or env:ENVIRONMENT:NAME"
    ))
}

/// The scopes and the lifetime of a new key.
#[derive(Debug, Clone, clap::Args)]
pub struct KeyArguments {
    /// Scopes of the key, separated by commas; * for all
    #[arg(long, value_name = "NAMES", value_parser = scopes)]
    pub scopes: Scopes,
    /// Maximum requests per minute [default: set by the deployment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub requests_per_minute: Option<u32>,
    /// Name of the key, such as the person or program that uses it
    #[arg(long, value_parser = org_name)]
    pub name: Option<String>,
    /// Lifetime of the key, such as 90d or 12h [default: unlimited]
    #[arg(long, value_name = "TIME", value_parser = quantity::lifetime_ms)]
    pub expires_in: Option<u64>,
}

/// The charge that a refund is of.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub struct ChargeArguments {
    /// Run: run_…
    #[arg(long, value_name = "ID", value_parser = quantity::run_id)]
    pub run: Option<RunId>,
    /// Manual verification: ver_…, the `verificationId` of its deduction
    #[arg(long, value_name = "ID", value_parser = quantity::verification_id)]
    pub verification: Option<VerificationId>,
}

impl ChargeArguments {
    /// The work that was charged.
    pub fn work(&self) -> Option<ChargedWork> {
        let verification = self.verification.clone().map(ChargedWork::Verification);
        self.run.clone().map(ChargedWork::Run).or(verification)
    }
}

/// How a purchase or a refund came about; the ledger shows it.
#[derive(Debug, Clone, clap::Args)]
pub struct BookingArguments {
    /// Person or program that adds the entry
    #[arg(long, value_name = "NAME", env = "USER", hide_env = true, value_parser = booking_text)]
    pub actor: Option<String>,
    /// Note for people, such as the reason
    #[arg(long, value_name = "TEXT", value_parser = booking_text)]
    pub note: Option<String>,
    /// Reference, such as an invoice, order or ticket number
    #[arg(long, value_name = "TEXT", value_parser = booking_text)]
    pub reference: Option<String>,
}

/// Longest text of a booking, in characters.
const MAX_BOOKING: usize = 256;

fn booking_text(text: &str) -> Result<String, String> {
    let is_plain = !text.chars().any(char::is_control);
    if (1..=MAX_BOOKING).contains(&text.chars().count()) && is_plain {
        Ok(text.to_owned())
    } else {
        Err(format!("must be 1 to {MAX_BOOKING} characters on one line"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_strictly_and_an_error_lists_the_valid_ones() {
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
            "env:node-20:NPM_TOKEN",
        ] {
            assert!(secret_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "Anthropic",
            "githubcom",
            "git:",
            "git:a/b",
            "env:node",
            "env:a b:TOKEN",
            "env:node:LD_PRELOAD",
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
