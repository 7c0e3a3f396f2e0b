//! Diffs of runs, and permanent deletion.

use std::io::Read;

use serde_json::{Value, json};

use crate::call::{KEY, at, command};
use crate::double::{Double, ReceivedRequest, Reply};

const WO: &str = "wo_01k0000000000000000000000a";
const RUN: &str = "run_01k0000000000000000000000b";
const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\u{1b}[2J\n";

fn diff(truncated: bool) -> String {
    json!({"runId": RUN, "iteration": 2, "baseCommit": "c0", "commit": "c1", "diff": DIFF,
        "bytes": 5_000, "truncated": truncated})
    .to_string()
}

fn purged(body: &Value) -> String {
    let data = if body["dryRun"] == true {
        json!({"deletedCount": 0, "deletedIds": [], "wouldDelete": 3})
    } else {
        json!({"deletedCount": 1, "deletedIds": [WO]})
    };
    json!({"success": true, "data": data, "requestId": "r"}).to_string()
}

#[tokio::test]
async fn a_diff_is_a_patch_without_a_terminal_and_reports_a_cut() {
    let double = Double::start(|seen: &ReceivedRequest, _| match seen.route().as_str() {
        path if path.ends_with("/diff") => Reply::of(200, diff(true)),
        other => panic!("{other}"),
    })
    .await;
    let called = at(&double.url, &["diff", RUN]).await;
    assert_eq!((called.code, called.out.as_str()), (1, DIFF), "{called:?}");
    assert!(called.err.contains("of 5000 bytes"), "{called:?}");
    let called = at(&double.url, &["diff", RUN, "--json"]).await;
    assert_eq!(called.json()["diff"], DIFF);
}

#[tokio::test]
async fn a_diff_on_a_terminal_steers_nothing_with_colours_or_without() {
    let double = Double::start(|_: &ReceivedRequest, _| Reply::of(200, diff(false))).await;
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "xterm")] {
        let terminal = nix::pty::openpty(None, None).unwrap();
        let mut called = command(["diff", RUN]);
        called
            .env("AWO_URL", &double.url)
            .env("AWO_API_KEY", KEY)
            .env(name, value)
            .stdout(terminal.slave);
        let mut child = called.spawn().unwrap();
        // The command holds the terminal's other end too: without it the reading would not end.
        drop(called);
        assert!(child.wait().await.unwrap().success());
        let mut shown = Vec::new();
        // A terminal whose programs are gone ends in an error.
        drop(std::fs::File::from(terminal.master).read_to_end(&mut shown));
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains("+b"), "{name}={value}: {shown:?}");
        assert!(!shown.contains("\u{1b}[2J"), "{name}={value}: {shown:?}");
    }
}

#[tokio::test]
async fn a_run_without_a_commit_has_nothing_to_show() {
    let none = json!({"runId": RUN, "diff": "", "bytes": 0, "truncated": false}).to_string();
    let double = Double::start(move |_: &ReceivedRequest, _| Reply::of(200, none.clone())).await;
    let called = at(&double.url, &["diff", RUN]).await;
    assert_eq!((called.code, called.out.as_str()), (0, ""), "{called:?}");
    assert!(called.err.contains("has no commit yet"), "{called:?}");
}

#[tokio::test]
async fn a_purge_asks_before_it_deletes_and_without_anybody_to_ask_it_deletes_nothing() {
    let double =
        Double::start(|seen: &ReceivedRequest, _| Reply::of(200, purged(&seen.body))).await;
    let refused = at(&double.url, &["purge"]).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("--yes") && double.seen().is_empty());

    let counted = at(&double.url, &["purge", "--dry-run", "--status", "failed"]).await;
    assert_eq!(counted.out, "would delete 3 work orders\n", "{counted:?}");
    let wanted = json!({"statuses": ["failed"], "dryRun": true});
    assert_eq!(double.seen()[0].body, wanted);

    let typed = [
        "purge",
        "--yes",
        "--older-than",
        "1.5",
        "--status",
        "failed",
        "--status",
        "queued",
    ];
    let deleted = at(&double.url, &typed).await;
    assert_eq!((deleted.code, deleted.out), (0, format!("{WO}\n")));
    assert!(
        deleted.err.contains("deleted 1 work order"),
        "{}",
        deleted.err
    );
    let wanted = json!({"statuses": ["failed", "queued"], "olderThanDays": 1.5, "dryRun": false});
    assert_eq!(double.seen()[1].body, wanted);
    let seen = &double.seen()[1];
    assert_eq!(seen.route(), "POST /api/v1/work-orders/purge");

    let json = at(&double.url, &["purge", "--yes", "--json"]).await;
    assert_eq!(json.json()["data"]["deletedCount"], 1);
}
