//! A connection to a receiver, and one exchange on it. It is made to an admitted address only, and
//! ends with its owner: a receiver that continues to send occupies no resources.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::fault::{Fault, Stage};
use crate::names::AdmittedAddress;

/// Longest wait for one of several addresses.
const CONNECT: Duration = Duration::from_secs(10);
/// Bytes of the status line and headers of an answer, at most.
const HEAD_BYTES: usize = 16 * 1024;
/// Headers of an answer, at most.
const HEADERS: usize = 100;
/// Bytes of an answer's body that are read, at most.
const BODY_BYTES: usize = 64 * 1024;

/// Waits, but not longer than the attempt lasts.
pub async fn within<T>(
    deadline: Instant,
    stage: Stage,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let done = timeout_at(deadline, work).await;
    done.unwrap_or(Err(Fault::Late(stage)))
}

pub struct Connection {
    requests: http1::SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The outcome of a request.
pub enum ExchangeOutcome {
    Answered(Response<Incoming>),
    /// Not a byte of the request went out: the connection was closed before.
    Unsent,
    Failed(Fault),
}

impl Connection {
    /// Connects to the first of these addresses that takes the connection, and proves that the peer
    /// has this name.
    pub async fn open(
        addresses: &[AdmittedAddress],
        name: ServerName<'static>,
        config: &Arc<ClientConfig>,
        deadline: Instant,
    ) -> Result<Connection, Fault> {
        let stream = within(deadline, Stage::Connection, dial(addresses)).await?;
        let connector = TlsConnector::from(Arc::clone(config));
        let shaken = async {
            let stream = connector.connect(name, stream).await;
            stream.map_err(|error| Fault::of_handshake(&error))
        };
        let stream = within(deadline, Stage::Tls, shaken).await?;
        let mut http = http1::Builder::new();
        http.max_buf_size(HEAD_BYTES)
            .max_header_size(HEAD_BYTES)
            .max_headers(HEADERS);
        let opened = http.handshake(TokioIo::new(stream)).await;
        let (requests, driver) = opened.map_err(|error| Fault::of_exchange(&error))?;
        let driver = tokio::spawn(async move {
            // The fault goes to the caller that waits for an answer.
            let _ended = driver.await;
        });
        Ok(Connection { requests, driver })
    }

    /// Sends the request, and waits for status and headers.
    pub async fn ask(
        &mut self,
        request: Request<Full<Bytes>>,
        deadline: Instant,
    ) -> ExchangeOutcome {
        if timeout_at(deadline, self.requests.ready())
            .await
            .map_or(true, |ready| ready.is_err())
        {
            return ExchangeOutcome::Unsent;
        }
        let sent = self.requests.try_send_request(request);
        match timeout_at(deadline, sent).await {
            Err(_) => ExchangeOutcome::Failed(Fault::Late(Stage::Answer)),
            Ok(Ok(answer)) => ExchangeOutcome::Answered(answer),
            Ok(Err(mut error)) => match error.take_message() {
                Some(_) => ExchangeOutcome::Unsent,
                None => ExchangeOutcome::Failed(Fault::of_exchange(error.error())),
            },
        }
    }
}

/// Reads what is left of an answer, for as long as there is time and it is not too much. True if
/// all of it was read, and the connection may be used again.
pub async fn read_rest(answer: Response<Incoming>, deadline: Instant) -> bool {
    let may_go_on = answer.version() == Version::HTTP_11;
    let mut body = answer.into_body();
    let mut left = BODY_BYTES;
    loop {
        let bytes = match timeout_at(deadline, body.frame()).await {
            Ok(Some(Ok(frame))) => frame.into_data().map_or(0, |data| data.len()),
            Ok(None) => return may_go_on,
            Ok(Some(Err(_))) | Err(_) => return false,
        };
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => return false,
        }
    }
}

async fn dial(addresses: &[AdmittedAddress]) -> Result<TcpStream, Fault> {
    let mut fault = Fault::NoAddress;
    for admitted in addresses {
        match timeout(CONNECT, TcpStream::connect(admitted.address())).await {
            Ok(Ok(stream)) => {
                // A request is one write; without this its end could wait for an acknowledgement.
                // A socket without this option still works.
                let _set = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => fault = Fault::of_connecting(&error),
            Err(_) => fault = Fault::Unconnected,
        }
    }
    Err(fault)
}
