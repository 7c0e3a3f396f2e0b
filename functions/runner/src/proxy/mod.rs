//! The model proxy: a server on loopback that agents call with a key that only this proxy accepts.
//! It calls the providers with the organization's key, or Bedrock with the run's credentials.
//!
//! Invariants:
//! - neither a key of the organization's nor a credential reaches an agent or a log, not even in a
//!   provider's message;
//! - all billed usage is counted by the provider's own figures, even if the agent disconnects;
//! - no call begins whose worst case the budget does not cover, and none while no agent is running.

mod answer;
mod bedrock;
mod call;
mod extras;
mod members;
mod outage;
mod pace;
mod reach;
mod refusal;
mod request;
mod under_way;
mod upstream;
mod worst_case;

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use awo_domain::control::Provider;
use awo_domain::environment::EgressHosts;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::loopback;
use crate::meter::{Meter, SharedMeter, now};

use outage::LastCall;
use pace::Pace;
use upstream::Upstream;

pub(crate) use bedrock::CredentialIssuer;
pub(crate) use outage::{KeyRefusal, Outage};
pub(crate) use upstream::ModelAccess;

/// How long calls may take that were asked to end.
const CUT_LIMIT: Duration = Duration::from_secs(1);

/// The agents' variables for the proxy.
#[derive(Clone)]
pub(crate) struct ProxyAddress {
    /// `http://127.0.0.1:…`, without a slash at its end.
    pub(crate) url: String,
    /// Stands where the key of a provider would.
    pub(crate) key: String,
    /// Whose protocols can be spoken.
    pub(crate) providers: Vec<Provider>,
    /// True if Bedrock answers Messages.
    pub(crate) has_bedrock: bool,
    /// True if a provider may reach no hosts for a call but those that egress names.
    pub(crate) limits_hosts: bool,
}

/// The proxy, open or shut.
pub(crate) struct Proxy {
    shared: Arc<CallState>,
    proxy_address: ProxyAddress,
    accepting: AbortHandle,
}

/// What calls share.
struct CallState {
    key: String,
    upstream: Upstream,
    /// Hosts that a provider may reach for a call; all where absent.
    hosts: Option<EgressHosts>,
    meter: SharedMeter,
    pace: Pace,
    /// The number of the attempt that may call; 0 if none may.
    attempt: watch::Sender<u64>,
    /// Changes when the calls that there are must end.
    cut: watch::Sender<u64>,
    /// Calls that are not over.
    under_way: watch::Sender<usize>,
    /// Of the present attempt.
    last_call: LastCall,
}

impl CallState {
    fn meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock()
    }
}

impl Proxy {
    /// Opens a server that admits no call yet.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub(crate) async fn start(
        mut access: ModelAccess,
        meter: SharedMeter,
    ) -> Result<Proxy, String> {
        let hosts = access.hosts.take();
        let upstream = Upstream::new(access)?;
        let (listener, address) = loopback::listen().await?;
        let key = new_key()?;
        let proxy_address = ProxyAddress {
            url: format!("http://{address}"),
            key: key.clone(),
            providers: upstream.providers(),
            has_bedrock: upstream.bedrock(Provider::Anthropic).is_some(),
            limits_hosts: hosts.is_some(),
        };
        let shared = Arc::new(CallState {
            key,
            upstream,
            hosts,
            meter,
            pace: Pace::default(),
            attempt: watch::Sender::new(0),
            cut: watch::Sender::new(0),
            under_way: watch::Sender::new(0),
            last_call: LastCall::default(),
        });
        let of_calls = Arc::clone(&shared);
        let answer = move |request| call::answer(Arc::clone(&of_calls), request);
        let accepting = loopback::serve(listener, answer);
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
        self.shared.last_call.forget();
        self.shared.attempt.send_replace(u64::from(attempt));
    }

    /// The outage that the last call of the attempt met, if it met one.
    pub(crate) fn outage(&self) -> Option<Outage> {
        self.shared.last_call.outage()
    }

    /// The refusal of a key that no later call of the attempt has outlived.
    pub(crate) fn key_refusal(&self) -> Option<KeyRefusal> {
        self.shared.last_call.refusal()
    }

    /// US dollars that are left for a model; nothing where its price is not known.
    pub(crate) fn usd_left(&self, model: &str) -> Option<f64> {
        let bedrock = self.shared.upstream.bedrock(Provider::Anthropic);
        let called = bedrock.and_then(|bedrock| bedrock.model(model).ok());
        let priced_as = called.map_or_else(|| model.to_owned(), |called| called.priced_as);
        self.shared.meter().usd_left(&priced_as, now())
    }

    /// Admits no call any more. The agent is dead; providers have `limit` to report what its
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

fn new_key() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|why| format!("no randomness: {why}"))?;
    Ok(format!("awo-run-{}", hex::encode(bytes)))
}
