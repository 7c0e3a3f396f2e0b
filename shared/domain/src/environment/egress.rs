//! The hosts that the commands of a run may reach: named one by one, or with all below them.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use url::Host;
use utoipa::ToSchema;

use super::faults::fault;
use super::{Deployment, EnvironmentContent, SecretPhase};
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
        Ok(Host::Domain(lower)) if lower == name.to_ascii_lowercase() && lower != name => Err(
            format!("must be in lower case: {}", text.to_ascii_lowercase()),
        ),
        _ => Err("must be the name of a host, or *. and one".to_owned()),
    }
}

/// Hosts that the commands of an environment may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Egress {
    /// In every phase; all hosts if there are none.
    All(Vec<String>),
    /// By phase.
    ByPhase(PhaseHosts),
}

/// Hosts by phase; all hosts in a phase that is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseHosts {
    /// For hooks, installations and the setup, before the agent and in each clean checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Vec<String>>,
    /// For the agent and the models that it calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Vec<String>>,
    /// For the commands of a verification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Vec<String>>,
}

impl Default for Egress {
    fn default() -> Egress {
        Egress::All(Vec::new())
    }
}

impl Egress {
    /// The hosts of a phase; none if every host may be reached.
    #[must_use]
    pub fn hosts_in(&self, phase: SecretPhase) -> Option<EgressHosts> {
        let hosts = match self {
            Egress::All(hosts) => Some(hosts),
            Egress::ByPhase(by_phase) => match phase {
                SecretPhase::Setup => by_phase.setup.as_ref(),
                SecretPhase::Agent => by_phase.agent.as_ref(),
                SecretPhase::Verify => by_phase.verify.as_ref(),
            },
        };
        hosts.and_then(|hosts| EgressHosts::of(hosts))
    }

    /// True if no phase is limited.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let mut phases = SecretPhase::ALL.into_iter();
        phases.all(|phase| self.hosts_in(phase).is_none())
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
        let purpose = special(address).map(|special| special.purpose);
        purpose.is_none_or(|purpose| ALLOWED_PURPOSES.contains(&purpose))
    }
}

impl EnvironmentContent {
    /// What keeps a deployment from limiting what its commands reach.
    pub(super) fn wrong_egress(&self, deployment: &Deployment) -> Option<Fault> {
        if self.egress.is_open() {
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
    fn a_host_in_capitals_is_refused_with_the_name_that_it_should_have() {
        let why = check_host("*.API.example.com").unwrap_err();
        assert_eq!(why, "must be in lower case: *.api.example.com");
        assert!(
            check_host("10.0.0.1")
                .unwrap_err()
                .contains("name of a host")
        );
    }

    #[test]
    fn without_names_nothing_is_limited() {
        assert_eq!(EgressHosts::of(&[]), None);
        assert!(Egress::default().is_open());
        assert!(Egress::ByPhase(PhaseHosts::default()).is_open());
    }

    #[test]
    fn a_list_stands_for_all_phases_and_a_phase_has_its_own() {
        use SecretPhase::{Agent, Setup, Verify};
        let read = |text: &str| serde_json::from_str::<Egress>(text).unwrap();
        let all = read(r#"["a.example"]"#);
        for phase in SecretPhase::ALL {
            assert!(all.hosts_in(phase).unwrap().has("a.example"));
        }
        let text = r#"{"setup":["s.example"],"agent":["localhost"]}"#;
        let by_phase = read(text);
        assert!(by_phase.hosts_in(Setup).unwrap().has("s.example"));
        assert!(!by_phase.hosts_in(Agent).unwrap().has("s.example"));
        assert_eq!(by_phase.hosts_in(Verify), None);
        assert!(!by_phase.is_open());
        assert_eq!(serde_json::to_string(&by_phase).unwrap(), text);
        assert!(serde_json::from_str::<Egress>(r#"{"build":[]}"#).is_err());
    }

    #[test]
    fn a_host_may_be_in_a_local_network_and_not_where_credentials_are_served() {
        for good in [
            "93.184.216.34",
            "10.0.0.1",
            "127.0.0.1",
            "2606:2800::1",
            "fd12::1",
            "100.64.0.1",
        ] {
            assert!(EgressHosts::admit(good.parse().unwrap()), "{good}");
        }
        for bad in [
            "169.254.169.254",
            "169.254.170.2",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "fd00:42::42",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
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
