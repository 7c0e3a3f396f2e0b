//! Routers on loopback, each with its own thread, until dropped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Longest wait for a client to greet.
const GREETING_LIMIT: Duration = Duration::from_secs(5);

/// A server that runs.
pub(crate) struct Server {
    pub(crate) port: u16,
    _stop: oneshot::Sender<()>,
}

/// Who a server is, and the PEM that makes it believed.
pub(crate) struct Identity {
    config: Arc<ServerConfig>,
    pub(crate) pem: String,
}

impl Identity {
    /// Of a server on 127.0.0.1.
    pub(crate) fn of_loopback() -> Identity {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let made = made.expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocols")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], PrivateKeyDer::Pkcs8(key))
            .expect("a certificate and its key");
        Identity {
            config: Arc::new(config),
            pem: made.cert.pem(),
        }
    }
}

struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, from) = self.tcp.accept().await.expect("a connection");
            let greeting = self.acceptor.accept(stream);
            if let Ok(Ok(stream)) = tokio::time::timeout(GREETING_LIMIT, greeting).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

/// Serves on a free port, by TLS if there is an identity.
pub(crate) fn serve(app: Router, identity: Option<&Identity>) -> Server {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    let acceptor = identity.map(|identity| TlsAcceptor::from(Arc::clone(&identity.config)));
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            let tcp = TcpListener::from_std(listener).expect("a socket");
            let serving = async {
                match acceptor {
                    Some(acceptor) => axum::serve(Tls { tcp, acceptor }, app).await,
                    None => axum::serve(tcp, app).await,
                }
            };
            tokio::select! {
                served = serving => served.expect("a server"),
                _ = stopped => {}
            }
        });
    });
    Server { port, _stop: stop }
}
