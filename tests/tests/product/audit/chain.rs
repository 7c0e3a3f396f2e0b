//! A client's own computation to verify an audit.

use awo_tests::client::Client;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// RFC 8785 for what profiles hold: names in order, no white space, numbers as they are short.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_by_key(|name| name.encode_utf16().collect::<Vec<u16>>());
            let reported: Vec<String> = (names.into_iter())
                .map(|name| {
                    format!(
                        "{}:{}",
                        Value::from(name.as_str()),
                        canonical(&members[name])
                    )
                })
                .collect();
            format!("{{{}}}", reported.join(","))
        }
        Value::Array(items) => {
            let reported: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", reported.join(","))
        }
        other => other.to_string(),
    }
}

fn hash(value: &Value) -> String {
    let digest = Sha256::digest(canonical(value).as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub async fn read(client: &Client, run: &str, what: &str) -> Value {
    let path = format!("/api/v1/audit/runs/{run}{what}");
    let answer = client.get(&path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body["success"], true);
    answer.body["data"].clone()
}

/// Everything that the audit says of a run agrees, and its chain is whole. The snapshots.
pub async fn checked(client: &Client, run: &str, work_order: &str) -> Vec<Value> {
    let snapshots = read(client, run, "/snapshots").await;
    let items = snapshots["items"].as_array().unwrap().clone();
    assert_eq!(snapshots["total"], items.len());
    let mut before: Option<&Value> = None;
    for item in &items {
        assert_eq!(item["configHash"], json!(hash(&item["config"])));
        let previous = before.map_or(Value::Null, |before| json!(hash(before)));
        assert_eq!(item["previousHash"], previous);
        assert_eq!(item.get("previousHash").is_some(), before.is_some());
        assert!(item["id"].as_str().unwrap().starts_with("snap_"));
        before = Some(item);
    }
    let (first, last) = (items.first().unwrap(), items.last().unwrap());
    let head = json!(hash(last));
    let whole = read(client, run, "").await;
    assert_eq!(
        (&whole["runId"], &whole["workOrderId"]),
        (&json!(run), &json!(work_order))
    );
    assert_eq!(whole["chainHead"], head);
    assert_eq!(whole["configHash"], last["configHash"]);
    assert_eq!(whole["initialConfig"], first["config"]);
    assert_eq!(whole["finalConfig"], last["config"]);
    assert_eq!(whole["snapshotsCount"], items.len());
    let changes = read(client, run, "/changes").await;
    assert_eq!(changes["items"], whole["changes"]);
    let total = &changes["total"];
    assert_eq!(*total, changes["items"].as_array().unwrap().len());
    assert_eq!(changes["summary"]["totalChanges"], *total);
    let summary = read(client, run, "/summary").await;
    let wanted = json!({
        "runId": run, "totalIterations": whole["iterations"], "totalChanges": total,
        "changedPaths": changes["summary"]["changedPaths"],
        "configHash": last["configHash"], "chainHead": head,
    });
    assert_eq!(summary, wanted);
    let path = format!("/api/v1/work-orders/{work_order}/audit");
    let audit = client.get(&path).await.body["data"].clone();
    assert_eq!(audit["workOrderId"], work_order);
    let runs = audit["runs"].as_array().unwrap();
    let ours = runs.iter().find(|listed| listed["runId"] == run).unwrap();
    assert_eq!(
        (&ours["configHash"], &ours["changesCount"]),
        (&last["configHash"], total)
    );
    assert_eq!(ours["iteration"], whole["iterations"]);
    assert_eq!(ours["startedAt"], whole["startedAt"]);
    items
}
