//! HTTP servers on loopback, for what agents may speak to.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
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

/// The password of basic authentication, from the value of a header.
pub(crate) fn basic_password(header: &str) -> Option<Vec<u8>> {
    let (scheme, pair) = header.split_once(' ')?;
    let pair = STANDARD.decode(pair.trim()).ok()?;
    let at = pair.iter().position(|byte| *byte == b':')?;
    let is_basic = scheme.eq_ignore_ascii_case("basic");
    is_basic.then(|| pair[at + 1..].to_vec())
}

/// A refusal with its reason, for the person who reads a program's error message.
pub(crate) fn refusal<E: 'static>(
    status: StatusCode,
    message: &str,
) -> Response<UnsyncBoxBody<Bytes, E>> {
    let mut answer = Response::new(whole(format!("{message}\n").into_bytes()));
    *answer.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, text);
    answer
}

/// Bytes that are all there, as a body.
pub(crate) fn whole<E: 'static>(bytes: Vec<u8>) -> UnsyncBoxBody<Bytes, E> {
    let never = |never: Infallible| match never {};
    Full::new(Bytes::from(bytes)).map_err(never).boxed_unsync()
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
