//! One request to the proxy: who asks, for which host, and the way there.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use subtle::ConstantTimeEq;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::PhaseLimit;
use super::connecting::connect;
use crate::loopback::{self, refusal, whole};

/// Of a request of plain HTTP without a port.
const HTTP_PORT: u16 = 80;
/// What is between a client and this proxy alone.
const OWN_HEADERS: [HeaderName; 3] = [
    CONNECTION,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
];

type Answer = Response<UnsyncBoxBody<Bytes, hyper::Error>>;

/// The proxy as its connections share it.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) hosts: PhaseLimit,
    pub(super) key: Arc<str>,
    pub(super) connections: Arc<Semaphore>,
    pub(super) is_open: watch::Receiver<()>,
}

impl Serving {
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        if !self.is_admitted(request.headers()) {
            let message = "this proxy is for the run's own commands";
            let mut refusal = refusal(StatusCode::PROXY_AUTHENTICATION_REQUIRED, message);
            let basic = HeaderValue::from_static("Basic realm=\"awo\"");
            refusal.headers_mut().insert(PROXY_AUTHENTICATE, basic);
            return refusal;
        }
        let is_tunnel = request.method() == Method::CONNECT;
        let (host, port) = match destination(request.uri(), is_tunnel) {
            Ok(destination) => destination,
            Err(message) => return refusal(StatusCode::BAD_REQUEST, message),
        };
        if !self.hosts.has(&host) {
            let message = format!(
                "egress of the environment does not name {host}: add it there if the run needs it"
            );
            return refusal(StatusCode::FORBIDDEN, &message);
        }
        let Ok(permit) = Arc::clone(&self.connections).acquire_owned().await else {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the run is over");
        };
        let stream = match connect(&host, port).await {
            Ok(stream) => stream,
            Err(why) => return refusal(StatusCode::BAD_GATEWAY, &why),
        };
        if is_tunnel {
            self.tunnel(request, stream, permit);
            Response::new(whole(Vec::new()))
        } else {
            let forwarded = self.forward(request, stream, permit).await;
            forwarded.unwrap_or_else(|why| {
                let message = format!("{host} sent no response: {why}");
                refusal(StatusCode::BAD_GATEWAY, &message)
            })
        }
    }

    /// True if the caller shows the key, as the password of the proxy's URL.
    fn is_admitted(&self, headers: &HeaderMap) -> bool {
        let shown = || {
            let shown = headers.get(PROXY_AUTHORIZATION)?.to_str().ok()?;
            let password = loopback::basic_password(shown)?;
            Some(bool::from(password.ct_eq(self.key.as_bytes())))
        };
        shown().unwrap_or_default()
    }

    /// Passes bytes on in both directions, once the client has the answer.
    fn tunnel(
        &self,
        request: Request<Incoming>,
        mut stream: TcpStream,
        permit: OwnedSemaphorePermit,
    ) {
        let mut is_open = self.is_open.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let Ok(upgraded) = hyper::upgrade::on(request).await else {
                return;
            };
            let mut client = TokioIo::new(upgraded);
            tokio::select! {
                _ = copy_bidirectional(&mut client, &mut stream) => {}
                _ = is_open.changed() => {}
            }
        });
    }

    /// Sends a request of plain HTTP to its host, on a connection of its own.
    async fn forward(
        &self,
        mut request: Request<Incoming>,
        stream: TcpStream,
        permit: OwnedSemaphorePermit,
    ) -> Result<Answer, hyper::Error> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut is_open = self.is_open.clone();
        tokio::spawn(async move {
            let _permit = permit;
            tokio::select! {
                _ = connection => {}
                _ = is_open.changed() => {}
            }
        });
        let path = request.uri().path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let authority = request.uri().authority().map(Authority::as_str);
        let host = authority.and_then(|host| HeaderValue::from_str(host).ok());
        *request.uri_mut() = Uri::from(path);
        let headers = request.headers_mut();
        OWN_HEADERS
            .iter()
            .for_each(|name| drop(headers.remove(name)));
        // The host that was judged, whatever the client's own header says.
        if let Some(host) = host {
            headers.insert(HOST, host);
        }
        let mut response = sender.send_request(request).await?;
        response.headers_mut().remove(CONNECTION);
        Ok(response.map(BodyExt::boxed_unsync))
    }
}

/// Host and port that a request is for.
fn destination(uri: &Uri, is_tunnel: bool) -> Result<(String, u16), &'static str> {
    let authority = uri.authority();
    let authority = authority.ok_or("this is a proxy: a request names the host in its URL")?;
    let port = match (is_tunnel, authority.port_u16(), uri.scheme()) {
        (_, Some(port), _) => port,
        (true, None, _) => return Err("CONNECT needs a host and a port"),
        (false, None, Some(scheme)) if *scheme == Scheme::HTTP => HTTP_PORT,
        (false, None, _) => return Err("this proxy is asked for https by CONNECT"),
    };
    if !is_tunnel && uri.scheme() != Some(&Scheme::HTTP) {
        return Err("this proxy is asked for https by CONNECT");
    }
    if authority.as_str().contains('@') {
        return Err("a URL for a proxy holds no user and no password");
    }
    Ok((authority.host().to_owned(), port))
}
