//! Output and exit codes of successes and failures.

use serde_json::json;

use crate::call::{CallOutput, KEY, at, command, fed};
use crate::double::{Double, Reply};

const WO: &str = "wo_01k0000000000000000000000a";
const RUN: &str = "run_01k0000000000000000000000b";

fn order() -> String {
    // Odd white space: what comes out must be what came in, not a rewriting of it.
    format!(
        r#"{{"id":"{WO}", "runId":"{RUN}","status":"queued","taskPrompt":"do","workspaceSource":
        {{"type":"git","repository":"https://example.com/a"}},"maxIterations":5,"createdAt":"2026-11-20T08:00:00.000Z"}}"#
    )
}

const REFUSED: &str = r#"{"error":{"code":"BAD_REQUEST","message":"two faults","details":{"errors":[
    {"path":"/workspaceSource/repository","message":"must be an https:// URL"},
    {"path":"/limits/maxDurationMs","message":"must be from 1000 to 86400000"}]}}}"#;

const SUBMIT: [&str; 5] = [
    "submit",
    "--repo",
    "https://example.com/a",
    "--prompt",
    "do",
];

#[tokio::test]
async fn a_refusal_is_shown_with_every_fault_and_what_to_do() {
    let double = Double::start(|_, _| Reply::of(400, REFUSED)).await;
    let called = at(&double.url, &SUBMIT).await;
    assert_eq!((called.code, called.out.as_str()), (3, ""));
    for part in [
        "BAD_REQUEST",
        "--repo must be an https:// URL",
        "--max-duration must be from 1000 to 86400000",
        "request id: req-of-the-double",
    ] {
        assert!(called.err.contains(part), "{part} in {}", called.err);
    }
    assert_eq!(double.seen().len(), 1, "a refusal is not tried again");
}

#[tokio::test]
async fn json_is_the_apis_own_and_alone_on_standard_output() {
    let double = Double::start(|seen, _| match seen.target.as_str() {
        "/v1/work-orders" => Reply::of(201, order()),
        "/v1/credits" => Reply::of(200, "{\"balance\": 1.50}"),
        "/v1/credits/usage?limit=10" => Reply::of(200, "{\"transactions\": []}"),
        "/v1/runs?workOrderId=wo_01k0000000000000000000000a&status=failed&limit=20" => {
            Reply::of(200, "{\"runs\": [],\"total\":0}")
        }
        _ => Reply::of(400, REFUSED),
    })
    .await;
    let submit = [&SUBMIT[..], &["--json"]].concat();
    let cases: [(&[&str], String); 4] = [
        (&submit, order()),
        (&["credits", "--json"], "{\"balance\": 1.50}".to_owned()),
        (
            &["credits", "--transactions", "--json"],
            "{\"transactions\": []}".to_owned(),
        ),
        (
            &["runs", "--work-order", WO, "--status", "failed", "--json"],
            "{\"runs\": [],\"total\":0}".to_owned(),
        ),
    ];
    for (args, wanted) in cases {
        let called = at(&double.url, args).await;
        assert_eq!(called.out, format!("{wanted}\n"), "{args:?}");
        assert_eq!((called.code, called.err.as_str()), (0, ""), "{args:?}");
    }
    let refused = at(&double.url, &["get", RUN, "--json"]).await;
    assert_eq!(refused.code, 3);
    assert_eq!(refused.out, format!("{REFUSED}\n"));
}

#[tokio::test]
async fn a_submission_is_made_once_however_often_it_is_sent() {
    let double = Double::start(|_, number| match number {
        0 | 1 => Reply::of(503, r#"{"message":"the gateway's own words"}"#),
        _ => Reply::of(201, order()),
    })
    .await;
    let called = at(&double.url, &SUBMIT).await;
    assert_eq!(called.code, 0, "{called:?}");
    assert!(
        called.out.contains(WO) && called.out.contains(RUN),
        "{}",
        called.out
    );
    let seen = double.seen();
    let keys: Vec<_> = seen
        .iter()
        .map(|s| s.headers["idempotency-key"].clone())
        .collect();
    assert_eq!(keys.len(), 3);
    assert!(
        keys.iter().all(|key| *key == keys[0] && key.len() >= 32),
        "{keys:?}"
    );
    let source = json!({"type": "git", "repository": "https://example.com/a"});
    assert_eq!(
        seen[2].body,
        json!({"taskPrompt": "do", "workspaceSource": source})
    );
    assert_eq!(seen[2].headers["authorization"], format!("Bearer {KEY}"));
    at(&double.url, &SUBMIT).await;
    assert_ne!(double.seen()[3].headers["idempotency-key"], keys[0]);
}

#[tokio::test]
async fn the_key_is_not_sent_where_it_could_be_read() {
    for url in [
        "http://example.com",
        "http://10.0.0.1:80",
        "ftp://127.0.0.1",
        "nonsense",
    ] {
        let called = at(url, &["credits"]).await;
        assert_eq!(called.code, 2, "{called:?}");
    }
    let elsewhere = Double::start(|_, _| Reply::of(200, "{}")).await;
    let target: &'static str = Box::leak(elsewhere.url.clone().into_boxed_str());
    let double = Double::start(move |_, _| Reply {
        headers: vec![("location", target)],
        ..Reply::of(302, "")
    })
    .await;
    assert_eq!(at(&double.url, &["credits"]).await.code, 3);
    assert!(elsewhere.seen().is_empty(), "a redirect was followed");
    let proxied = command(["credits", "--json"])
        .envs([
            ("AWO_URL", double.url.as_str()),
            ("AWO_API_KEY", KEY),
            ("HTTP_PROXY", target),
        ])
        .output()
        .await;
    assert_eq!(CallOutput::of(proxied.unwrap()).code, 3);
    assert!(elsewhere.seen().is_empty(), "a proxy received the key");
}

#[tokio::test]
async fn exit_codes_distinguish_faults() {
    let nobody = at("http://127.0.0.1:9", &["credits"]).await;
    assert_eq!(nobody.code, 4, "{nobody:?}");
    assert!(nobody.err.contains("make run"), "{}", nobody.err);
    for wrong in [
        &["get", "nonsense"][..],
        &["submit"],
        &["list", "--status", "x"],
        &[],
    ] {
        assert_eq!(at("http://127.0.0.1:9", wrong).await.code, 2, "{wrong:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    let here = command(["credits"]).current_dir(dir.path()).output().await;
    let called = CallOutput::of(here.unwrap());
    assert_eq!(called.code, 4, "{called:?}");
    assert!(called.err.contains("make run"), "{}", called.err);
    let double = Double::start(|_, _| Reply::of(200, "<html>")).await;
    assert_eq!(at(&double.url, &["get", RUN]).await.code, 3);
}

#[tokio::test]
async fn what_comes_from_outside_does_not_steer_the_terminal() {
    let hostile = order().replace("\"do\"", "\"\\u001b]0;title\\u0007\\u001b[2Jdo\"");
    let double = Double::start(move |_, _| Reply::of(200, hostile.clone())).await;
    let called = at(&double.url, &["get", WO]).await;
    assert!(called.out.contains("]0;title"), "{}", called.out);
    assert!(
        !called.out.contains('\u{1b}') && !called.out.contains('\u{7}'),
        "{called:?}"
    );
}

#[tokio::test]
async fn a_whole_list_is_read_page_by_page() {
    let double = Double::start(|seen, _| {
        let first = !seen.target.contains("cursor=");
        let cursor = if first {
            r#","nextCursor":"a+b/c""#
        } else {
            ""
        };
        let id = if first {
            WO
        } else {
            "wo_01k0000000000000000000000z"
        };
        let order = order().replace(WO, id);
        Reply::of(
            200,
            format!(r#"{{"workOrders":[{order}],"total":2{cursor}}}"#),
        )
    })
    .await;
    let called = at(&double.url, &["list", "--all", "--json"]).await;
    let list = called.json();
    assert_eq!(
        (list["workOrders"].as_array().unwrap().len(), &list["total"]),
        (2, &json!(2))
    );
    assert!(
        double.seen()[1].target.contains("cursor=a%2Bb%2Fc"),
        "{:?}",
        double.seen()[1]
    );
    let table = at(&double.url, &["list"]).await;
    assert!(
        table.out.contains(WO) && table.out.contains("1 of 2"),
        "{}",
        table.out
    );
}

#[tokio::test]
async fn prompts_and_keys_come_from_files_too() {
    let double = Double::start(|_, _| Reply::of(201, order())).await;
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    std::fs::write(&key, "org_live_of_a_file\n").unwrap();
    let mut call = command(["submit", "--repo", "https://example.com/a", "--prompt", "-"]);
    call.arg("--api-key-file")
        .arg(&key)
        .args(["--url", &double.url]);
    let called = fed(call, "from standard input\n").await;
    assert_eq!(called.code, 0, "{called:?}");
    let seen = double.seen();
    assert_eq!(seen[0].body["taskPrompt"], "from standard input");
    assert_eq!(
        seen[0].headers["authorization"],
        "Bearer org_live_of_a_file"
    );
}
