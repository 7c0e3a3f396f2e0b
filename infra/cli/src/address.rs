//! Where the service is and which key opens it.
//!
//! The key goes over https only, or over loopback; and the local service's key goes to the local
//! service only, never to an address that was named.

use std::path::{Path, PathBuf};

use awo_cloud::Environment;
use reqwest::Url;
use serde::Deserialize;

use crate::arguments::Connection;
use crate::failure::Failure;

/// Where the local service keeps what it keeps, unless something else is said.
const DEFAULT_DATA_DIR: &str = ".local";
/// Longest key file; what is longer is no key.
const MAX_KEY_FILE: u64 = 4_096;

/// A service and the key to it.
pub struct Address {
    /// Its base URL.
    pub url: Url,
    /// The key.
    pub api_key: String,
}

/// What the local service writes about itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Local {
    base_url: String,
    api_key: String,
}

/// Finds service and key.
pub fn resolve(connection: &Connection, environment: &Environment) -> Result<Address, Failure> {
    let key = match &connection.api_key_file {
        Some(path) => Some(key_file(path)?),
        None => environment.get("AWO_API_KEY"),
    };
    let url = connection
        .url
        .clone()
        .or_else(|| environment.get("AWO_URL"));
    let (url, api_key) = match (url, key) {
        (Some(url), Some(key)) => (url, key),
        (Some(url), None) => {
            return Err(Failure::Usage(format!(
                "no API key for {url}: set AWO_API_KEY, or name a file with --api-key-file"
            )));
        }
        (None, key) => {
            let local = local(&data_dir(connection, environment))?;
            (local.base_url, key.unwrap_or(local.api_key))
        }
    };
    let printable = api_key.bytes().all(|b| b.is_ascii_graphic());
    if api_key.is_empty() || !printable {
        return Err(Failure::Usage(
            "the API key must be visible ASCII characters without spaces".to_owned(),
        ));
    }
    Ok(Address {
        url: checked(&url)?,
        api_key,
    })
}

/// The data directory of the local service.
pub fn data_dir(connection: &Connection, environment: &Environment) -> PathBuf {
    let named = connection.data_dir.clone();
    named
        .or_else(|| environment.get("AWO_DATA_DIR").map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from(DEFAULT_DATA_DIR))
}

/// What to do when there is no local service.
pub fn start_advice(data_dir: &Path) -> String {
    format!(
        "start the local service with `make run` (its data directory: {}), name another with \
         --data-dir, or name a service with --url",
        data_dir.display()
    )
}

fn local(data_dir: &Path) -> Result<Local, Failure> {
    let path = data_dir.join("service.json");
    let text = std::fs::read(&path).map_err(|error| Failure::Unreachable {
        what: "the local service".to_owned(),
        why: format!("{}: {error}", path.display()),
        advice: start_advice(data_dir),
    })?;
    serde_json::from_slice(&text)
        .map_err(|error| Failure::Broken(format!("{} does not read: {error}", path.display())))
}

fn key_file(path: &Path) -> Result<String, Failure> {
    let refused = |why: String| Failure::Usage(format!("--api-key-file {}: {why}", path.display()));
    let length = std::fs::metadata(path)
        .map_err(|e| refused(e.to_string()))?
        .len();
    if length > MAX_KEY_FILE {
        return Err(refused(format!("has {length} bytes and is no key")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| refused(e.to_string()))?;
    Ok(text.trim().to_owned())
}

/// A base URL that a key may be sent to.
fn checked(text: &str) -> Result<Url, Failure> {
    let refused = |why: &str| Failure::Usage(format!("the address {text} {why}"));
    let url = Url::parse(text).map_err(|e| refused(&format!("is not a URL: {e}")))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refused("names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("must not hold a user name or a password"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(refused(
            "is not https: the key would cross the network in the clear (http is for loopback only)",
        )),
        _ => Err(refused("must begin with https://")),
    }
}

/// True for addresses that never leave this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(url: Option<&str>, data_dir: Option<&Path>) -> Connection {
        Connection {
            url: url.map(str::to_owned),
            api_key_file: None,
            data_dir: data_dir.map(Path::to_owned),
        }
    }

    fn environment(pairs: &'static [(&str, &str)]) -> Environment {
        Environment::new(|name| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn http_is_for_loopback_only() {
        for good in [
            "https://api.example.com",
            "https://api.example.com/stage/",
            "http://127.0.0.1:8787",
            "http://127.9.9.9",
            "http://localhost:1",
            "http://[::1]:8787",
        ] {
            assert!(checked(good).is_ok(), "{good}");
        }
        for bad in [
            "http://api.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://0.0.0.0",
            "http://10.0.0.1",
            "https://user:pw@example.com",
            "ftp://example.com",
            "api.example.com",
            "",
        ] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_local_key_goes_to_the_local_service_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = r#"{"baseUrl":"http://127.0.0.1:1","apiKey":"local","orgId":"o","pid":1}"#;
        std::fs::write(dir.path().join("service.json"), file).unwrap();
        let found = resolve(&connection(None, Some(dir.path())), &environment(&[])).unwrap();
        assert_eq!(
            (found.url.port(), found.api_key.as_str()),
            (Some(1), "local")
        );
        let named = connection(Some("https://example.com"), Some(dir.path()));
        assert!(matches!(
            resolve(&named, &environment(&[])),
            Err(Failure::Usage(_))
        ));
        let with_key = environment(&[("AWO_API_KEY", "mine")]);
        assert_eq!(resolve(&named, &with_key).unwrap().api_key, "mine");
    }

    #[test]
    fn without_a_local_service_it_is_said_how_to_start_one() {
        let dir = tempfile::tempdir().unwrap();
        let missing = resolve(&connection(None, Some(dir.path())), &environment(&[]));
        let Err(Failure::Unreachable { advice, .. }) = missing else {
            panic!("found a service");
        };
        assert!(advice.contains("make run"), "{advice}");
    }
}
