//! Fields of the API's requests as command-line options, so that errors name the option.

use crate::arguments::FIELDS;

/// A field of a body or a header, and the option that it comes from. [`FIELDS`] has those of a create.
const OPTIONS: [(&str, &str); 6] = [
    ("/gracePeriodMs", "--grace"),
    ("/reason", "--reason"),
    ("/events", "--event"),
    ("/description", "--description"),
    ("/timeoutMs", "--timeout"),
    ("Idempotency-Key", "--idempotency-key"),
];

/// What messages of the service name, and what a person types instead.
const WORDS: [(&str, &str); 6] = [
    ("limits.maxDurationMs", "--max-duration"),
    ("limits.maxCredits", "--max-credits"),
    (
        "executionLimits.maxIterations",
        "the profile's executionLimits.maxIterations",
    ),
    (
        "GET /api/v1/profiles lists them",
        "`awo profiles list` shows them",
    ),
    (
        "GET /v1/environments lists those there are",
        "`awo environments list` shows those there are",
    ),
    (
        "GET /v1/templates lists them",
        "`awo templates list` shows them",
    ),
];

/// The option that a field comes from, with the key of a pair.
pub fn of(path: &str) -> Option<String> {
    FIELDS.iter().chain(&OPTIONS).find_map(|(field, option)| {
        let rest = path.strip_prefix(field)?;
        match rest.strip_prefix('/') {
            None if rest.is_empty() => Some((*option).to_owned()),
            Some(key) if matches!(*option, "--metadata" | "--var") => {
                let key = key.replace("~1", "/").replace("~0", "~");
                Some(format!("{option} {key}"))
            }
            Some(_) => Some((*option).to_owned()),
            None => None,
        }
    })
}

/// The unit of the numbers in a message about a field, where an option has another.
pub fn unit(path: &str, message: &str) -> &'static str {
    if path.ends_with("Ms") && message.ends_with(|c: char| c.is_ascii_digit()) {
        " milliseconds"
    } else {
        ""
    }
}

/// A message of the service in the words of the command line.
pub fn instead_of_fields(message: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in message.split(' ') {
        let bare = word.trim_end_matches([',', ';', ':', '.']);
        let tail = &word[bare.len()..];
        words.push(match of(bare).filter(|_| bare.starts_with('/')) {
            Some(option) => format!("{option}{tail}"),
            None => word.to_owned(),
        });
    }
    let mut text = words.join(" ");
    for (field, option) in WORDS {
        text = text.replace(field, option);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_speaks_of_options() {
        for (message, rewritten) in [
            (
                "/gracePeriodMs must be at most 30000",
                "--grace must be at most 30000",
            ),
            (
                "the run took too long: raise limits.maxDurationMs",
                "the run took too long: raise --max-duration",
            ),
            (
                "no profile x; GET /api/v1/profiles lists them",
                "no profile x; `awo profiles list` shows them",
            ),
            ("/srv/a is gone", "/srv/a is gone"),
        ] {
            assert_eq!(instead_of_fields(message), rewritten);
        }
        assert_eq!(of("/metadata/a~1b").as_deref(), Some("--metadata a/b"));
        assert_eq!(of("/agent/command/0").as_deref(), Some("--command"));
        assert_eq!(of("/reasons"), None);
    }
}
