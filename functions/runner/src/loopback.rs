//! HTTP servers on loopback, for what agents may speak to.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

/// Most connections at once.
const MAX_CONNECTIONS: usize = 64;
/// For the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Largest head of a request.
const MAX_HEAD_BYTES: usize = 65_536;
/// Between two tries where the system has no connection to give.
const PAUSE: Duration = Duration::from_millis(50);

/// A free port.
///
/// # Errors
/// A sentence for the operator.
pub(crate) async fn listen() -> Result<(TcpListener, SocketAddr), String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(|why| format!("no port on loopback: {why}"))?;
    let address = listener.local_addr().map_err(|why| why.to_string())?;
    Ok((listener, address))
}

/// A key that no other process of the machine can guess, recognizable by its beginning.
///
/// # Errors
/// A sentence for the operator, if the system has no randomness.
pub(crate) fn new_key(beginning: &str) -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|why| format!("no randomness: {why}"))?;
    Ok(format!("{beginning}-{}", hex::encode(bytes)))
}

/// Answers requests until it is aborted.
pub(crate) fn serve<A, F, B>(listener: TcpListener, answer: A) -> AbortHandle
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    tokio::spawn(accept(listener, answer)).abort_handle()
}

async fn accept<A, F, B>(listener: TcpListener, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= MAX_CONNECTIONS {
            connections.join_next().await;
        }
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(converse(stream, answer.clone()));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn converse<A, F, B>(stream: TcpStream, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Small answers must not wait for an acknowledgement; without it they are only slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let answered = answer(request);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // A client that hangs up early harms only itself.
    let _ = connection.await;
}

/// What comes through a channel, as a body.
pub(crate) struct PipedBody<E>(mpsc::Receiver<Result<Bytes, E>>);

impl<E> PipedBody<E> {
    pub(crate) fn new(pieces: mpsc::Receiver<Result<Bytes, E>>) -> PipedBody<E> {
        PipedBody(pieces)
    }
}

impl<E> Body for PipedBody<E> {
    type Data = Bytes;
    type Error = E;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
