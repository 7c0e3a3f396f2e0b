//! A model provider on loopback, as far as the real programs need one: Anthropic's Messages and
//! OpenAI's Responses, as event streams. A program that offers a shell and has not used it since
//! the last prompt is asked to run a command; then the turn ends with text.

use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use axum::routing::post;
use serde_json::{Value, json};

/// What every answer has used, unless it is dear: input with the cache, read from it, written to it
/// (Anthropic's alone), output.
pub const USED: (u64, u64, u64, u64) = (600, 300, 200, 20);
/// What a failing verification says, and the next prompt with it.
pub const FAILURE: &str = "the answer is not right";

/// How the provider behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manners {
    Good,
    /// It has used ten thousand times as much.
    Dear,
    /// It accepts no key, and quotes the one that it got.
    RefusesKeys,
    /// It answers so many calls, and the others never.
    FallsSilent(usize),
}

/// A call as the provider sees it.
#[derive(Debug, Clone)]
pub struct Call {
    /// The key that came with it.
    pub key: String,
    pub body: Value,
}

#[derive(Clone)]
pub struct Models {
    pub url: String,
    manners: Manners,
    /// Run first by every command.
    first: &'static str,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Models {
    /// Serves until the test's runtime ends.
    pub async fn start(manners: Manners, first: &'static str) -> Models {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let models = Models {
            url: format!("http://{}", listener.local_addr().unwrap()),
            manners,
            first,
            calls: Arc::default(),
        };
        let app = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/responses", post(responses))
            .with_state(models.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        models
    }

    pub fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap()
    }

    /// Takes a call down; its number, from 1.
    fn take(&self, headers: &HeaderMap, body: &Value) -> usize {
        let keys = ["x-api-key", "authorization"];
        let key = keys.iter().find_map(|name| headers.get(*name)).unwrap();
        let mut calls = self.calls();
        calls.push(Call {
            key: key.to_str().unwrap().to_owned(),
            body: body.clone(),
        });
        calls.len()
    }

    fn command(&self, reported: &Value) -> String {
        let answer = if reported.to_string().contains(FAILURE) {
            "right"
        } else {
            "wrong"
        };
        format!("{}; echo {answer} > answer.txt", self.first)
    }

    /// Counts as they are, or dear.
    fn counts(&self) -> [u64; 4] {
        let (input, read, written, output) = USED;
        let factor = if self.manners == Manners::Dear {
            10_000
        } else {
            1
        };
        [input, read, written, output].map(|count| count * factor)
    }

    async fn answer(&self, call: usize, key: &str, events: Vec<Value>) -> Response<Body> {
        match self.manners {
            Manners::FallsSilent(after) if call > after => std::future::pending().await,
            Manners::RefusesKeys => {
                let error = json!({ "message": format!("{key} is no key"), "type": "authentication_error" });
                let body = json!({ "type": "error", "error": error }).to_string();
                reply(401, "application/json", body)
            }
            _ => {
                let events = events.iter().map(|event| {
                    let kind = event["type"].as_str().unwrap();
                    format!("event: {kind}\ndata: {event}\n\n")
                });
                reply(200, "text/event-stream", events.collect())
            }
        }
    }
}

fn reply(status: u16, kind: &str, body: String) -> Response<Body> {
    let reply = Response::builder().status(status);
    reply
        .header("content-type", kind)
        .body(Body::from(body))
        .unwrap()
}

async fn messages(State(models): State<Models>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let call = models.take(&headers, &body);
    let events = models.message(call, &body["model"], &body);
    let key = headers.get("x-api-key").unwrap().to_str().unwrap();
    models.answer(call, key, events).await
}

impl Models {
    /// A call by a session of Bedrock's; its number, from 1.
    pub fn take_of_bedrock(&self, token: &str, body: &Value) -> usize {
        let mut calls = self.calls();
        calls.push(Call {
            key: token.to_owned(),
            body: body.clone(),
        });
        calls.len()
    }

    /// The answer to a call of Messages, as events.
    pub fn message(&self, call: usize, model: &Value, body: &Value) -> Vec<Value> {
        message(self, call, model, body)
    }
}

fn message(models: &Models, call: usize, model: &Value, body: &Value) -> Vec<Value> {
    let reported = &body["messages"];
    let blocks = reported.as_array().unwrap().last().unwrap()["content"].as_array();
    let ran = blocks.is_some_and(|all| all.iter().any(|block| block["type"] == "tool_result"));
    let tools = body["tools"].as_array();
    let mut shell = tools
        .into_iter()
        .flatten()
        .filter_map(|t| t["name"].as_str());
    let shell = shell.find(|name| name.eq_ignore_ascii_case("bash"));
    let (block, delta, stop) = match shell.filter(|_| !ran) {
        Some(name) => {
            let input = json!({ "command": models.command(reported), "description": "write" });
            let block = json!({ "type": "tool_use", "id": format!("toolu_{call}"), "name": name, "input": {} });
            let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
            (block, delta, "tool_use")
        }
        None => {
            let block = json!({ "type": "text", "text": "" });
            (
                block,
                json!({ "type": "text_delta", "text": "Done." }),
                "end_turn",
            )
        }
    };
    let [input, read, written, output] = models.counts();
    let usage = json!({
        "input_tokens": input - read - written, "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read, "output_tokens": 1,
    });
    vec![
        json!({ "type": "message_start", "message": {
            "id": format!("msg_{call}"), "type": "message", "role": "assistant", "model": model,
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": { "output_tokens": output } }),
        json!({ "type": "message_stop" }),
    ]
}

async fn responses(
    State(models): State<Models>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let call = models.take(&headers, &body);
    let reported = &body["input"];
    let last = reported.as_array().unwrap().last().unwrap();
    let ran = last["type"] == "function_call_output";
    let shell = ["exec_command", "bash"].into_iter().find(|name| {
        let mut tools = body["tools"].as_array().into_iter().flatten();
        tools.any(|tool| tool["name"] == *name)
    });
    let item = match shell.filter(|_| !ran) {
        Some(name) => {
            let command = models.command(reported);
            let arguments = json!({ "cmd": command, "command": command, "description": "write" });
            json!({ "type": "function_call", "id": format!("fc_{call}"), "call_id": format!("call_{call}"),
                "name": name, "arguments": arguments.to_string(), "status": "completed" })
        }
        None => json!({ "type": "message", "id": format!("msg_{call}"), "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": "Done.", "annotations": [] }] }),
    };
    let [input, read, _, output] = models.counts();
    let usage = json!({
        "input_tokens": input, "input_tokens_details": { "cached_tokens": read },
        "output_tokens": output, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": input + output,
    });
    let whole = json!({ "id": format!("resp_{call}"), "object": "response", "created_at": 1,
        "model": body["model"], "status": "completed", "output": [item], "usage": usage });
    let mut begun = whole.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![json!({ "type": "response.created", "response": begun })];
    events.extend(item_events(&item));
    events.push(json!({ "type": "response.completed", "response": whole }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    let key = headers.get("authorization").unwrap().to_str().unwrap();
    models.answer(call, key, events).await
}

/// How an item comes, piece by piece.
fn item_events(item: &Value) -> Vec<Value> {
    let id = &item["id"];
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    let pieces = if item["type"] == "message" {
        begun["content"] = json!([]);
        let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
        let at = |kind: &str| json!({ "type": kind, "item_id": id, "output_index": 0, "content_index": 0 });
        let mut added = at("response.content_part.added");
        added["part"] = part("");
        let mut delta = at("response.output_text.delta");
        delta["delta"] = json!("Done.");
        let mut done = at("response.output_text.done");
        done["text"] = json!("Done.");
        let mut over = at("response.content_part.done");
        over["part"] = part("Done.");
        vec![added, delta, done, over]
    } else {
        begun["arguments"] = json!("");
        let name = "response.function_call_arguments";
        let arguments = &item["arguments"];
        vec![
            json!({ "type": format!("{name}.delta"), "item_id": id, "output_index": 0, "delta": arguments }),
            json!({ "type": format!("{name}.done"), "item_id": id, "output_index": 0, "arguments": arguments }),
        ]
    };
    let mut events =
        vec![json!({ "type": "response.output_item.added", "output_index": 0, "item": begun })];
    events.extend(pieces);
    events.push(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    events
}
