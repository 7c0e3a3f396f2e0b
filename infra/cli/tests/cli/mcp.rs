//! `awo mcp`: messages on standard input, answers on standard output.

use serde_json::{Value, json};

use crate::call::{KEY, command, fed};
use crate::double::{Double, Reply};

async fn answered(double: &Double, input: &str) -> (Vec<Value>, i32, String) {
    let mut command = command(["mcp"]);
    command.env("AWO_URL", &double.url).env("AWO_API_KEY", KEY);
    let output = fed(command, input).await;
    let lines = output.out.lines();
    let lines = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (lines, output.code, output.err)
}

#[tokio::test]
async fn each_line_is_a_message_and_each_answer_is_a_line() {
    let double = Double::start(|request, _| {
        let id = request.body.get("id").cloned();
        match id {
            Some(id) => Reply::of(
                200,
                json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string(),
            ),
            None => Reply::of(202, ""),
        }
    })
    .await;
    let call = json!({ "jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {
        "name": "größe", "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } } });
    let input = format!(
        "{}\n\n{}\n{call}",
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    );
    let (mut answers, code, err) = answered(&double, &input).await;
    assert_eq!(code, 0, "{err}");
    answers.sort_by_key(ToString::to_string);
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("b"), &json!(1)]);
    let requests = double.seen();
    let call = requests
        .iter()
        .find(|request| request.body["id"] == "b")
        .unwrap();
    let header = |name: &str| call.headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(call.route(), "POST /mcp");
    assert_eq!(header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(header("mcp-method"), Some("tools/call"));
    assert_eq!(header("mcp-name"), Some("=?base64?Z3LDtsOfZQ==?="));
    assert_eq!(header("authorization"), Some(&*format!("Bearer {KEY}")));
}

#[tokio::test]
async fn a_refusal_of_the_api_is_an_error_of_the_message() {
    let double = Double::start(|_, _| {
        let error = json!({ "error": { "code": "UNAUTHORIZED", "message": "no good key" } });
        Reply::of(401, error.to_string())
    })
    .await;
    let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }).to_string();
    let (answers, code, _) = answered(&double, &ping).await;
    assert_eq!(code, 0);
    assert_eq!(answers[0]["id"], 7);
    assert_eq!(answers[0]["error"]["message"], "no good key");
}

#[tokio::test]
async fn a_message_that_never_ends_is_refused() {
    let double = Double::start(|_, _| Reply::of(200, "{}")).await;
    let (_, code, err) = answered(&double, &"x".repeat(300_000)).await;
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("262144 bytes"), "{err}");
}
