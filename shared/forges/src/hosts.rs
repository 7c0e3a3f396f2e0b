//! Where git hosts and the APIs of forges are, from the environment.

use std::path::{Path, PathBuf};

use url::Url;

/// The environment's word on git hosts and on the APIs of forges.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    /// By the variable that names each.
    apis: Vec<(&'static str, Url)>,
    /// True if one of them is called by plain HTTP: only on loopback.
    plain_http: bool,
    ca_file: Option<PathBuf>,
}

impl Hosts {
    /// Reads the environment: `apis` are the variables that name the APIs of forges. `is_loopback` says of
    /// a URL that it does not leave this machine.
    ///
    /// # Errors
    /// A sentence that names the variable.
    pub fn from_env(
        apis: &[&'static str],
        text: impl Fn(&str) -> Option<String>,
        is_loopback: impl Fn(&Url) -> bool,
    ) -> Result<Hosts, String> {
        const CA: &str = "AWO_GIT_CA_FILE";
        let mut hosts = Hosts::default();
        for &variable in apis {
            let Some(given) = text(variable) else {
                continue;
            };
            let url =
                Url::parse(&given).map_err(|why| format!("{variable} is not a URL: {why}"))?;
            match url.scheme() {
                "https" => {}
                "http" if is_loopback(&url) => hosts.plain_http = true,
                _ => {
                    return Err(format!(
                        "{variable} must be https:// (http:// on loopback only)"
                    ));
                }
            }
            hosts.apis.push((variable, url));
        }
        if let Some(given) = text(CA) {
            let file = PathBuf::from(given);
            if !file.is_absolute() {
                return Err(format!("{CA} must be an absolute path"));
            }
            hosts.ca_file = Some(file);
        }
        Ok(hosts)
    }

    /// The API that a variable names, if it names one.
    pub fn api(&self, variable: &str) -> Option<&Url> {
        let mut apis = self.apis.iter();
        apis.find(|(name, _)| *name == variable).map(|(_, url)| url)
    }

    /// True if an API may be spoken to in plain HTTP.
    pub fn plain_http(&self) -> bool {
        self.plain_http
    }

    /// The only authorities that git hosts are believed, if not the system's.
    pub fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_is_spoken_to_by_https_or_does_not_leave_the_machine() {
        let named = |api: &str| {
            let text = |name: &str| (name == "AN_API").then(|| api.to_owned());
            Hosts::from_env(&["AN_API"], text, |url| url.host_str() == Some("127.0.0.1"))
        };
        assert!(named("http://127.0.0.1:1/").unwrap().plain_http());
        for bad in ["http://api.example", "ftp://127.0.0.1", "nonsense"] {
            assert!(named(bad).unwrap_err().contains("AN_API"));
        }
        let text = |name: &str| (name == "AWO_GIT_CA_FILE").then(|| "ca.pem".to_owned());
        let why = Hosts::from_env(&[], text, |_| false).unwrap_err();
        assert!(why.contains("absolute"), "{why}");
    }
}
