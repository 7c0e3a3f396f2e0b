//! Parsers of typed values: each error explains the expected form.

use awo_domain::money::MicroCredits;
use awo_domain::{DeliveryId, OrgId, RunId, VerificationId, WebhookId};

/// Longest wait from a kill's SIGTERM to its SIGKILL, in milliseconds.
const MAX_GRACE_MS: u64 = 30_000;

/// Credits, more than none.
pub type Credits = MicroCredits;

/// An argument vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argv(pub Vec<String>);

/// Reads a run's id.
pub fn run_id(text: &str) -> Result<RunId, String> {
    RunId::parse(text).map_err(|e| e.to_string())
}

/// Reads a manual verification's id.
pub fn verification_id(text: &str) -> Result<VerificationId, String> {
    VerificationId::parse(text).map_err(|e| e.to_string())
}

/// Reads a webhook's id.
pub fn webhook_id(text: &str) -> Result<WebhookId, String> {
    WebhookId::parse(text).map_err(|e| e.to_string())
}

/// Reads a delivery's id.
pub fn delivery_id(text: &str) -> Result<DeliveryId, String> {
    DeliveryId::parse(text).map_err(|e| e.to_string())
}

/// Reads an organization's id.
pub fn org_id(text: &str) -> Result<OrgId, String> {
    OrgId::parse(text).map_err(|e| e.to_string())
}

/// Reads an amount of credits, more than none.
pub fn credits(text: &str) -> Result<Credits, String> {
    match credits_or_none(text)? {
        MicroCredits::ZERO => Err("must be more than 0".to_owned()),
        credits => Ok(credits),
    }
}

/// Reads an amount of credits, which may be 0.
pub fn credits_or_none(text: &str) -> Result<Credits, String> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = match text.parse() {
        Ok(number) if plain => number,
        _ => return Err("must be a number such as 100 or 0.25".to_owned()),
    };
    MicroCredits::from_decimal(number)
}

/// Reads a time such as `1h30m` into milliseconds, more than none.
pub fn duration_ms(text: &str) -> Result<u64, String> {
    match time_ms(text)? {
        0 => Err("must be more than 0".to_owned()),
        ms => Ok(ms),
    }
}

/// Longest life of a key, in days: ten years.
const MAX_LIFE_DAYS: u64 = 3_650;

/// Reads a time that may be of days, such as `90d`, into milliseconds, more than none.
pub fn lifetime_ms(text: &str) -> Result<u64, String> {
    let days = text.strip_suffix('d').map(str::parse::<u64>);
    let ms = match days {
        Some(Ok(days @ 1..=MAX_LIFE_DAYS)) => days * 86_400_000,
        Some(_) => return Err(format!("must be 1 to {MAX_LIFE_DAYS} days, such as 90d")),
        None => duration_ms(text)?,
    };
    if ms <= MAX_LIFE_DAYS * 86_400_000 {
        Ok(ms)
    } else {
        Err(format!("must be at most {MAX_LIFE_DAYS}d"))
    }
}

/// Reads the grace of a kill into milliseconds.
pub fn grace_ms(text: &str) -> Result<u64, String> {
    let ms = time_ms(text)?;
    if ms > MAX_GRACE_MS {
        return Err("must be at most 30s".to_owned());
    }
    Ok(ms)
}

fn time_ms(text: &str) -> Result<u64, String> {
    let refused =
        || "must be a time with units (h, m, s, ms), such as 90s, 10m or 1h30m".to_owned();
    let (mut rest, mut total) = (text, 0u64);
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.len()
            - tail
                .trim_start_matches(|c: char| c.is_ascii_alphabetic())
                .len();
        let (unit, tail) = tail.split_at(letters);
        let unit_ms = match unit {
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1_000,
            "ms" => 1,
            _ => return Err(refused()),
        };
        let number: u64 = number.parse().map_err(|_| refused())?;
        let part = number.checked_mul(unit_ms).ok_or_else(refused)?;
        total = total.checked_add(part).ok_or_else(refused)?;
        rest = tail;
    }
    if text.is_empty() {
        return Err(refused());
    }
    Ok(total)
}

/// Reads `key=value`.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("must be KEY=VALUE".to_owned()),
    }
}

/// Reads an argument vector from JSON.
pub fn argv(text: &str) -> Result<Argv, String> {
    match serde_json::from_str::<Vec<String>>(text) {
        Ok(argv) if argv.first().is_some_and(|program| !program.is_empty()) => Ok(Argv(argv)),
        _ => Err(r#"must be a JSON array of strings, such as ["sh","-c","make fix"]"#.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_sums_of_numbers_with_units() {
        for (text, ms) in [
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("90s", 90_000),
            ("5ms", 5),
        ] {
            assert_eq!(duration_ms(text), Ok(ms), "{text}");
        }
        for bad in [
            "",
            "10",
            "m",
            "0s",
            "-1m",
            "1.5h",
            "1d",
            "1m 2s",
            "99999999999999999999h",
        ] {
            assert!(duration_ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_life_of_a_key_may_be_of_days() {
        for (text, ms) in [("1d", 86_400_000), ("12h", 43_200_000)] {
            assert_eq!(lifetime_ms(text), Ok(ms), "{text}");
        }
        for bad in ["0d", "d", "-1d", "3651d", "1d2h", "99999h", "0s"] {
            assert!(lifetime_ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_grace_of_a_kill_may_be_none() {
        for (text, ms) in [("0s", 0), ("250ms", 250), ("30s", 30_000)] {
            assert_eq!(grace_ms(text), Ok(ms), "{text}");
        }
        for bad in ["", "5", "30001ms", "-1s"] {
            assert!(grace_ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn credits_are_positive_decimals_with_six_places() {
        assert_eq!(credits("0.25").unwrap().micro(), 250_000);
        assert_eq!(credits("100").unwrap(), MicroCredits::from_credits(100));
        for bad in [
            "",
            ".",
            "0",
            "-1",
            "1e3",
            "0.0000001",
            "nan",
            "inf",
            "2000000000",
            "1,5",
        ] {
            assert!(credits(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn pairs_and_argument_vectors() {
        assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(pair("a").is_err() && pair("=b").is_err());
        assert_eq!(
            argv(r#"["a","b c"]"#),
            Ok(Argv(vec!["a".to_owned(), "b c".to_owned()]))
        );
        for bad in ["[]", "[\"\"]", "[1]", "a b", "{}"] {
            assert!(argv(bad).is_err(), "{bad}");
        }
    }
}
