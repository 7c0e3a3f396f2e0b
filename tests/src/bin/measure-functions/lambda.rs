//! Lambda's side of a function: its Runtime API for one program, as far as a complete response
//! needs it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, mpsc};

/// Longest wait for a program.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a program says to Lambda.
#[derive(Debug)]
enum ProgramReport {
    /// It is ready for an event.
    Next,
    /// It has an answer.
    Answer(Bytes),
    /// It failed.
    Error(Bytes),
}

/// One Runtime API, of one program after another.
pub struct Lambda {
    address: SocketAddr,
    events: mpsc::Sender<String>,
    reported: mpsc::Receiver<ProgramReport>,
}

/// A program that is ready for an event.
pub struct Ready {
    child: Child,
    /// From its start until it asked for an event.
    pub after: Duration,
    /// The CPU that this took, in seconds.
    pub cpu: f64,
}

impl Lambda {
    /// On loopback.
    pub async fn start() -> Lambda {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("a port");
        let (events, waiting) = mpsc::channel(1);
        let (reports, reported) = mpsc::channel(8);
        let waiting = Arc::new(Mutex::new(waiting));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (waiting, reports) = (Arc::clone(&waiting), reports.clone());
                let answer = move |request| answer(request, Arc::clone(&waiting), reports.clone());
                let connection = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer));
                tokio::spawn(connection);
            }
        });
        Lambda {
            address,
            events,
            reported,
        }
    }

    /// Starts a program with this environment and nothing else.
    pub async fn run(&mut self, program: &str, environment: &[(String, String)]) -> Ready {
        let began = Instant::now();
        let child = Command::new(program)
            .env_clear()
            .env("AWS_LAMBDA_RUNTIME_API", self.address.to_string())
            .env("AWS_LAMBDA_FUNCTION_NAME", "bench")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .envs(environment.iter().cloned())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        self.until_ready(program).await;
        let after = began.elapsed();
        let pid = child.id().expect("a living child");
        Ready {
            child,
            after,
            cpu: cpu_seconds(pid),
        }
    }

    async fn hear(&mut self) -> ProgramReport {
        let reported = tokio::time::timeout(PATIENCE, self.reported.recv()).await;
        match reported
            .expect("the program says nothing")
            .expect("a server")
        {
            ProgramReport::Error(why) => {
                panic!("the function failed: {}", String::from_utf8_lossy(&why))
            }
            reported => reported,
        }
    }

    async fn until_ready(&mut self, program: &str) {
        match self.hear().await {
            ProgramReport::Next => {}
            other => panic!("{program}: {other:?}"),
        }
    }

    /// Hands an event to the program that runs, and waits until it asks for the next one.
    pub async fn invoke(&mut self, event: &Value) -> Value {
        let sent = self.events.send(event.to_string()).await;
        sent.expect("a server");
        let answer = match self.hear().await {
            ProgramReport::Answer(answer) => serde_json::from_slice(&answer).expect("JSON"),
            other => panic!("{other:?}"),
        };
        self.until_ready("the program").await;
        answer
    }
}

impl Ready {
    /// The CPU that it has used so far, in seconds.
    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds(self.child.id().expect("a living child"))
    }

    /// Ends it.
    pub async fn end(mut self) {
        self.child.kill().await.expect("a living child");
    }
}

/// The time that all threads of a process were on a CPU; finer than the ticks of its `stat`.
fn cpu_seconds(pid: u32) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
    let of_thread = |thread: std::io::Result<std::fs::DirEntry>| {
        let times = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<f64>().ok()
    };
    threads.filter_map(of_thread).sum::<f64>() / 1e9
}

async fn answer(
    request: Request<Incoming>,
    events: Arc<Mutex<mpsc::Receiver<String>>>,
    reports: mpsc::Sender<ProgramReport>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    if path.ends_with("/invocation/next") {
        // The measurement of the start must not wait for this.
        reports.send(ProgramReport::Next).await.expect("a bench");
        let event = events.lock().await.recv().await.unwrap_or_default();
        let answer = Response::builder()
            .header("lambda-runtime-aws-request-id", "1")
            .header("lambda-runtime-deadline-ms", "4102444800000")
            .header(
                "lambda-runtime-invoked-function-arn",
                "arn:aws:lambda:us-east-1:123456789012:function:bench",
            )
            .body(Full::from(event));
        return Ok(answer.expect("an answer"));
    }
    let body = request.into_body().collect().await.expect("a body");
    let body = body.to_bytes();
    let reported = if path.ends_with("/response") {
        ProgramReport::Answer(body)
    } else {
        ProgramReport::Error(body)
    };
    reports.send(reported).await.expect("a bench");
    let taken = Response::builder().status(202).body(Full::default());
    Ok(taken.expect("an answer"))
}
