//! Purges of parts of families.

use awo_tests::driven::DrivenRun;
use serde_json::json;

use super::{erased, id, ids, purge, rules_hold};
use crate::children::{is, waiting};
use crate::http_api::quiet_service;

#[tokio::test]
async fn a_parent_whose_children_are_purged_fails() {
    let service = quiet_service().await;
    let (parent, children) = waiting(&service, 2).await;
    let running = DrivenRun::of(&service, &children[0]).await;
    let body = json!({ "statuses": ["queued", "running"] });
    let (purged, ()) = tokio::join!(purge(&service.client, &body), async {
        let nothing_new = json!({ "events": [] });
        while running.control("report", &nothing_new).await.body["stopRequest"].is_null() {
            tokio::task::yield_now().await;
        }
        let stopped = json!({ "type": "stopped", "forced": true });
        assert_eq!(running.send_last(stopped).await.status, 200);
        running.free_slot().await;
    });
    let mut both: Vec<String> = children.iter().map(id).collect();
    both.sort();
    assert_eq!(ids(&purged), both);
    is(&service, &parent, "failed").await;
    erased(&service).await;
    assert!(rules_hold(&service).await.is_at_rest());
}
