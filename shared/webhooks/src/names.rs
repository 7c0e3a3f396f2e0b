//! From names to permitted addresses.
//!
//! Only the guard creates an [`AdmittedAddress`] address, here, and every connection requires one. All
//! answers of a name server are checked, and one forbidden address rejects the name: the owner of a
//! name controls its answers, also to the next query.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use awo_cloud::SetupError;
use awo_domain::webhook::address::Reach;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
    ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::system_conf::read_system_conf;

use crate::NotReady;
use crate::fault::Fault;
use crate::target::{Host, Target};

/// Asks this name server alone, `127.0.0.1:5353`; for tests.
pub const NAME_SERVER: &str = "AWO_WEBHOOK_NAME_SERVER";

/// Longest wait for one answer of a name server.
const QUESTION: Duration = Duration::from_secs(5);
/// Further questions after one without an answer.
const FURTHER_QUESTIONS: usize = 1;
/// Longest time for which an answer is cached; each use of it is checked.
const KEEP: Duration = Duration::from_secs(60);
/// Longest time for which the absence of an address is cached: a webhook is often made before its
/// name is.
const KEEP_NOTHING: Duration = Duration::from_secs(10);
/// Answers that are cached.
const MAX_NAMES: u64 = 1_024;
/// Addresses of a name that are tried, at most.
const MAX_ADDRESSES: usize = 4;

/// An address and port that the guard let pass in this attempt.
#[derive(Debug, Clone, Copy)]
pub struct AdmittedAddress(SocketAddr);

impl AdmittedAddress {
    pub fn address(self) -> SocketAddr {
        self.0
    }
}

#[derive(Debug)]
pub struct Names {
    reach: Reach,
    resolver: TokioResolver,
}

impl Names {
    pub fn new(reach: Reach, name_server: Option<SocketAddr>) -> Result<Names, NotReady> {
        let unread = |error: NetError| NotReady::NoNameServers(error.to_string());
        let config = match name_server {
            Some(address) => only(address),
            None => read_system_conf().map_err(unread)?.0,
        };
        let provider = TokioRuntimeProvider::default();
        let mut builder = TokioResolver::builder_with_config(config, provider);
        *builder.options_mut() = options();
        let resolver = builder.build().map_err(unread)?;
        Ok(Names { reach, resolver })
    }

    /// Where the target may be connected to, in the order to try.
    pub async fn admitted(&self, target: &Target) -> Result<Vec<AdmittedAddress>, Fault> {
        let mut addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.resolve(name).await?,
        };
        for address in &addresses {
            self.reach.admit(*address).map_err(Fault::Forbidden)?;
        }
        // Few networks have IPv6, and one that has both is as well served by IPv4.
        addresses.sort_by_key(IpAddr::is_ipv6);
        addresses.truncate(MAX_ADDRESSES);
        let admitted = |address| AdmittedAddress(SocketAddr::new(address, target.port));
        Ok(addresses.into_iter().map(admitted).collect())
    }

    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, Fault> {
        // The dot keeps the search list of this machine's network out: names are public ones.
        let found = self.resolver.lookup_ip(format!("{name}.")).await;
        let addresses: Vec<IpAddr> = match found {
            Ok(found) => found.iter().collect(),
            Err(error) if error.is_no_records_found() => Vec::new(),
            Err(_) => return Err(Fault::Unresolved),
        };
        if addresses.is_empty() {
            Err(Fault::NoAddress)
        } else {
            Ok(addresses)
        }
    }
}

fn options() -> ResolverOpts {
    let mut options = ResolverOpts::default();
    options.timeout = QUESTION;
    options.attempts = FURTHER_QUESTIONS;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    // The hosts file names what is near this machine.
    options.use_hosts_file = ResolveHosts::Never;
    options.positive_max_ttl = Some(KEEP);
    options.negative_max_ttl = Some(KEEP_NOTHING);
    options.cache_size = MAX_NAMES;
    options
}

fn only(address: SocketAddr) -> ResolverConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
    let connections = connections.map(|mut connection| {
        connection.port = address.port();
        connection
    });
    let server = NameServerConfig::new(address.ip(), true, connections.to_vec());
    ResolverConfig::from_name_servers(vec![server])
}

/// Reads the setting of a name server.
pub fn name_server(text: &str) -> Result<SocketAddr, SetupError> {
    text.parse().map_err(|_| SetupError::Invalid {
        name: NAME_SERVER.to_owned(),
        why: "must be an address and a port, such as 127.0.0.1:5353".to_owned(),
    })
}
