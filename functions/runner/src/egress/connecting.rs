//! A connection to a host that may be reached.

use std::time::Duration;

use awo_domain::environment::EgressHosts;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// For the name and all of its addresses.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// For one address.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to the first address of a host that accepts. Each address is judged as it is used: a name
/// may lead elsewhere a moment later.
///
/// # Errors
/// A sentence for the author of the command.
pub(super) async fn connect(host: &str, port: u16) -> Result<TcpStream, String> {
    let connected = timeout(CONNECT_TIMEOUT, async {
        let addresses = lookup_host((host, port)).await;
        let addresses = addresses.map_err(|why| format!("{host} has no address: {why}"))?;
        let mut last = format!("{host} has no address that may be reached");
        for address in addresses.filter(|address| EgressHosts::admit(address.ip())) {
            match timeout(ADDRESS_TIMEOUT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(why)) => last = format!("{host} cannot be reached: {why}"),
                Err(_) => last = format!("{host} does not answer"),
            }
        }
        Err(last)
    });
    let connected = connected.await;
    connected.unwrap_or_else(|_| Err(format!("{host} does not answer")))
}
