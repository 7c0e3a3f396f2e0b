//! Receivers: real TLS servers on loopback, each with one behaviour, that count connections and
//! record requests.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::authority::{self, Flaw};

/// What a receiver does with each request.
#[derive(Debug, Clone)]
pub enum Manner {
    /// Answers with these bytes, and waits for the next request.
    Answer(Vec<u8>),
    /// Answers with these bytes, and then byte for byte for ever.
    Drip(&'static str),
    /// Says nothing.
    Hang,
    /// Resets the connection.
    Reset,
    /// Does not even speak TLS: takes the connection, and says nothing.
    Deaf,
    /// Answers in the clear, before it is asked.
    Plain,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub line: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    pub server_name: Option<String>,
}

#[derive(Default)]
struct ReceiverLog {
    connections: AtomicUsize,
    requests: Mutex<Vec<ReceivedRequest>>,
}

pub struct Receiver {
    pub port: u16,
    seen: Arc<ReceiverLog>,
    task: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A whole answer.
pub fn answer(status: u16, headers: &str, body: &str) -> Manner {
    let length = body.len();
    let text = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}");
    Manner::Answer(text.into_bytes())
}

impl Receiver {
    /// With a good certificate, on a port of its own of 127.0.0.1.
    pub async fn start(manner: Manner) -> Receiver {
        Receiver::flawed(manner, Flaw::None).await
    }

    pub async fn flawed(manner: Manner, flaw: Flaw) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Receiver::on(listener, manner, flaw)
    }

    /// Two on one port: a client of the second has not connected to the first.
    pub async fn pair(first: IpAddr, second: IpAddr) -> (Receiver, Receiver) {
        for _ in 0..100 {
            let one = TcpListener::bind((first, 0)).await.unwrap();
            let port = one.local_addr().unwrap().port();
            if let Ok(two) = TcpListener::bind((second, port)).await {
                let good = || answer(200, "", "");
                let one = Receiver::on(one, good(), Flaw::None);
                return (one, Receiver::on(two, good(), Flaw::None));
            }
        }
        panic!("no port is free on both addresses");
    }

    fn on(listener: TcpListener, manner: Manner, flaw: Flaw) -> Receiver {
        let port = listener.local_addr().unwrap().port();
        let acceptor = TlsAcceptor::from(authority::server(flaw));
        let seen = Arc::new(ReceiverLog::default());
        let task = tokio::spawn(accept(listener, acceptor, manner, Arc::clone(&seen)));
        Receiver { port, seen, task }
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.seen.requests.lock().unwrap().clone()
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    manner: Manner,
    seen: Arc<ReceiverLog>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(
            stream,
            acceptor.clone(),
            manner.clone(),
            Arc::clone(&seen),
        ));
    }
}

async fn serve(
    mut stream: TcpStream,
    acceptor: TlsAcceptor,
    manner: Manner,
    seen: Arc<ReceiverLog>,
) {
    match manner {
        Manner::Deaf => return std::future::pending().await,
        Manner::Plain => {
            let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            return;
        }
        _ => {}
    }
    let Ok(mut stream) = acceptor.accept(stream).await else {
        return;
    };
    let server_name = stream.get_ref().1.server_name().map(str::to_owned);
    while let Some(mut heard) = hear(&mut stream).await {
        heard.server_name = server_name.clone();
        seen.requests.lock().unwrap().push(heard);
        if let Manner::Reset = manner {
            stream.get_ref().0.set_zero_linger().unwrap();
            return;
        }
        if !speak(&mut stream, &manner).await {
            return;
        }
    }
}

async fn speak(stream: &mut (impl AsyncWrite + Unpin), manner: &Manner) -> bool {
    match manner {
        Manner::Answer(bytes) => {
            stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok()
        }
        Manner::Drip(head) => {
            let mut next = head.as_bytes().to_vec();
            while stream.write_all(&next).await.is_ok() && stream.flush().await.is_ok() {
                tokio::time::sleep(Duration::from_millis(200)).await;
                next = b"x".to_vec();
            }
            false
        }
        _ => std::future::pending().await,
    }
}

/// Reads one request.
async fn hear(stream: &mut (impl AsyncRead + Unpin)) -> Option<ReceivedRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.trim_end().split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let headers: BTreeMap<String, String> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some(ReceivedRequest {
        line,
        headers,
        body,
        server_name: None,
    })
}
