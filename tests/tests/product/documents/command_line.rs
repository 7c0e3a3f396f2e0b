//! What docs/cli.md says to type.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::blocks::{alternatives, block_of, commands, filled};
use super::reader::Reader;

const PAGE: &str = "docs/cli.md";
const LIMIT: Duration = Duration::from_secs(60);
/// It writes how it was called.
const AGENT: &str = "#!/bin/sh\necho \"called with $*\" > CALLED.md\n";
const FILES: [(&str, &str); 3] = [
    (
        ".awo/agent.sh",
        "#!/bin/sh\ncat \"$AWO_PROMPT_FILE\" >> NOTES.md\n",
    ),
    ("my-agent", AGENT),
    ("Makefile", "test:\n\ttest -e my-agent\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_in_a_repository_end_with_the_change_in_the_working_copy() {
    let reader = Reader::started(&FILES, &[]);
    std::fs::write(reader.project().join("task.md"), "Fix it\n").unwrap();
    let block = block_of(PAGE, "make run");
    // The service runs already, as the front page's test starts it.
    let (_, commands) = block.split_once('\n').unwrap();
    let shown = reader.ran(commands);
    let orders = reader.local().client.get("/v1/work-orders").await.body;
    let tasks: Vec<&str> = orders["workOrders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|order| {
            assert_eq!(order["status"], "succeeded", "{order}");
            order["taskPrompt"].as_str().unwrap()
        })
        .collect();
    assert_eq!(tasks, ["Fix it", "Fix the failing tests"], "{shown}");
    let applied = std::fs::read_to_string(reader.project().join("CALLED.md")).unwrap();
    assert_eq!(applied, "called with --fast\n");
}

#[test]
fn contexts_select_the_service() {
    let reader = Reader::started(&FILES, &[]);
    let client = &reader.local().client;
    let (url, key) = (client.base_url(), client.key().unwrap());
    let lines = commands(&block_of(PAGE, "awo login"));
    let [login, contexts, with_one] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    let login = filled(login, &[("https://awo.example.com", url)]);
    // Twice, the second time under the name that the page uses below.
    for name in ["", " --name staging"] {
        reader.ran(&format!("echo {key} | {login}{name}"));
    }
    let named = |script: &str| reader.ran(&script.replace("NAME", "staging"));
    let current = || reader.json("awo context show --json")["context"].clone();
    assert_eq!(reader.json(&format!("{with_one} --json"))["total"], 0);
    reader.ran("awo context use local");
    for command in alternatives(contexts) {
        let shown = named(&command);
        match command.split_whitespace().nth(2).unwrap() {
            "list" => assert!(shown.contains("staging") && !shown.contains(key), "{shown}"),
            "use" => assert_eq!(current(), "staging"),
            "show" => assert!(shown.contains(url), "{shown}"),
            "delete" => assert!(!reader.ran("awo context list").contains("staging")),
            other => panic!("{other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_work_orders_are_started_again_by_one_line() {
    let reader = Reader::started(&FILES, &[]);
    for _ in 0..2 {
        let failing = "awo submit --prompt no --max-iterations 1 --follow -- false";
        assert_eq!(reader.shell(failing).code, Some(1));
    }
    assert_eq!(reader.json("awo runs --json")["total"], 2);
    reader.ran(&block_of(PAGE, "awo list --status failed"));
    assert_eq!(reader.json("awo runs --json")["total"], 4);
    assert_eq!(reader.json("awo list --json")["total"], 2);
}

#[test]
fn completions_and_manual_pages_are_where_shells_and_man_find_them() {
    let reader = Reader::new(&[]);
    reader.ran(&block_of(PAGE, "mkdir -p ~/.local/share/bash-completion"));
    let completed = "source ~/.local/share/bash-completion/completions/awo; \
        COMP_WORDS=(awo fin); COMP_CWORD=1; _awo awo fin awo; echo \"${COMPREPLY[@]}\"";
    assert_eq!(reader.ran(completed).trim(), "finance");
    for page in ["awo.1", "awo-submit.1"] {
        let page = reader.home().join(".local/share/man/man1").join(page);
        assert!(std::fs::read_to_string(page).unwrap().contains(".SH NAME"));
    }
}

/// What a receiver of events without TLS was sent: signatures and bodies.
type ReceivedEvents = Arc<Mutex<Vec<(String, Value)>>>;

fn receiver() -> (String, ReceivedEvents) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let received = ReceivedEvents::default();
    let all = Arc::clone(&received);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if let Some(event) = receive(stream.unwrap()) {
                all.lock().unwrap().push(event);
            }
        }
    });
    (url, received)
}

fn receive(mut stream: TcpStream) -> Option<(String, Value)> {
    let (mut text, mut piece) = (Vec::new(), [0; 4_096]);
    loop {
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        text.extend_from_slice(&piece[..read]);
        let whole = String::from_utf8_lossy(&text);
        let Some((head, body)) = whole.split_once("\r\n\r\n") else {
            continue;
        };
        if let Ok(body) = serde_json::from_str(body) {
            let head = head.to_lowercase();
            let answer = "HTTP/1.1 204 X\r\nconnection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).ok()?;
            let signature = head
                .lines()
                .find(|line| line.starts_with("webhook-signature: v1,"));
            return Some((signature.unwrap_or_default().to_owned(), body));
        }
    }
}

fn until_received(received: &ReceivedEvents, kind: &str, count: usize) {
    let begun = Instant::now();
    loop {
        let all = received.lock().unwrap().clone();
        let of_kind = all.iter().filter(|(_, body)| body["type"] == kind);
        if of_kind.count() >= count {
            assert!(all.iter().all(|(signature, _)| !signature.is_empty()));
            return;
        }
        assert!(begun.elapsed() < LIMIT, "{count} {kind} are not in {all:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_commands_for_developing_post_events_to_a_receiver_of_ones_own() {
    let reader = Reader::started(&FILES, &[]);
    let (url, received) = receiver();
    let lines = commands(&block_of(PAGE, "awo listen --forward-to"));
    let [listen, trigger, secret] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    let listen = filled(listen, &[("http://localhost:3000/hook", &url)]);
    let listening = reader.begin(&listen);
    listening.shows(&url);
    reader.ran("awo submit --prompt note --follow");
    until_received(&received, "run.completed", 1);
    reader.ran(trigger);
    until_received(&received, "run.completed", 2);
    assert!(reader.ran(secret).starts_with("whsec_"));
}
