//! Addresses of names for calls with a credential: each is judged in the very answer that the connection then uses.

use std::error::Error;
use std::net::SocketAddr;

use awo_domain::webhook::private_hosts::{Forbidden, PrivateHosts};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// A resolver that hands out no address which is neither public nor listed by the operator.
#[derive(Debug, Clone)]
pub(crate) struct GuardedNames {
    hosts: PrivateHosts,
}

impl GuardedNames {
    pub(crate) fn new(hosts: &PrivateHosts) -> GuardedNames {
        GuardedNames {
            hosts: hosts.clone(),
        }
    }

    /// All addresses, of which one that is forbidden rejects the name: its owner controls every answer.
    fn admitted(
        &self,
        name: &str,
        addresses: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Forbidden> {
        for address in &addresses {
            self.hosts.admit(name, address.ip())?;
        }
        Ok(addresses)
    }
}

impl Resolve for GuardedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.clone();
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let admitted = names.admitted(name.as_str(), addresses.collect())?;
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

/// The refusal that made a call fail, if one did.
pub(crate) fn refusal<'a>(failure: &'a (dyn Error + 'static)) -> Option<&'a Forbidden> {
    let mut cause = Some(failure);
    while let Some(error) = cause {
        if let Some(forbidden) = error.downcast_ref() {
            return Some(forbidden);
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use awo_domain::webhook::address::Reach;

    use super::*;

    #[test]
    fn one_forbidden_address_rejects_a_name() {
        let names = GuardedNames::new(&PrivateHosts::none(Reach::Public));
        let public: SocketAddr = "93.184.215.14:0".parse().unwrap();
        let private: SocketAddr = "10.0.0.1:0".parse().unwrap();
        assert!(names.admitted("npm.example.com", vec![public]).is_ok());
        let mixed = names.admitted("npm.example.com", vec![public, private]);
        assert!(mixed.unwrap_err().to_string().contains("10.0.0.1"));
    }

    #[tokio::test]
    async fn a_call_to_a_forbidden_name_says_which_rule_refused_it() {
        let names = GuardedNames::new(&PrivateHosts::none(Reach::Public));
        let client = crate::http_client::builder(true).dns_resolver(names);
        let client = crate::http_client::build(client).unwrap();
        let failure = client.get("http://localhost:9/").send().await.unwrap_err();
        let refused = refusal(&failure).map(ToString::to_string);
        assert!(
            refused.unwrap_or_default().contains("loopback"),
            "{failure:?}"
        );
    }
}
