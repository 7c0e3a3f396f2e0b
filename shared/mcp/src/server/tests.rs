//! Messages and their answers, over an API that records its calls.

mod of_tools;

use std::sync::Mutex;
use std::time::Duration;

use awo_domain::api_key::Scope;
use serde_json::{Value, json};

use super::{Reply, Server};
use crate::api::{Api, ApiRequest, ApiResponse, Unreachable};
use crate::headers::Headers;

const ORDER: &str = "wo_01kb4x00000000000000000000";
const RUN: &str = "run_01kb4x00000000000000000000";

/// An API that gives these answers in turn.
#[derive(Debug, Default)]
struct ApiDouble {
    answers: Mutex<Vec<(u16, Value)>>,
    calls: Mutex<Vec<ApiRequest>>,
    pauses: Mutex<Duration>,
}

impl ApiDouble {
    fn of(answers: &[(u16, Value)]) -> ApiDouble {
        let answers = answers.iter().rev().cloned().collect();
        ApiDouble {
            answers: Mutex::new(answers),
            ..ApiDouble::default()
        }
    }

    fn first_call(&self) -> ApiRequest {
        self.calls.lock().unwrap()[0].clone()
    }
}

impl Api for &ApiDouble {
    async fn call(&self, request: ApiRequest) -> Result<ApiResponse, Unreachable> {
        self.calls.lock().unwrap().push(request);
        let mut answers = self.answers.lock().unwrap();
        // The last one stays.
        let answer = if answers.len() > 1 {
            answers.pop()
        } else {
            answers.last().cloned()
        };
        let answer = answer.ok_or_else(|| Unreachable("nobody is there".to_owned()))?;
        Ok(ApiResponse {
            status: answer.0,
            body: answer.1,
        })
    }

    fn elapsed(&self) -> Duration {
        *self.pauses.lock().unwrap()
    }

    async fn pause(&self, time: Duration) {
        *self.pauses.lock().unwrap() += time;
    }
}

fn current(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

fn earlier(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params })
}

async fn sent(api: &ApiDouble, headers: Headers<'_>, message: &Value) -> Reply {
    let server = Server {
        api,
        scopes: &[Scope::All],
    };
    server.answer(headers, message.to_string().as_bytes()).await
}

/// The answer to a client of the version before.
async fn replied(api: &ApiDouble, method: &str, params: Value) -> Value {
    let reply = sent(api, Headers::default(), &earlier(method, &params)).await;
    assert_eq!(reply.status, 200);
    reply.body.unwrap()
}

async fn called(api: &ApiDouble, name: &str, arguments: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    replied(api, "tools/call", params).await["result"].take()
}

fn fault(reply: Reply) -> (u16, i64) {
    let body = reply.body.unwrap();
    (reply.status, body["error"]["code"].as_i64().unwrap())
}

/// What a tool says is wrong.
fn error(result: &Value) -> Value {
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str::<Value>(text).unwrap()["error"].take()
}

#[tokio::test]
async fn a_client_of_the_current_version_discovers_lists_and_calls() {
    let api = ApiDouble::of(&[(200, json!({ "id": ORDER }))]);
    let headers = |method, name| Headers {
        version: Some("2026-07-28"),
        method: Some(method),
        name,
    };
    let discover = current("server/discover", json!({}));
    let reply = sent(&api, headers("server/discover", None), &discover).await;
    let result = &reply.body.unwrap()["result"];
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["resultType"], "complete");
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "awo");
    let list = current("tools/list", json!({}));
    let reply = sent(&api, headers("tools/list", None), &list).await;
    let result = &reply.body.unwrap()["result"];
    assert_eq!(result["tools"].as_array().unwrap().len(), 10);
    assert_eq!(result["cacheScope"], "private");
    let call = json!({ "name": "get_work_order", "arguments": { "workOrderId": ORDER } });
    let call = current("tools/call", call);
    for name in ["get_work_order", "=?base64?Z2V0X3dvcmtfb3JkZXI=?="] {
        let reply = sent(&api, headers("tools/call", Some(name)), &call).await;
        let result = &reply.body.unwrap()["result"];
        assert_eq!(result["structuredContent"]["id"], ORDER);
        assert_eq!(result["isError"], false);
    }
}

#[tokio::test]
async fn headers_that_are_missing_or_differ_are_refused() {
    let api = ApiDouble::default();
    let list = current("tools/list", json!({}));
    let good = Headers {
        version: Some("2026-07-28"),
        method: Some("tools/list"),
        name: None,
    };
    let bad = [
        Headers::default(),
        Headers {
            version: Some("2025-11-25"),
            ..good
        },
        Headers {
            method: Some("tools/call"),
            ..good
        },
    ];
    for headers in bad {
        assert_eq!(fault(sent(&api, headers, &list).await), (400, -32020));
    }
    let call = current("tools/call", json!({ "name": "get_usage" }));
    let headers = Headers {
        method: Some("tools/call"),
        name: Some("get_logs"),
        ..good
    };
    assert_eq!(fault(sent(&api, headers, &call).await), (400, -32020));
    assert!(api.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_a_request_of_the_current_version_lacks_is_named() {
    let api = ApiDouble::default();
    let headers = Headers {
        version: Some("2026-07-28"),
        method: Some("tools/list"),
        name: None,
    };
    let bare = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(fault(sent(&api, headers, &bare).await), (400, -32602));
    let ping = current("ping", json!({}));
    let headers = Headers {
        method: Some("ping"),
        ..headers
    };
    assert_eq!(fault(sent(&api, headers, &ping).await), (404, -32601));
    let mut future = current("tools/list", json!({}));
    future["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let headers = Headers {
        version: Some("2099-01-01"),
        method: Some("tools/list"),
        name: None,
    };
    let reply = sent(&api, headers, &future).await;
    let supported = &reply.body.as_ref().unwrap()["error"]["data"]["supported"];
    assert_eq!(supported[0], "2026-07-28");
    assert_eq!(fault(reply), (400, -32022));
}

#[tokio::test]
async fn a_client_of_the_version_before_shakes_hands_without_a_session() {
    let api = ApiDouble::default();
    for (requested, version) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        let params = json!({ "protocolVersion": requested, "capabilities": {} });
        let answer = replied(&api, "initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["id"], "a");
    }
    assert_eq!(replied(&api, "ping", json!({})).await["result"], json!({}));
    let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let reply = sent(&api, Headers::default(), &done).await;
    assert_eq!((reply.status, reply.body), (202, None));
    let answer = replied(&api, "resources/list", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601);
    let headers = Headers {
        version: Some("1900-01-01"),
        ..Headers::default()
    };
    let ping = earlier("ping", &json!({}));
    assert_eq!(fault(sent(&api, headers, &ping).await), (400, -32022));
}

#[tokio::test]
async fn what_is_no_request_is_a_fault_of_the_protocol() {
    let api = ApiDouble::default();
    let server = Server {
        api: &api,
        scopes: &[],
    };
    for (body, code) in [
        ("{", -32700),
        ("\u{0}", -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#""ping""#, -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            -32600,
        ),
    ] {
        let reply = server.answer(Headers::default(), body.as_bytes()).await;
        assert_eq!(fault(reply), (400, code), "{body}");
    }
    for params in [
        json!({}),
        json!({ "name": "rm" }),
        json!({ "name": "get_usage", "arguments": [] }),
    ] {
        let answer = replied(&api, "tools/call", params).await;
        assert_eq!(answer["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn a_key_is_shown_the_tools_of_its_scopes() {
    let api = ApiDouble::default();
    let names = async |scopes: &[Scope]| {
        let server = Server { api: &api, scopes };
        let list = earlier("tools/list", &json!({})).to_string();
        let reply = server.answer(Headers::default(), list.as_bytes()).await;
        let tools = reply.body.unwrap()["result"]["tools"].take();
        let names = tools.as_array().unwrap().iter();
        let names = names.map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&[]).await, "");
    assert_eq!(names(&[Scope::CreditsRead]).await, "get_usage");
    assert_eq!(
        names(&[Scope::RunsRead]).await,
        "get_checks get_diff get_logs"
    );
    let reads = "get_work_order list_work_orders wait_for_work_order";
    assert_eq!(names(&[Scope::WorkOrdersRead]).await, reads);
    let writes = "submit_work_order follow_up cancel_work_order";
    assert_eq!(names(&[Scope::WorkOrdersWrite]).await, writes);
}
