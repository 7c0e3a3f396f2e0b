//! `make bench`: the sender's cost of a delivery, and deliveries per second, to a fast receiver in
//! a separate process; with the connections that a burst shares, and with a connection for each
//! delivery. Then the same with the delivering function, in separate processes as in Lambda, and
//! the added latency of healthy receivers beside one that does not respond. Prints numbers; nothing
//! here can fail a build. Built like released functions: in a test build, unoptimised code would
//! take most of the time.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot go on says so and ends"
)]

mod process;
mod whole;

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use awo_cloud::{Clock, Environment};
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::headers::SecretHeaders;
use awo_domain::webhook::signature::{Message, Secret, Secrets};
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::{EventId, OrgId, Timestamp};
use awo_tests::measure::{Goal, cpu_seconds, row};
use awo_webhooks::{Attempt, Ready, Sender};
use futures::StreamExt;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

const DELIVERIES: u64 = 10_000;
/// Each with a handshake of its own, so fewer of them.
const CONNECTIONS: u64 = 1_000;
/// As many as a function gets at once.
const IN_FLIGHT: usize = 10;
/// About what an event of a run has.
const BODY: [u8; 700] = [b'x'; 700];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // As functions have it; what stands for AWS has more.
    let one_thread = runtime(&mut Builder::new_current_thread());
    match arguments.as_slice() {
        ["receive", file] => one_thread.block_on(receive(Path::new(file))),
        ["deliver"] => one_thread.block_on(process::answer_batches()),
        _ => {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let ca_file = dir.path().join("ca.pem");
            let receiver = Receiver::start(&ca_file);
            let ca_file = ca_file.display().to_string();
            one_thread.block_on(measure(&receiver, ca_file.clone()));
            let threads = runtime(&mut Builder::new_multi_thread());
            threads.block_on(whole::measure(receiver.port, &ca_file));
        }
    }
}

fn runtime(builder: &mut Builder) -> Runtime {
    builder.enable_all().build().expect("a runtime")
}

struct Receiver {
    child: Child,
    port: u16,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Receiver {
    fn start(ca_file: &Path) -> Receiver {
        let this = std::env::current_exe().expect("this program");
        let mut command = Command::new(this);
        let mut child = command
            .arg("receive")
            .arg(ca_file)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a receiver");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("its port");
        let port = line.trim().parse().expect("its port");
        Receiver { child, port }
    }
}

async fn measure(receiver: &Receiver, ca_file: String) {
    let environment = Environment::new(move |name| match name {
        "AWO_WEBHOOK_CA_FILE" => Some(ca_file.clone()),
        "AWO_WEBHOOK_ALLOW_LOOPBACK" => Some("1".to_owned()),
        _ => None,
    });
    let sender = Sender::new(&environment).expect("a sender");
    let began = Instant::now();
    let ready = sender.ready().await.expect("a sender");
    println!(
        "{:<36} {:.1} ms, once a process",
        "roots and resolver",
        began.elapsed().as_secs_f64() * 1e3
    );
    let goal = "goal 280 µs of CPU";
    run(
        ready,
        receiver,
        "deliveries on shared connections",
        goal,
        DELIVERIES,
        |_| 1,
    )
    .await;
    run(
        ready,
        receiver,
        "deliveries on connections of their own",
        "no goal",
        CONNECTIONS,
        |nth| nth,
    )
    .await;
}

/// Sends so many deliveries, each of the organization that its number gives.
async fn run(
    ready: &Ready,
    receiver: &Receiver,
    what: &str,
    goal: &str,
    deliveries: u64,
    org: impl Fn(u64) -> u64,
) {
    let (began, before) = (Instant::now(), cpu_seconds(std::process::id()));
    let all = futures::stream::iter(0..deliveries);
    let sent = all.map(|nth| one(ready, receiver.port, org(nth)));
    let ok = sent
        .buffer_unordered(IN_FLIGHT)
        .filter(|ok| std::future::ready(*ok))
        .count()
        .await;
    let (took, used) = (
        began.elapsed().as_secs_f64(),
        cpu_seconds(std::process::id()) - before,
    );
    let count = float(deliveries);
    let each = (used / count * 1e6, "µs of CPU");
    row(what, each, Goal::AtMost(280.0));
    println!(
        "{what:<36} {:>6.0} a second   {:>6.0} µs of CPU each   ({goal}; {ok} of {deliveries} taken)",
        count / took,
        used / count * 1e6,
    );
}

fn float(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("not so many"))
}

async fn one(ready: &Ready, port: u16, org: u64) -> bool {
    let now = Clock::default().now();
    let url = format!("https://localhost:{port}/hook");
    let url = WebhookUrl::parse(&url, Reach::PublicAndLoopback).expect("a URL");
    let attempt = Attempt {
        org: &OrgId::new(Timestamp::from_epoch_ms(0), u128::from(org)),
        url: &url,
        secrets: &Secrets {
            current: Secret::new([7; 32]),
            previous: None,
        },
        headers: &SecretHeaders::default(),
        message: Message {
            id: &EventId::new(now, 1),
            sent_at: now,
            body: &BODY,
        },
    };
    ready.send(&attempt).await.error.is_none()
}

/// The other process: takes every delivery, until it is killed.
async fn receive(ca_file: &Path) {
    let config = certified(ca_file);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("a port").port());
    let acceptor = TlsAcceptor::from(Arc::new(config));
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        tokio::spawn(serve(acceptor.clone(), stream));
    }
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream) {
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = hyper::service::service_fn(|request: Request<Incoming>| async {
        let _read = request.into_body().collect().await;
        let mut answer = Response::new(Empty::<Bytes>::new());
        *answer.status_mut() = http::StatusCode::NO_CONTENT;
        Ok::<_, Infallible>(answer)
    });
    let server = hyper::server::conn::http1::Builder::new();
    // It ends when the sender closes it.
    let _closed = server.serve_connection(TokioIo::new(stream), service).await;
}

/// A certificate for `localhost` and its address, which is its own authority.
fn certified(ca_file: &Path) -> ServerConfig {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    std::fs::write(ca_file, made.cert.pem()).expect("a file");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a certificate")
}
