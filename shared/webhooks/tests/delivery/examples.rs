//! The receivers of docs/webhooks.md work: each is started unchanged and gets deliveries from the
//! sender, and forgeries of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use awo_domain::webhook::signature::{Secret, Secrets};
use awo_domain::{OrgId, Timestamp};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::authority::NAME;
use crate::programs::{found, output, repository};
use crate::receiver::{ReceivedRequest, Receiver, answer};
use crate::rust_receiver;
use crate::world::{World, at};

/// How long an example may take to answer.
const ANSWER: Duration = Duration::from_secs(20);

fn secret(byte: u8) -> Secret {
    Secret::new([byte; 32])
}

fn now_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// What is sent with these secrets so many seconds ago.
async fn delivery(
    world: &World,
    current: u8,
    previous: Option<u8>,
    seconds_ago: i64,
) -> ReceivedRequest {
    let now = i64::try_from(now_seconds()).unwrap();
    let now = Timestamp::from_epoch_ms((now - seconds_ago) * 1_000);
    let previous = previous.map(|byte| (secret(byte), now.plus_ms(1)));
    let secrets = Secrets {
        current: secret(current),
        previous,
    };
    let receiver = Receiver::start(answer(204, "", "")).await;
    let url = format!("https://{NAME}:{}/hook", receiver.port);
    let sent = world
        .send_signed(&OrgId::new(at(0), 1), &url, &secrets, now)
        .await;
    assert_eq!(sent.error, None);
    receiver.requests().remove(0)
}

/// Deliveries, and whether who has the secret of ones should take them.
async fn deliveries() -> Vec<(&'static str, ReceivedRequest, bool)> {
    let world = World::new().await;
    let genuine = delivery(&world, 1, None, 0).await;
    let changed = |change: fn(&mut ReceivedRequest)| {
        let mut changed = genuine.clone();
        change(&mut changed);
        changed
    };
    let set = |name: &str, value: &str| {
        let mut changed = genuine.clone();
        changed.headers.insert(name.to_owned(), value.to_owned());
        changed
    };
    let unsigned = changed(|heard| {
        heard.headers.remove("webhook-signature");
    });
    vec![
        ("new, before the rotation", genuine.clone(), true),
        (
            "old, after a rotation",
            delivery(&world, 2, Some(1), 0).await,
            true,
        ),
        (
            "new, after a rotation",
            delivery(&world, 1, Some(2), 0).await,
            true,
        ),
        ("another secret", delivery(&world, 2, None, 0).await, false),
        (
            "an old delivery",
            delivery(&world, 1, None, 600).await,
            false,
        ),
        (
            "one of tomorrow",
            delivery(&world, 1, None, -600).await,
            false,
        ),
        ("another body", changed(|heard| heard.body[0] ^= 1), false),
        ("another id", set("webhook-id", "evt_other"), false),
        (
            "a later time",
            set("webhook-timestamp", &(now_seconds() + 60).to_string()),
            false,
        ),
        ("no time", set("webhook-timestamp", "x"), false),
        ("no signature", unsigned, false),
        ("an empty signature", set("webhook-signature", ""), false),
        ("an empty v1", set("webhook-signature", "v1,"), false),
        (
            "nonsense",
            set("webhook-signature", "v1 , v1,%%% ,,"),
            false,
        ),
    ]
}

/// The block of that language.
fn example(language: &str) -> String {
    let page = std::fs::read_to_string(repository().join("docs/webhooks.md")).unwrap();
    let begin = format!("```{language}\n");
    let (_, rest) = page.split_once(&begin).unwrap();
    rest.split_once("\n```").unwrap().0.to_owned() + "\n"
}

struct Running {
    child: Child,
    port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Running {
    /// Started with the secret of ones; it says which port it has.
    fn start(command: &mut Command) -> Running {
        command
            .env("PORT", "0")
            .env("WEBHOOK_SECRET", secret(1).reveal());
        let child = command.stdout(Stdio::piped()).spawn();
        let mut running = Running {
            child: child.unwrap(),
            port: 0,
        };
        let mut line = String::new();
        let mut output = BufReader::new(running.child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        running.port = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        running
    }

    /// What it answers to this request, in the clear.
    fn status(&self, heard: &ReceivedRequest) -> u16 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(ANSWER)).unwrap();
        let headers = heard.headers.iter();
        let headers: String = headers
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let head = format!("{}\r\n{headers}connection: close\r\n\r\n", heard.line);
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&heard.body).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        String::from_utf8_lossy(&status[9..]).parse().unwrap()
    }
}

async fn judges(command: &mut Command) {
    let running = Running::start(command);
    for (what, heard, is_genuine) in deliveries().await {
        let expected = if is_genuine { 204 } else { 401 };
        assert_eq!(running.status(&heard), expected, "{what}");
    }
}

fn written(dir: &Path, name: &str, language: &str) -> String {
    let file = dir.join(name);
    std::fs::write(&file, example(language)).unwrap();
    file.display().to_string()
}

#[tokio::test]
async fn the_receiver_in_python_takes_what_is_genuine() {
    let test = "examples::the_receiver_in_python_takes_what_is_genuine";
    if let Some(mut python) = found(test, "python3", &["--version"]) {
        let dir = tempfile::tempdir().unwrap();
        let file = written(dir.path(), "receiver.py", "python");
        judges(python.arg(file).stderr(Stdio::null())).await;
    }
}

#[tokio::test]
async fn the_receiver_in_javascript_takes_what_is_genuine() {
    let test = "examples::the_receiver_in_javascript_takes_what_is_genuine";
    if let Some(mut node) = found(test, "node", &["--version"]) {
        let dir = tempfile::tempdir().unwrap();
        judges(node.arg(written(dir.path(), "receiver.mjs", "javascript"))).await;
    }
}

#[tokio::test]
async fn the_receiver_in_go_takes_what_is_genuine() {
    let test = "examples::the_receiver_in_go_takes_what_is_genuine";
    if let Some(mut go) = found(test, "go", &["version"]) {
        let dir = tempfile::tempdir().unwrap();
        let file = written(dir.path(), "receiver.go", "go");
        let program = dir.path().join("receiver");
        output(
            go.args(["build", "-o"])
                .arg(&program)
                .arg(file)
                .env("GOCACHE", dir.path()),
        );
        judges(&mut Command::new(program)).await;
    }
}

#[tokio::test]
async fn the_receiver_in_rust_takes_what_is_genuine() {
    assert_eq!(
        example("rust"),
        include_str!("rust_receiver.rs"),
        "docs/webhooks.md shows another"
    );
    let secret = secret(1).reveal();
    for (what, heard, is_genuine) in deliveries().await {
        let headers = heard.headers.iter().map(|(name, value)| {
            let name = HeaderName::try_from(name).unwrap();
            (name, HeaderValue::try_from(value).unwrap())
        });
        let headers: HeaderMap = headers.collect();
        let judged = rust_receiver::is_genuine(&headers, &heard.body, &secret, now_seconds());
        assert_eq!(judged, is_genuine, "{what}");
    }
}
