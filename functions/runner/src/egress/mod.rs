//! The hosts that an environment's `egress` names, as its commands reach them: through a proxy on
//! loopback that connects to hosts of these names and to no other. The commands themselves reach
//! nothing but loopback (`awo_supervisor`), so a program that ignores the proxy reaches nothing.
//!
//! The proxy takes CONNECT, and requests of plain HTTP. Callers show a key of the run, since on one
//! machine others could find the port.

mod connecting;
mod serving;

use std::sync::{Arc, Mutex, PoisonError};

use awo_domain::environment::EgressHosts;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;

use crate::contained_process::Variables;
use crate::loopback;
use serving::Serving;

/// Most connections to hosts at once; others wait.
const MAX_CONNECTIONS: usize = 256;
/// The variables by which programs find a proxy. Node.js reads them if the last one is set.
const PROXY_VARIABLES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
const NODE_READS_THEM: (&str, &str) = ("NODE_USE_ENV_PROXY", "1");
/// What programs must not ask the proxy for, since they reach it themselves.
const NO_PROXY_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];
const NO_PROXY: &str = "localhost,127.0.0.1,::1";

/// Hosts of the present phase.
#[derive(Debug, Clone, Default)]
struct PhaseLimit(Arc<Mutex<Option<EgressHosts>>>);

impl PhaseLimit {
    fn set(&self, hosts: Option<EgressHosts>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = hosts;
    }

    /// False for every host where no phase is limited: then nothing has to ask here.
    fn has(&self, host: &str) -> bool {
        let hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.as_ref().is_some_and(|hosts| hosts.has(host))
    }
}

/// The proxy of a run. It ends with this value, and so do its connections.
#[derive(Debug)]
pub(crate) struct EgressProxy {
    url: String,
    hosts: PhaseLimit,
    serving: AbortHandle,
    /// Connections end when it is gone.
    _open: watch::Sender<()>,
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl EgressProxy {
    /// Starts it.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) async fn start() -> Result<EgressProxy, String> {
        let (listener, address) = loopback::listen().await?;
        let key = loopback::new_key("awo-egress")?;
        let (open, is_open) = watch::channel(());
        let hosts = PhaseLimit::default();
        let serving = Serving {
            hosts: hosts.clone(),
            key: key.as_str().into(),
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            is_open,
        };
        let answer = move |request| {
            let serving = serving.clone();
            async move { serving.answer(request).await }
        };
        Ok(EgressProxy {
            hosts,
            url: format!("http://awo:{key}@{address}"),
            serving: loopback::serve(listener, answer),
            _open: open,
        })
    }

    /// Limits it to the hosts of the phase that begins; none of an earlier phase's processes is alive.
    pub(crate) fn limit(&self, hosts: Option<EgressHosts>) {
        self.hosts.set(hosts);
    }

    /// What points programs at it.
    pub(crate) fn variables(&self) -> Variables {
        let to_it = PROXY_VARIABLES.map(|name| (name, self.url.as_str()));
        let past_it = NO_PROXY_VARIABLES.map(|name| (name, NO_PROXY));
        let all = to_it.into_iter().chain(past_it).chain([NODE_READS_THEM]);
        all.map(|(name, value)| (name.to_owned(), value.into()))
            .collect()
    }
}
