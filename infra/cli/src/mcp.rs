//! `awo mcp`: the Model Context Protocol on standard input and output. Each line is a message, which the
//! service answers; the key stays here.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;

const PATH: &str = "/mcp";
/// Messages that wait for an answer at once: a tool may wait for half a minute.
const MAX_CALLS: usize = 8;
/// Longest message, with its line end; the service takes no longer one.
const MAX_LINE: u64 = 262_145;
/// The error of a call that the service refused, or never answered.
const NOT_ANSWERED: i32 = -32000;
/// Where a request names its version of the protocol.
const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// Answers messages until the input ends.
pub async fn run(client: Client, output: &Output) -> Result<(), Failure> {
    // Standard output has messages and nothing else.
    if io::stdin().is_terminal() {
        eprintln!(
            "Reading messages of the Model Context Protocol, one a line; programs start this command."
        );
    }
    let client = Arc::new(client);
    let mut messages = messages();
    let mut calls = JoinSet::new();
    let mut is_over = false;
    while !is_over || !calls.is_empty() {
        tokio::select! {
            Some(answer) = calls.join_next(), if !calls.is_empty() => {
                let answer: Option<String> = answer.map_err(|why| Failure::Broken(why.to_string()))?;
                if let Some(answer) = answer {
                    output.line(&answer)?;
                }
            }
            message = messages.recv(), if !is_over && calls.len() < MAX_CALLS => match message {
                Some(message) => {
                    let message = message.map_err(|why| {
                        Failure::Broken(format!("cannot read the input: {why}"))
                    })?;
                    let client = Arc::clone(&client);
                    calls.spawn(async move { answer(&client, message).await });
                }
                None => is_over = true,
            },
            _ = tokio::signal::ctrl_c() => return Err(Failure::Interrupted),
        }
    }
    Ok(())
}

/// The lines of standard input, from a thread of their own: there is no other way to wait for them.
fn messages() -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let line = read_line(&mut input).transpose();
            let Some(line) = line else { return };
            let is_broken = line.is_err();
            if sender.blocking_send(line).is_err() || is_broken {
                return;
            }
        }
    });
    receiver
}

/// The next line that is not empty; none at the end of the input.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    loop {
        let mut line = Vec::new();
        if input.take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") && u64::try_from(line.len()) == Ok(MAX_LINE) {
            let why = format!("a message has more than {} bytes", MAX_LINE - 1);
            return Err(io::Error::other(why));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(line));
        }
    }
}

/// The answer in one line; none to a notification.
async fn answer(client: &Client, message: Vec<u8>) -> Option<String> {
    // What does not read is answered by the service, as the protocol has it.
    let read: Value = serde_json::from_slice(&message).unwrap_or_default();
    let answer = client.post_message(PATH, message, headers(&read)).await;
    let failure = match answer {
        Ok(text) if text.trim().is_empty() => return None,
        Ok(text) => match serde_json::from_str::<Value>(&text) {
            Ok(answer) if answer.get("jsonrpc").is_some() => return Some(answer.to_string()),
            Ok(refusal) => refusal
                .pointer("/error/message")
                .and_then(Value::as_str)
                .map(str::to_owned),
            Err(_) => None,
        },
        Err(failure) => failure.text(),
    };
    let message =
        failure.unwrap_or_else(|| "the service gave no answer of the protocol".to_owned());
    let id = read.get("id")?;
    let error = json!({ "code": NOT_ANSWERED, "message": message });
    Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
}

/// The headers that repeat parts of a message, for those that have them.
fn headers(message: &Value) -> Vec<(&'static str, HeaderValue)> {
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    let Some(version) = text(VERSION) else {
        return Vec::new();
    };
    let is_call = text("/method") == Some("tools/call");
    let parts = [
        ("mcp-protocol-version", Some(version)),
        ("mcp-method", text("/method")),
        ("mcp-name", text("/params/name").filter(|_| is_call)),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(name, part)| Some((name, part?)));
    parts
        .filter_map(|(name, part)| Some((name, header(part)?)))
        .collect()
}

/// Text that is no plain ASCII travels in Base64.
fn header(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|b| (b' '..=b'~').contains(&b)) && text.trim() == text;
    if is_plain {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))).ok()
}
