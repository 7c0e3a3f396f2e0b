//! Servers outside the public network that an operator lets the product call: registries, APIs of forges, and git
//! hosts of submodules and LFS. Without an entry they obey the rule of webhooks, [`Reach`].

use std::net::IpAddr;

use ipnet::IpNet;
use url::{Host, Url};

use super::address::{METADATA, Reach, Special, special};
use super::target::judge_name;

/// Setting with the entries: names of hosts, and networks as CIDR, with commas between.
pub const PRIVATE_HOSTS: &str = "AWO_PRIVATE_HOSTS";

/// An entry of [`PRIVATE_HOSTS`] that is neither a host nor a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{entry:?} is neither the name of a host (registry.corp.example, or *.corp.example for all below it) nor an \
     address or network (10.1.0.0/16)"
)]
pub struct EntryError {
    entry: String,
}

/// The fault of a URL, or of an address that its host has, at which no credential may be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}: an operator lists the host or its network in {PRIVATE_HOSTS} to allow it")]
pub struct Forbidden {
    fault: String,
}

/// Servers that may be called: public ones, and those that the operator lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateHosts {
    reach: Reach,
    names: Vec<String>,
    networks: Vec<IpNet>,
}

impl PrivateHosts {
    /// Public servers, and within `reach` those of this machine.
    #[must_use]
    pub const fn none(reach: Reach) -> PrivateHosts {
        PrivateHosts {
            reach,
            names: Vec::new(),
            networks: Vec::new(),
        }
    }

    /// Reads the entries of [`PRIVATE_HOSTS`].
    ///
    /// # Errors
    /// The entry that is neither a host nor a network.
    pub fn parse(
        entries: impl IntoIterator<Item = String>,
        reach: Reach,
    ) -> Result<PrivateHosts, EntryError> {
        let mut hosts = PrivateHosts::none(reach);
        for entry in entries {
            let address = entry.parse::<IpAddr>().map(IpNet::from);
            if let Ok(network) = address.or_else(|_| entry.parse()) {
                hosts.networks.push(network);
            } else if is_name(&entry) {
                hosts.names.push(entry.to_ascii_lowercase());
            } else {
                return Err(EntryError { entry });
            }
        }
        Ok(hosts)
    }

    /// Judges the host of a URL before it is stored or called. The addresses of a name are judged at each connection,
    /// by [`PrivateHosts::admit`].
    ///
    /// # Errors
    /// A host that is not public and in no entry.
    pub fn judge(&self, url: &Url) -> Result<(), Forbidden> {
        let forbidden = |fault| Forbidden { fault };
        match url.host() {
            Some(Host::Ipv4(address)) => self.admit("", address.into()),
            Some(Host::Ipv6(address)) => self.admit("", address.into()),
            Some(Host::Domain(name)) if self.has_name(name) => Ok(()),
            Some(Host::Domain(name)) => judge_name(name, self.reach).map_err(forbidden),
            None => Err(forbidden("must have a host".to_owned())),
        }
    }

    /// Judges an address to which a connection is about to go: one of `name`, or one that stood in the URL itself,
    /// for which `name` is empty.
    ///
    /// # Errors
    /// A special address that no entry covers, and in any case one at which a cloud gives out credentials.
    pub fn admit(&self, name: &str, address: IpAddr) -> Result<(), Forbidden> {
        let Some(range) = special(address) else {
            return Ok(());
        };
        let is_listed =
            self.has_name(name) || self.networks.iter().any(|net| net.contains(&address));
        // A public name must not lead to this machine.
        let is_own = matches!(name.trim_end_matches('.'), "" | "localhost")
            && self.reach.admit(address).is_ok();
        if is_own || is_listed && !gives_credentials(address, range) {
            return Ok(());
        }
        let fault = format!("must lead to a public host, but {address} {range}");
        Err(Forbidden { fault })
    }

    fn has_name(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        self.names
            .iter()
            .any(|entry| match entry.strip_prefix("*.") {
                Some(parent) => name
                    .strip_suffix(parent)
                    .is_some_and(|below| below.len() > 1 && below.ends_with('.')),
                None => name == *entry,
            })
    }
}

/// True for an address at which a cloud answers its machines, whatever network it is a part of.
fn gives_credentials(address: IpAddr, range: Special) -> bool {
    let is_mapped = matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
    is_mapped
        || matches!(
            range.purpose,
            METADATA | "link-local" | "unspecified" | "multicast"
        )
}

fn is_name(entry: &str) -> bool {
    let name = entry.strip_prefix("*.").unwrap_or(entry);
    let is_label = |label: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(allowed)
    };
    // A last label of digits is that of an address, which is not written as one.
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253 && name.split('.').all(is_label) && !last.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(entries: &[&str], reach: Reach) -> PrivateHosts {
        let entries = entries.iter().map(|&entry| entry.to_owned());
        PrivateHosts::parse(entries, reach).unwrap()
    }

    fn takes(hosts: &PrivateHosts, url: &str) -> bool {
        hosts.judge(&Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn without_entries_only_public_hosts_are_called() {
        let hosts = listed(&[], Reach::Public);
        assert!(takes(&hosts, "https://npm.example.com/"));
        for url in [
            "https://10.1.2.3/",
            "https://0x0a010203/",
            "https://[fd00::1]/",
            "https://127.0.0.1/",
            "https://localhost/",
            "https://registry/",
            "https://npm.corp/",
            "https://169.254.169.254/",
        ] {
            assert!(!takes(&hosts, url), "{url}");
        }
        let why = hosts.admit("npm.example.com", "10.1.2.3".parse().unwrap());
        let why = why.unwrap_err().to_string();
        assert!(
            why.contains("10.1.2.3") && why.contains(PRIVATE_HOSTS),
            "{why}"
        );
    }

    #[test]
    fn a_listed_name_leads_to_private_addresses_and_no_other_name_does() {
        let hosts = listed(&["npm.corp", "*.Int.example"], Reach::Public);
        for url in [
            "https://npm.corp/",
            "https://NPM.corp./",
            "https://a.b.int.example/",
        ] {
            assert!(takes(&hosts, url), "{url}");
        }
        for url in ["https://a.npm.corp/", "https://pypi.corp/"] {
            assert!(!takes(&hosts, url), "{url}");
        }
        let address = "10.1.2.3".parse().unwrap();
        assert!(hosts.admit("npm.corp", address).is_ok());
        for name in [
            "",
            "int.example",
            "xint.example",
            ".int.example",
            "npm.example.com",
        ] {
            assert!(hosts.admit(name, address).is_err(), "{name}");
        }
    }

    #[test]
    fn a_listed_network_admits_its_addresses_by_any_name() {
        let hosts = listed(&["10.1.0.0/16", "fd12::/32", "192.168.7.7"], Reach::Public);
        for address in ["10.1.2.3", "fd12::9", "192.168.7.7"] {
            let address = address.parse().unwrap();
            assert!(hosts.admit("npm.example.com", address).is_ok(), "{address}");
        }
        for address in ["10.2.0.1", "fd13::9", "192.168.7.8"] {
            let address = address.parse().unwrap();
            assert!(
                hosts.admit("npm.example.com", address).is_err(),
                "{address}"
            );
        }
    }

    #[test]
    fn no_entry_admits_an_address_where_a_cloud_gives_credentials() {
        let entries = ["0.0.0.0/0", "::/0", "registry.corp"];
        let hosts = listed(&entries, Reach::PublicAndLoopback);
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "168.63.129.16",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
        ] {
            let address = address.parse().unwrap();
            assert!(hosts.admit("registry.corp", address).is_err(), "{address}");
        }
    }

    #[test]
    fn loopback_is_reached_by_its_own_names_alone() {
        let hosts = listed(&[], Reach::PublicAndLoopback);
        assert!(takes(&hosts, "http://127.0.0.1:4873/") && takes(&hosts, "http://localhost/"));
        let address = "127.0.0.1".parse().unwrap();
        assert!(hosts.admit("localhost", address).is_ok());
        assert!(hosts.admit("npm.example.com", address).is_err());
    }

    #[test]
    fn an_entry_that_is_no_host_and_no_network_is_named() {
        for entry in [
            "10.0.0.0/33",
            "https://a.example",
            "a b",
            "*",
            "a..b",
            "1.2.3",
            "a:80",
        ] {
            let parsed = PrivateHosts::parse([entry.to_owned()], Reach::Public);
            let why = parsed.unwrap_err().to_string();
            assert!(why.contains(entry), "{why}");
        }
    }
}
