//! Patterns with `*` for any characters but a slash, and `**` for any characters.

use std::fmt;

/// A pattern of names with slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

/// A fault of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatternFault {
    /// Not of the form of a repository.
    #[error("must have the form host/owner/name, such as github.com/acme/*")]
    NoRepository,
}

impl Pattern {
    /// A pattern of branches or labels.
    #[must_use]
    pub fn of(text: &str) -> Pattern {
        Pattern(text.to_owned())
    }

    /// A pattern of repositories: a host without a `*`, and at least two names. Upper case is as lower case.
    ///
    /// # Errors
    /// [`PatternFault`]
    pub fn of_repository(text: &str) -> Result<Pattern, PatternFault> {
        let parts: Vec<&str> = text.split('/').collect();
        let is_named = parts.iter().all(|part| !part.is_empty());
        let is_plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
        let has_path = parts.len() >= 3 || (parts.len() == 2 && parts[1] == "**");
        if is_named && is_plain && has_path && !parts[0].contains('*') {
            Ok(Pattern(text.to_ascii_lowercase()))
        } else {
            Err(PatternFault::NoRepository)
        }
    }

    /// True if a name is as the pattern says. The time is at most the product of both lengths.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        // Whether the pattern so far matches the name up to each place.
        let mut reached = vec![false; name.len() + 1];
        reached[0] = true;
        let mut pattern = self.0.chars().peekable();
        while let Some(sign) = pattern.next() {
            if sign != '*' {
                for end in (0..name.len()).rev() {
                    reached[end + 1] = reached[end] && name[end] == sign;
                }
                reached[0] = false;
                continue;
            }
            let mut crosses = false;
            while pattern.next_if_eq(&'*').is_some() {
                crosses = true;
            }
            for end in 0..name.len() {
                let goes_on = crosses || name[end] != '/';
                reached[end + 1] |= reached[end] && goes_on;
            }
        }
        reached[name.len()]
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stops_at_a_slash_and_two_do_not() {
        for (pattern, name, is_match) in [
            ("github.com/acme/*", "github.com/acme/app", true),
            ("github.com/acme/*", "github.com/acme/app/sub", false),
            ("github.com/**", "github.com/acme/app/sub", true),
            ("github.com/*/app", "github.com/acme/app", true),
            ("github.com/acme/a*p", "github.com/acme/ap", true),
            ("github.com/acme/a*p", "github.com/acme/apx", false),
            ("main", "main", true),
            ("main", "main2", false),
            ("release/*", "release/1", true),
            ("*", "release/1", false),
            ("*", "", true),
            ("", "a", false),
        ] {
            assert_eq!(
                Pattern::of(pattern).matches(name),
                is_match,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn a_pattern_of_repositories_names_its_host() {
        for good in [
            "github.com/acme/app",
            "github.com/**",
            "GitLab.com/a/b/*",
            "h:8443/*/*",
        ] {
            assert!(Pattern::of_repository(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "*",
            "acme/app",
            "*/acme/app",
            "https://h/a/b",
            "h//b",
            "h/a/ b",
            "h/a/",
        ] {
            assert!(Pattern::of_repository(bad).is_err(), "{bad}");
        }
        let upper = Pattern::of_repository("GitHub.com/Acme/*").unwrap();
        assert!(upper.matches("github.com/acme/app"));
    }

    #[test]
    fn a_hostile_pattern_costs_the_product_of_both_lengths() {
        let pattern = Pattern::of(&"*a".repeat(129));
        assert!(!pattern.matches(&"a".repeat(255).replace("aa", "ab")));
    }
}
