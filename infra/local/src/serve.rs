//! HTTP/1.1 on loopback. Invariants: no stand-in is reachable from another machine; a server has at
//! most its limit of connections; on shutdown it accepts no new request, lets the running ones
//! finish, and ends after [`DRAIN`] at the latest.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use crate::shutdown::Shutdown;

/// How long running requests may go on after the shutdown began.
pub const DRAIN: Duration = Duration::from_secs(5);

/// Wait after a failed `accept`: the usual cause, no file descriptor left, does not pass at
/// once, and a loop without a pause would burn a core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A body that may end in an error, which cuts the connection: the only way to signal to an HTTP
/// client that a stream broke off after its head was sent.
pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

pub(crate) type Answer = Response<AnswerBody>;

/// A request's body, from a socket or from this process.
pub(crate) type RequestBody = UnsyncBoxBody<Bytes, io::Error>;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What answers a request of a client.
type Handler = dyn Fn(Request<RequestBody>, SocketAddr) -> BoxFuture<'static, Answer> + Send + Sync;

/// What one server takes from its clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections at once; further ones wait in the kernel's queue.
    pub connections: usize,
    /// Bytes of a request's head that are buffered; hyper answers 431 above.
    pub head_bytes: usize,
    /// Time for a request's head, and for the silence before it on a kept-alive connection.
    /// It has to outlast the clients' pools (90 s), or a request can meet a closing socket.
    pub head_time: Duration,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    inside: Inside,
    task: JoinHandle<()>,
}

/// A server as clients of its own process reach it, without a socket. It keeps the server's handler
/// no longer than the server does: what a handler holds may hold such a client itself.
#[derive(Clone)]
pub(crate) struct Inside {
    address: SocketAddr,
    shutdown: Shutdown,
    handler: Weak<Handler>,
}

impl std::fmt::Debug for Inside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Inside").field(&self.address).finish()
    }
}

impl Inside {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers as over a socket; nothing once the shutdown has begun.
    pub async fn answer(&self, request: Request<RequestBody>) -> Option<Answer> {
        if self.shutdown.has_begun() {
            return None;
        }
        let handler = self.handler.upgrade()?;
        Some(handler(request, self.address).await)
    }
}

impl Server {
    /// Where it listens; with port 0 asked for, the port that was given.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.inside.address
    }

    pub(crate) fn inside(&self) -> Inside {
        self.inside.clone()
    }

    /// The URL to configure as the endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.inside.address)
    }

    /// Resolves when the shutdown is complete: no connection is left.
    pub async fn finished(self) {
        if let Err(error) = self.task.await {
            tracing::error!(%error, "a server of the local cloud ended badly");
        }
    }
}

pub(crate) fn whole(bytes: impl Into<Bytes>) -> AnswerBody {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Serves `listener` until the shutdown.
///
/// # Errors
/// When the listener is not bound to a loopback address.
pub(crate) fn serve<H, F>(
    listener: TcpListener,
    limits: Limits,
    shutdown: Shutdown,
    handler: H,
) -> io::Result<Server>
where
    H: Fn(Request<RequestBody>, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("the local cloud listens on loopback only, not on {address}"),
        ));
    }
    let handler: Arc<Handler> = Arc::new(move |request, peer| Box::pin(handler(request, peer)));
    let inside = Inside {
        address,
        shutdown: shutdown.clone(),
        handler: Arc::downgrade(&handler),
    };
    let task = tokio::spawn(accept(listener, limits, shutdown, handler));
    Ok(Server { inside, task })
}

async fn accept(listener: TcpListener, limits: Limits, shutdown: Shutdown, handler: Arc<Handler>) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.begun() => break,
            accepted = async {
                let place = places.clone().acquire_owned().await;
                (place, listener.accept().await)
            } => accepted,
        };
        // Reap what has ended, so that the set holds living connections only.
        while connections.try_join_next().is_some() {}
        match accepted {
            (Ok(place), Ok((stream, peer))) => {
                let connection =
                    converse(stream, peer, limits, shutdown.clone(), Arc::clone(&handler));
                connections.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            (Ok(_), Err(error)) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            (Err(_), _) => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    limits: Limits,
    shutdown: Shutdown,
    handler: Arc<Handler>,
) {
    // Small answers must not wait for an acknowledgement; without it they are only slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = handler(
            request.map(|body| body.map_err(io::Error::other).boxed_unsync()),
            peer,
        );
        async move { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.begun() => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(DRAIN, connection).await {
                Ok(ended) => ended,
                Err(_) => {
                    tracing::warn!(%peer, "a request outlasted the shutdown and was cut off");
                    return;
                }
            }
        }
    };
    if let Err(error) = ended {
        // Clients that go away mid-request are their own business.
        tracing::debug!(%peer, %error, "a connection broke");
    }
}
