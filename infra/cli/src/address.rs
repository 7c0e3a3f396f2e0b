//! The service's address and its key.
//!
//! A key is sent over https only, or over loopback, and only to its own service, never to another
//! address that was given beside it.

use std::path::{Path, PathBuf};

use awo_cloud::Environment;
use awo_cloud::personal::{self, LocalRecord};
use reqwest::Url;
use serde::Deserialize;

use crate::arguments::Connection;
use crate::contexts::store::{Contexts, LOCAL};
use crate::failure::Failure;

/// The default data directory of a checkout's local service.
const DEFAULT_DATA_DIR: &str = ".local";
/// The local service's record of itself.
const SERVICE_FILE: &str = "service.json";
/// Longest key file; what is longer is no key.
const MAX_KEY_FILE: u64 = 4_096;

/// A service and the key to it.
#[derive(Debug)]
pub struct Address {
    /// Its base URL.
    pub url: Url,
    /// The key.
    pub api_key: String,
    /// The context that it is, if it is one.
    pub context: Option<String>,
    /// What on this machine led here, for people.
    pub why: String,
}

/// The local service's record of itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Local {
    base_url: String,
    api_key: String,
}

/// An address before it is checked.
struct Candidate {
    url: String,
    api_key: Option<String>,
    context: Option<String>,
    why: String,
}

/// Finds service and key.
pub fn resolve(connection: &Connection, environment: &Environment) -> Result<Address, Failure> {
    let key = match &connection.api_key_file {
        Some(path) => Some(key_file(path)?),
        None => environment.get("AWO_API_KEY"),
    };
    let found = find(connection, environment)?;
    let Some(api_key) = key.or(found.api_key) else {
        return Err(Failure::Usage(format!(
            "no API key for {url}: set AWO_API_KEY, use --api-key-file, or store a key with `awo login \
             {url}`",
            url = found.url
        )));
    };
    Ok(Address {
        api_key: printable(&api_key)?,
        url: checked(&found.url)?,
        context: found.context,
        why: found.why,
    })
}

/// The nearest of what names a service: the command line, the environment, the context in use, the
/// local service.
fn find(connection: &Connection, environment: &Environment) -> Result<Candidate, Failure> {
    let bare = |url: String, why: &str| Candidate {
        url,
        api_key: None,
        context: None,
        why: why.to_owned(),
    };
    if let Some(url) = &connection.url {
        return Ok(bare(url.clone(), "--url"));
    }
    if let Some(name) = &connection.context {
        return context(name, "--context", connection, environment);
    }
    if connection.data_dir.is_some() {
        return local("--data-dir", connection, environment);
    }
    if let Some(url) = environment.get("AWO_URL") {
        return Ok(bare(url, "AWO_URL"));
    }
    if let Some(name) = environment.get("AWO_CONTEXT") {
        return context(&name, "AWO_CONTEXT", connection, environment);
    }
    if environment.get("AWO_DATA_DIR").is_some() {
        return local("AWO_DATA_DIR", connection, environment);
    }
    match Contexts::read(environment)?.current {
        Some(name) => context(&name, "the current context", connection, environment),
        None => local("the local service", connection, environment),
    }
}

fn context(
    name: &str,
    why: &str,
    connection: &Connection,
    environment: &Environment,
) -> Result<Candidate, Failure> {
    if name == LOCAL {
        return local(why, connection, environment);
    }
    let contexts = Contexts::read(environment)?;
    let stored = contexts.named(name)?;
    Ok(Candidate {
        url: stored.url.clone(),
        api_key: Some(stored.api_key.clone()),
        context: Some(name.to_owned()),
        why: why.to_owned(),
    })
}

/// The data directory of the local service: the one that is named, that of the checkout one is in,
/// or that of the service which started last.
pub fn data_dir(connection: &Connection, environment: &Environment) -> PathBuf {
    let named = connection.data_dir.clone();
    let named = named.or_else(|| environment.get("AWO_DATA_DIR").map(PathBuf::from));
    let here = PathBuf::from(DEFAULT_DATA_DIR);
    let recorded = || Some(LocalRecord::read(&personal::config_dir(environment)?)?.data_dir);
    match named {
        Some(named) => named,
        None if here.join(SERVICE_FILE).exists() => here,
        None => recorded().unwrap_or(here),
    }
}

/// What to do when there is no local service.
pub fn start_advice(data_dir: &Path) -> String {
    format!(
        "start the local service with `make run` (its data directory: {}), use another data \
         directory with --data-dir, or store a service's address and key with `awo login URL`",
        data_dir.display()
    )
}

fn local(
    why: &str,
    connection: &Connection,
    environment: &Environment,
) -> Result<Candidate, Failure> {
    let data_dir = data_dir(connection, environment);
    let path = data_dir.join(SERVICE_FILE);
    let text = std::fs::read(&path).map_err(|error| Failure::Unreachable {
        what: "the local service".to_owned(),
        why: match error.kind() {
            std::io::ErrorKind::NotFound => {
                "no local service has started in this data directory".to_owned()
            }
            _ => format!("{}: {error}", path.display()),
        },
        advice: start_advice(&data_dir),
    })?;
    let read: Local = serde_json::from_slice(&text)
        .map_err(|error| Failure::Broken(format!("{} cannot be read: {error}", path.display())))?;
    // A folder may be from anywhere: only an address of this machine is accepted from it.
    if !checked(&read.base_url).is_ok_and(|url| is_loopback(&url)) {
        let why = format!("{} does not contain a loopback address", path.display());
        return Err(Failure::Broken(why));
    }
    Ok(Candidate {
        url: read.base_url,
        api_key: Some(read.api_key),
        context: Some(LOCAL.to_owned()),
        why: format!("{why} ({})", data_dir.display()),
    })
}

/// A key that fits into a header.
pub fn printable(api_key: &str) -> Result<String, Failure> {
    if !api_key.is_empty() && api_key.bytes().all(|b| b.is_ascii_graphic()) {
        Ok(api_key.to_owned())
    } else {
        Err(Failure::Usage(
            "the API key must be visible ASCII characters without spaces".to_owned(),
        ))
    }
}

/// Reads a file that holds a key.
pub fn key_file(path: &Path) -> Result<String, Failure> {
    let refused = |why: String| Failure::Usage(format!("--api-key-file {}: {why}", path.display()));
    let length = std::fs::metadata(path)
        .map_err(|e| refused(e.to_string()))?
        .len();
    if length > MAX_KEY_FILE {
        return Err(refused(format!("has {length} bytes and is not an API key")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| refused(e.to_string()))?;
    Ok(text.trim().to_owned())
}

/// A base URL that a key may be sent to.
pub fn checked(text: &str) -> Result<Url, Failure> {
    let refused = |why: &str| Failure::Usage(format!("the address {text} {why}"));
    let url = Url::parse(text).map_err(|e| refused(&format!("is not a URL: {e}")))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refused("has no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("must not contain a user name or password"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(refused(
            "must use https: http would send the key unencrypted and is allowed only for loopback",
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
            context: None,
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
    fn without_a_local_service_the_error_names_the_command_that_starts_one() {
        let dir = tempfile::tempdir().unwrap();
        let missing = resolve(&connection(None, Some(dir.path())), &environment(&[]));
        let Err(Failure::Unreachable { advice, .. }) = missing else {
            panic!("found a service");
        };
        assert!(advice.contains("make run"), "{advice}");
    }
}
