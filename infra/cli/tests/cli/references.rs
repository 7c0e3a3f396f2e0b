//! References to a work order or a run: by the beginning of its id, by `@latest`, or by the other's
//! id.

use serde_json::{Value, json};

use crate::call::at;
use crate::double::{Double, ReceivedRequest, Reply};

const WO: &str = "wo_01k0000000000000000000000a";
const RUN: &str = "run_01k0000000000000000000000b";
const OLDER: &str = "run_01k0000000000000000000000a";

fn run(id: &str) -> Value {
    json!({"runId": id, "workOrderId": WO, "status": "canceled", "iteration": 1, "maxIterations": 5,
        "createdAt": "2026-11-20T08:00:00.000Z", "cost": {"credits": 0.5, "usd": 0.0}})
}

fn order() -> Value {
    json!({"id": WO, "runId": RUN, "status": "canceled", "taskPrompt": "do it", "maxIterations": 5,
        "workspaceSource": {"type": "git", "repository": "https://example.com/a"}, "parentId": WO,
        "createdAt": "2026-11-20T08:00:00.000Z"})
}

fn service(seen: &ReceivedRequest, _: usize) -> Reply {
    let answer = match seen.route().as_str() {
        "GET /v1/runs" => json!({"runs": [run(RUN), run(OLDER)], "total": 2}),
        "GET /v1/work-orders" if seen.target.contains("parentId") => {
            json!({"workOrders": [], "total": 0})
        }
        "GET /v1/work-orders" => json!({"workOrders": [order()], "total": 1}),
        route if route == format!("GET /v1/work-orders/{WO}") => order(),
        route if route.starts_with("GET /v1/runs/") && route.ends_with("/diff") => {
            json!({"diff": "", "bytes": 0, "truncated": false})
        }
        route if route.starts_with("GET /v1/runs/") => run(RUN),
        route if route.starts_with("GET /api/v1/audit/runs/") => {
            json!({"success": true, "data": {"stop": {"reason": "wrong branch"}}, "requestId": "r"})
        }
        route if route.starts_with("POST /api/v1/work-orders/") => {
            let data = json!({"runId": RUN, "status": "queued"});
            json!({"success": true, "data": data, "requestId": "r"})
        }
        other => panic!("{other}"),
    };
    Reply::of(200, answer.to_string())
}

fn last(double: &Double) -> String {
    double.seen().last().unwrap().route()
}

#[tokio::test]
async fn the_beginning_of_an_id_and_the_latest_name_what_there_is() {
    let double = Double::start(service).await;
    for (reference, run) in [
        ("@latest", RUN),
        ("run_01k0000000000000000000000b", RUN),
        (WO, RUN),
    ] {
        let called = at(&double.url, &["diff", reference]).await;
        assert_eq!(called.code, 0, "{called:?}");
        assert_eq!(
            last(&double),
            format!("GET /v1/runs/{run}/diff"),
            "{reference}"
        );
    }
    let many = at(&double.url, &["diff", "run_01k"]).await;
    assert_eq!(many.code, 3, "{many:?}");
    assert!(
        many.err.contains(RUN) && many.err.contains(OLDER),
        "{many:?}"
    );
    let none = at(&double.url, &["diff", "run_02"]).await;
    assert!(
        none.err
            .contains("no run has an id that begins with run_02"),
        "{none:?}"
    );
    let bad = at(&double.url, &["diff", "latest"]).await;
    assert_eq!(bad.code, 2, "{bad:?}");
    assert!(bad.err.contains("@latest"), "{bad:?}");
}

#[tokio::test]
async fn a_run_stands_for_its_work_order_and_the_other_way_round() {
    let double = Double::start(service).await;
    for reference in [RUN, WO, "wo_01k0", "@latest"] {
        let called = at(&double.url, &["start", reference]).await;
        assert_eq!(called.code, 0, "{called:?}");
        assert_eq!(last(&double), format!("POST /api/v1/work-orders/{WO}/runs"));
    }
}

#[tokio::test]
async fn a_work_order_is_shown_with_what_became_of_it() {
    let double = Double::start(service).await;
    let called = at(&double.url, &["get", WO]).await;
    assert_eq!(called.code, 0, "{called:?}");
    for part in [
        "do it",
        "parent",
        "canceled",
        "reason        wrong branch",
        "credits       0.5",
    ] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
}
