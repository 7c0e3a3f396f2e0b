//! One attempt from its URL to its outcome.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use awo_cloud::settings::webhook_reach;
use awo_cloud::{Environment, SetupError};
use awo_domain::OrgId;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::delivery::SendReport;
use awo_domain::webhook::headers::SecretHeaders;
use awo_domain::webhook::schedule::{ANSWER_LIMIT_MS, AttemptOutcome};
use awo_domain::webhook::signature::{Message, Secrets};
use awo_domain::webhook::target::WebhookUrl;
use rustls::ClientConfig;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::NotReady;
use crate::connection::{Connection, ExchangeOutcome, read_rest, within};
use crate::fault::{Fault, Stage};
use crate::idle::{Idle, IdleConnection, Receiver};
use crate::names::{self, Names};
use crate::target::Target;
use crate::trust;

/// From the start of an attempt to the receiver's status and headers, at most; and to the end of
/// what is read of its body.
const LIMIT: Duration = Duration::from_millis(ANSWER_LIMIT_MS.unsigned_abs());

/// What is sent, and to whom.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// Whose webhook it is. Connections are shared within an organization only.
    pub org: &'a OrgId,
    /// Where it is.
    pub url: &'a WebhookUrl,
    /// The secrets.
    pub secrets: &'a Secrets,
    /// Headers that its owner adds.
    pub headers: &'a SecretHeaders,
    /// The event; `sent_at` is when this attempt begins.
    pub message: Message<'a>,
}

/// Sends deliveries; there is one in a process.
pub struct Sender {
    reach: Reach,
    ca_file: Option<String>,
    name_server: Option<SocketAddr>,
    ready: OnceCell<Ready>,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

impl Sender {
    /// Reads the settings, and nothing else: a process that sends nothing pays nothing.
    ///
    /// # Errors
    /// [`SetupError`] if one does not read.
    pub fn new(environment: &Environment) -> Result<Sender, SetupError> {
        let name_server = environment.get(names::NAME_SERVER);
        Ok(Sender {
            reach: webhook_reach(environment),
            ca_file: environment.get(trust::CA_FILE),
            name_server: name_server
                .map(|text| names::name_server(&text))
                .transpose()?,
            ready: OnceCell::new(),
        })
    }

    /// What sends, made at the first call. It is asked for before an attempt is claimed, so that a
    /// fault of this machine uses up no attempt.
    ///
    /// # Errors
    /// [`NotReady`] if this machine lacks what it takes; the next call tries again.
    pub async fn ready(&self) -> Result<&Ready, NotReady> {
        let make = || async {
            Ok(Ready {
                reach: self.reach,
                names: Names::new(self.reach, self.name_server)?,
                tls: Arc::new(trust::client_config(self.ca_file.as_deref())?),
                idle: Idle::default(),
            })
        };
        self.ready.get_or_try_init(make).await
    }
}

/// A [`Sender`] that can send.
pub struct Ready {
    reach: Reach,
    names: Names,
    tls: Arc<ClientConfig>,
    idle: Idle,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

impl Ready {
    /// Makes one attempt, of 30 s at most. The receiver sees the event once, or not at all.
    pub async fn send(&self, attempt: &Attempt<'_>) -> SendReport {
        let began = Instant::now();
        let answered = self.exchange(attempt, began).await;
        let (outcome, error) = match answered {
            Ok(status) => (AttemptOutcome::Answered(status), fault_of_status(status)),
            Err(fault) => (AttemptOutcome::Unanswered, Some(fault.to_string())),
        };
        SendReport {
            outcome,
            started_at: attempt.message.sent_at,
            duration_ms: since(began),
            error,
        }
    }

    async fn exchange(&self, attempt: &Attempt<'_>, began: Instant) -> Result<u16, Fault> {
        let deadline = began + LIMIT;
        let target = Target::of(attempt.url, self.reach)?;
        let request = target.request(attempt)?;
        let receiver = Receiver {
            org: attempt.org.clone(),
            host: target.host.clone(),
            port: target.port,
        };
        let sent_at = attempt.message.sent_at;
        let mut asked = ExchangeOutcome::Unsent;
        let mut used = self.idle.take(&receiver, sent_at);
        if let Some(open) = &mut used {
            asked = open.connection.ask(request.clone(), deadline).await;
        }
        if let ExchangeOutcome::Unsent = asked {
            let connection = self.connect(&target, deadline).await?;
            let made_at = sent_at.plus_ms(since(began));
            let open = used.insert(IdleConnection {
                connection,
                made_at,
            });
            asked = open.connection.ask(request, deadline).await;
        }
        let answer = match asked {
            ExchangeOutcome::Answered(answer) => answer,
            ExchangeOutcome::Unsent => return Err(Fault::Closed),
            ExchangeOutcome::Failed(fault) => return Err(fault),
        };
        let status = answer.status().as_u16();
        let is_whole = read_rest(answer, deadline).await;
        if let (true, Some(open)) = (is_whole, used) {
            self.idle.put(receiver, open, sent_at.plus_ms(since(began)));
        }
        Ok(status)
    }

    async fn connect(&self, target: &Target, deadline: Instant) -> Result<Connection, Fault> {
        let name = target.server_name()?;
        let addresses = within(deadline, Stage::Name, self.names.admitted(target)).await?;
        Connection::open(&addresses, name, &self.tls, deadline).await
    }
}

fn since(began: Instant) -> i64 {
    i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX)
}

fn fault_of_status(status: u16) -> Option<String> {
    match status {
        200..=299 => None,
        300..=399 => Some(format!(
            "the answer was {status}: redirects are not followed"
        )),
        _ => Some(format!(
            "the answer was {status}, which is no success (2xx)"
        )),
    }
}
