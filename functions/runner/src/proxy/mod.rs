//! The model proxy: a server on loopback that agents call with a key that only this proxy accepts.
//! It calls the providers with the organization's key.
//!
//! Invariants:
//! - no key of the organization's reaches an agent or a log, not even in a provider's message;
//! - all billed usage is counted by the provider's own figures, even if the agent disconnects;
//! - no call begins beyond the budget, and none while no agent is running.

mod call;
mod extras;
mod refusal;
mod request;
mod upstream;

use std::net::Ipv4Addr;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use awo_domain::control::{ModelKey, Provider};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::meter::{Meter, SharedMeter, now};

use upstream::Upstream;

pub(crate) use upstream::BaseUrls;

/// Most connections at once.
const MAX_CONNECTIONS: usize = 64;
/// Most calls at once; others wait.
const MAX_CALLS: usize = 8;
/// For the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Largest head of a request.
const MAX_HEAD_BYTES: usize = 65_536;
/// How long calls may take that were told to end.
const CUT_LIMIT: Duration = Duration::from_secs(1);

/// What agents are told of the proxy.
#[derive(Clone)]
pub(crate) struct ProxyAddress {
    /// `http://127.0.0.1:…`, without a slash at its end.
    pub(crate) url: String,
    /// Stands where the key of a provider would.
    pub(crate) key: String,
    /// Whose models there are.
    pub(crate) providers: Vec<Provider>,
}

/// The proxy, open or shut.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    proxy_address: ProxyAddress,
    accepting: AbortHandle,
}

/// What calls share.
struct Shared {
    key: String,
    upstream: Upstream,
    meter: SharedMeter,
    calls: Arc<Semaphore>,
    /// The number of the attempt that may call; 0 if none may.
    attempt: watch::Sender<u64>,
    /// Changes when the calls that there are must end.
    cut: watch::Sender<u64>,
    /// Calls that are not over.
    under_way: watch::Sender<usize>,
}

impl Shared {
    fn meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock()
    }
}

impl Proxy {
    /// Opens a server that lets nobody through yet.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub(crate) async fn start(
        bases: BaseUrls,
        keys: Vec<ModelKey>,
        meter: SharedMeter,
    ) -> Result<Proxy, String> {
        let upstream = Upstream::new(bases, keys)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(|why| format!("no port on loopback: {why}"))?;
        let address = listener.local_addr().map_err(|why| why.to_string())?;
        let key = new_key()?;
        let all = Provider::ALL.into_iter();
        let proxy_address = ProxyAddress {
            url: format!("http://{address}"),
            key: key.clone(),
            providers: all.filter(|one| upstream.has_key(*one)).collect(),
        };
        let shared = Arc::new(Shared {
            key,
            upstream,
            meter,
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
            attempt: watch::Sender::new(0),
            cut: watch::Sender::new(0),
            under_way: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Ok(Proxy {
            shared,
            proxy_address,
            accepting,
        })
    }

    pub(crate) fn proxy_address(&self) -> &ProxyAddress {
        &self.proxy_address
    }

    /// Lets an attempt through that the meter knows of.
    pub(crate) fn open(&self, attempt: u32) {
        self.shared.attempt.send_replace(u64::from(attempt));
    }

    /// US dollars that are left for a model; nothing where its price is not known.
    pub(crate) fn usd_left(&self, model: &str) -> Option<f64> {
        self.shared.meter().usd_left(model, now())
    }

    /// Lets nobody through any more. The agent is dead; providers have `limit` to say what its
    /// last calls have used.
    pub(crate) async fn shut(&self, limit: Duration) {
        // New calls see that at once; those under way go on until the limit.
        let attempt = self.shared.attempt.send_replace(0);
        let mut under_way = self.shared.under_way.subscribe();
        let late = timeout(limit, under_way.wait_for(|calls| *calls == 0));
        let late = late.await.is_err();
        if late {
            tracing::warn!(
                event = "calls_cut_off",
                attempt,
                "calls of models were cut off uncounted"
            );
            self.shared.cut.send_modify(|cuts| *cuts += 1);
            let _ = timeout(CUT_LIMIT, under_way.wait_for(|calls| *calls == 0)).await;
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.cut.send_modify(|cuts| *cuts += 1);
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    /// Between two tries where the system has no connection to give.
    const PAUSE: Duration = Duration::from_millis(50);
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= MAX_CONNECTIONS {
            connections.join_next().await;
        }
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(converse(stream, Arc::clone(&shared)));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    // Small answers must not wait for an acknowledgement; without it they are only slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, std::convert::Infallible>(call::answer(shared, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // Whoever hangs up in mid-sentence harms nobody but itself.
    let _ = connection.await;
}

fn new_key() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|why| format!("no randomness: {why}"))?;
    Ok(format!("awo-run-{}", hex::encode(bytes)))
}
