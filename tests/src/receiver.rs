//! A receiver of webhooks: a real TLS server on loopback that records its requests, with a
//! certificate of this process's own authority.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Longest wait for something that is sure to come.
const PATIENCE: Duration = Duration::from_secs(60);

struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: PathBuf,
    _dir: tempfile::TempDir,
}

static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| {
    let mut params = CertificateParams::default();
    let name = "receivers of webhooks";
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, issuer.pem()).expect("a file");
    Authority {
        issuer,
        file,
        _dir: dir,
    }
});

/// The file of the authority (`AWO_WEBHOOK_CA_FILE`).
#[must_use]
pub fn ca_file() -> String {
    AUTHORITY.file.display().to_string()
}

/// What it does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Answers with this status.
    Status(u16),
    /// Takes so long, and answers with this status.
    Late(Duration, u16),
    /// Says nothing for as long as the sender waits.
    Nothing,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// When it was there.
    pub at: Instant,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body, byte by byte.
    pub bytes: Vec<u8>,
    /// The body, read.
    pub body: Value,
}

type Everything = Arc<Mutex<Vec<ReceivedRequest>>>;

/// The receiver, until it is dropped.
pub struct Receiver {
    /// Where it is.
    pub url: String,
    heard: Everything,
    task: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Receiver {
    /// One that answers its requests so, and all others as the last of these.
    pub async fn start(answers: &[Answer]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}/", listener.local_addr().expect("a port"));
        let (heard, answers) = (Everything::default(), answers.to_vec());
        let task = tokio::spawn(accept(listener, answers, Arc::clone(&heard)));
        Receiver { url, heard, task }
    }

    /// What came so far.
    #[must_use]
    pub fn heard(&self) -> Vec<ReceivedRequest> {
        lock(&self.heard).clone()
    }

    /// What came, once it is so much.
    ///
    /// # Panics
    /// When that takes too long.
    pub async fn has_heard(&self, count: usize) -> Vec<ReceivedRequest> {
        let began = Instant::now();
        while lock(&self.heard).len() < count {
            let heard = self.heard();
            assert!(began.elapsed() < PATIENCE, "{count}: {heard:#?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.heard()
    }
}

fn lock(heard: &Everything) -> std::sync::MutexGuard<'_, Vec<ReceivedRequest>> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, answers: Vec<Answer>, heard: Everything) {
    let acceptor = TlsAcceptor::from(Arc::new(certified()));
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, answers, heard) = (acceptor.clone(), answers.clone(), Arc::clone(&heard));
        tokio::spawn(serve(acceptor, stream, answers, heard));
    }
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, answers: Vec<Answer>, heard: Everything) {
    let Ok(mut stream) = acceptor.accept(stream).await else {
        return;
    };
    while let Some(request) = hear(&mut stream).await {
        let nth = {
            let mut heard = lock(&heard);
            heard.push(request);
            heard.len() - 1
        };
        let answer = answers.get(nth).or(answers.last());
        let status = match answer {
            Some(Answer::Status(status)) => status,
            Some(Answer::Late(after, status)) => {
                tokio::time::sleep(*after).await;
                status
            }
            Some(Answer::Nothing) | None => return std::future::pending().await,
        };
        let text = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(text.as_bytes()).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

/// Reads one request.
async fn hear(stream: &mut (impl AsyncRead + Unpin)) -> Option<ReceivedRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let lines = head.trim_end().split("\r\n").skip(1);
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let mut bytes = vec![0; headers.get("content-length")?.parse().ok()?];
    stream.read_exact(&mut bytes).await.ok()?;
    Some(ReceivedRequest {
        at: Instant::now(),
        headers,
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        bytes,
    })
}

fn certified() -> ServerConfig {
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name");
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &AUTHORITY.issuer);
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.expect("a certificate").der().clone()], key)
        .expect("a certificate")
}
