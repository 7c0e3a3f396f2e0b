//! Headers that the owner of a webhook adds to its requests, such as the credential that a collector asks for.
//! Their values are secrets: they are written once, stored, sent, and never shown.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Headers of a webhook, at most.
pub const MAX_HEADERS: usize = 10;
/// Longest name, in bytes.
pub const MAX_NAME: usize = 64;
/// Longest value, in bytes.
pub const MAX_VALUE: usize = 4_096;

/// Names that the service writes itself, or that steer the connection.
const RESERVED: [&str; 13] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "x-service-signature",
];
const RESERVED_STARTS: [&str; 3] = ["webhook-", "proxy-", "x-service-signature-"];

/// Headers by their names in lower case.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretHeaders(BTreeMap<String, String>);

impl fmt::Debug for SecretHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// A header that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// The name is none, or is longer than [`MAX_NAME`].
    #[error("is not the name of a header: letters, digits and hyphens, at most 64")]
    Name,
    /// The service writes this header itself.
    #[error("is a header that the service writes itself")]
    Reserved,
    /// Two names differ in case alone.
    #[error("is there twice, since case does not matter in names of headers")]
    Twice,
    /// The value is empty, longer than [`MAX_VALUE`], or has other characters than visible ASCII and inner spaces.
    #[error("must have 1 to 4096 visible ASCII characters; spaces are allowed between them")]
    Value,
}

impl SecretHeaders {
    /// Adds a header.
    ///
    /// # Errors
    /// A [`HeaderFault`]; then nothing is added.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), HeaderFault> {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_of_name) {
            return Err(HeaderFault::Name);
        }
        let name = name.to_ascii_lowercase();
        let is_reserved = RESERVED.contains(&name.as_str())
            || RESERVED_STARTS.iter().any(|start| name.starts_with(start));
        if is_reserved {
            return Err(HeaderFault::Reserved);
        }
        let is_of_value = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        let is_trimmed = value.trim_matches(' ').len() == value.len();
        if value.is_empty() || value.len() > MAX_VALUE || !is_trimmed {
            return Err(HeaderFault::Value);
        }
        if !value.bytes().all(is_of_value) {
            return Err(HeaderFault::Value);
        }
        match self.0.insert(name, value.to_owned()) {
            None => Ok(()),
            Some(_) => Err(HeaderFault::Twice),
        }
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Names and values, to be sent.
    pub fn reveal(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_the_service_writes_or_that_cannot_be_sent_is_refused() {
        let mut headers = SecretHeaders::default();
        headers.add("Authorization", "Bearer a b").unwrap();
        headers.add("x-honeycomb-team", "k").unwrap();
        for (name, value, fault) in [
            ("", "v", HeaderFault::Name),
            ("a b", "v", HeaderFault::Name),
            ("ä", "v", HeaderFault::Name),
            ("Host", "v", HeaderFault::Reserved),
            ("content-Length", "v", HeaderFault::Reserved),
            ("Webhook-Id", "v", HeaderFault::Reserved),
            ("X-Service-Signature-Previous", "v", HeaderFault::Reserved),
            ("x-a", "", HeaderFault::Value),
            ("x-a", " v", HeaderFault::Value),
            ("x-a", "a\r\nb: c", HeaderFault::Value),
            ("x-a", "ä", HeaderFault::Value),
            ("AUTHORIZATION", "v", HeaderFault::Twice),
        ] {
            assert_eq!(headers.clone().add(name, value), Err(fault), "{name}");
        }
        let long = "n".repeat(MAX_NAME + 1);
        assert_eq!(headers.add(&long, "v"), Err(HeaderFault::Name));
        let names: Vec<&str> = headers.names().collect();
        assert_eq!(names, ["authorization", "x-honeycomb-team"]);
    }

    #[test]
    fn values_stand_in_no_log() {
        let mut headers = SecretHeaders::default();
        headers.add("authorization", "Bearer hidden").unwrap();
        assert_eq!(format!("{headers:?}"), r#"{"authorization"}"#);
    }
}
