//! The hosts that the commands of a run may reach: named one by one, or with all below them.

use std::net::IpAddr;

use url::Host;

use super::faults::fault;
use super::{Deployment, EnvironmentContent};
use crate::Fault;
use crate::webhook::address::special;

/// What stands before a name that is meant with all names below it.
const BELOW: &str = "*.";
/// The special ranges in which hosts may be: a deployer's own networks, and the task itself. All others
/// are refused, link-local addresses before all: there a task's credentials are served.
const ALLOWED_PURPOSES: [&str; 4] = [
    "private use",
    "unique local",
    "loopback",
    "shared by a carrier",
];
/// Where EC2 serves the credentials of an instance in IPv6, within a range of local networks.
const INSTANCE_METADATA: &str = "fd00:ec2::254";

/// Checks the name of a host: one of DNS in lower case, or `*.` and one. An address is none.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn check_host(text: &str) -> Result<String, String> {
    let name = text.strip_prefix(BELOW).unwrap_or(text);
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    match Host::parse(name) {
        Ok(Host::Domain(known)) if known == name && name.bytes().all(is_letter) => {
            Ok(text.to_owned())
        }
        _ => Err("must be the name of a host, or *. and one".to_owned()),
    }
}

/// The hosts that an environment names; none where every host may be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressHosts(Vec<String>);

impl EgressHosts {
    /// Those of an environment's `egress`; nothing if it has none, since then it limits nothing.
    #[must_use]
    pub fn of(egress: &[String]) -> Option<EgressHosts> {
        (!egress.is_empty()).then(|| EgressHosts(egress.to_vec()))
    }

    /// True if a host is among them, however it is written.
    #[must_use]
    pub fn has(&self, host: &str) -> bool {
        let Ok(Host::Domain(host)) = Host::parse(host) else {
            return false;
        };
        let host = host.trim_end_matches('.');
        self.0.iter().any(|named| match named.strip_prefix(BELOW) {
            Some(above) => host
                .strip_suffix(above)
                .and_then(|below| below.strip_suffix('.'))
                .is_some_and(|below| !below.is_empty()),
            None => host == named.trim_end_matches('.'),
        })
    }

    /// True if a host may have this address. It must be asked for the very address that a connection
    /// then goes to.
    #[must_use]
    pub fn admit(address: IpAddr) -> bool {
        let is_metadata = address.to_string() == INSTANCE_METADATA;
        let purpose = special(address).map(|special| special.purpose);
        !is_metadata && purpose.is_none_or(|purpose| ALLOWED_PURPOSES.contains(&purpose))
    }
}

impl EnvironmentContent {
    /// What keeps a deployment from limiting what its commands reach.
    pub(super) fn wrong_egress(&self, deployment: &Deployment) -> Option<Fault> {
        if self.egress.is_empty() {
            return None;
        }
        if deployment.no_egress {
            let message = "cannot be enforced by this machine, which would let every host through: it \
                           needs Linux 5.13 or later with seccomp and Landlock; leave it out";
            return Some(fault("/egress", message));
        }
        let message = "cannot be enforced beside services: these reach every host, and a command can \
                       have a service, such as a database, do it; leave out one of the two";
        (!self.services.is_empty()).then(|| fault("/egress", message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &[&str]) -> EgressHosts {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        EgressHosts::of(&names).unwrap()
    }

    #[test]
    fn a_host_is_named_itself_or_by_the_name_above_it() {
        let hosts = hosts(&["api.example.com", "*.example.org"]);
        for named in [
            "api.example.com",
            "API.Example.COM",
            "api.example.com.",
            "a.example.org",
            "a.b.example.org",
        ] {
            assert!(hosts.has(named), "{named}");
        }
        for other in [
            "example.com",
            "x.api.example.com",
            "api.example.com.evil.test",
            "evilexample.org",
            "example.org",
            ".example.org",
            "127.0.0.1",
            "[::1]",
            "api.example.com:443",
            "api.example.com@evil.test",
            "",
        ] {
            assert!(!hosts.has(other), "{other}");
        }
    }

    #[test]
    fn without_names_nothing_is_limited() {
        assert_eq!(EgressHosts::of(&[]), None);
    }

    #[test]
    fn a_host_may_be_in_a_local_network_and_not_where_credentials_are_served() {
        for good in [
            "93.184.216.34",
            "10.0.0.1",
            "127.0.0.1",
            "2606:2800::1",
            "fd12::1",
        ] {
            assert!(EgressHosts::admit(good.parse().unwrap()), "{good}");
        }
        for bad in [
            "169.254.169.254",
            "169.254.170.2",
            "fd00:ec2::254",
            "::ffff:169.254.170.2",
            "fe80::1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!EgressHosts::admit(bad.parse().unwrap()), "{bad}");
        }
    }
}
