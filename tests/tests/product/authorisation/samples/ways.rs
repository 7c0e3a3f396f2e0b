//! The variants of each route's calls, by its function.

use awo_http::routes::Route;
use awo_tests::contract::DOCUMENT;
use serde_json::json;

use super::inboxes::delivery;
use super::triggers::trigger;
use super::{
    EMPTY_GZIP, LIVE, ONCE, SIGNED, Sample, THING, VERIFICATION, budget, environment, inbox,
    plugin, schedule, template, webhook,
};
use crate::http_api::order;

/// The ways in which a route is called: where nothing here says another one, without a query and
/// with the body that the document has as its example.
pub fn of(route: &'static Route) -> Vec<Sample> {
    let ways = reads(route)
        .or_else(|| changes(route))
        .or_else(|| settings(route))
        .or_else(|| of_runners(route));
    ways.unwrap_or_else(|| vec![as_documented(route)])
}

fn as_documented(route: &'static Route) -> Sample {
    let operation = &DOCUMENT["paths"][route.path][route.method.to_lowercase()];
    let body = &operation["requestBody"];
    let example = &body["content"]["application/json"]["example"];
    if body["required"] == true {
        Sample::of(route).body(example.clone())
    } else {
        Sample::of(route)
    }
}

fn reads(route: &'static Route) -> Option<Vec<Sample>> {
    let call = || Sample::of(route);
    Some(match route.function {
        "list-work-orders" => vec![
            call(),
            call().query("status=queued&limit=100"),
            call().query("tenantId={tenant}"),
        ],
        "list-runs" => vec![
            call(),
            call().query("workOrderId={workOrder}"),
            call().query("status=queued&tenantId={tenant}"),
        ],
        "list-run-events" => vec![call(), call().header(LIVE)],
        "list-credit-transactions" => vec![
            call(),
            call().query("limit=5"),
            call().query("type=deduction&tenantId={tenant}"),
        ],
        "get-usage-summary" => vec![
            call(),
            call().query("workOrderId={workOrder}"),
            call().query("runId={run}"),
        ],
        "get-usage-report" => vec![
            call(),
            call().query("groupBy=model,tenant&bucket=day"),
            call().query("groupBy=key&tenant={tenant}"),
        ],
        "get-outcomes" => vec![
            call(),
            call().query("groupBy=tenant&limit=5"),
            call().query("groupBy=label:team"),
        ],
        "export-focus" => vec![
            call().query("month={month}"),
            call().query("month={month}&day={day}"),
        ],
        "list-deliveries" => vec![call(), call().query("status=delivered&limit=5")],
        "get-profile" => vec![call(), call().query("resolve=true")],
        _ => return None,
    })
}

/// Of work orders, runs and workspaces.
fn changes(route: &'static Route) -> Option<Vec<Sample>> {
    let call = || Sample::of(route);
    Some(match route.function {
        "create-work-order" => {
            let create = call().body(order());
            vec![create.clone(), create.header(ONCE)]
        }
        "start-run" => vec![call(), call().header(ONCE)],
        // Once: every key of a test makes one, and ten turns of a thread may be open.
        "follow-up-work-order" => {
            vec![
                call()
                    .body(json!({ "taskPrompt": "and more" }))
                    .header(ONCE),
            ]
        }
        "kill-work-order" => vec![
            call(),
            call().body(json!({ "immediate": true, "reason": "enough" })),
        ],
        // A dry run: a real one would take from the other samples what they are about.
        "purge-work-orders" => vec![call().body(json!({ "dryRun": true, "olderThanDays": 1 }))],
        "cancel-run" => vec![call(), call().body(json!({ "reason": "enough" }))],
        "serve-mcp" => vec![call().body(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))],
        "run-verification" => vec![call().body(json!({ "workDir": "{workDir}" }))],
        _ => return None,
    })
}

fn settings(route: &'static Route) -> Option<Vec<Sample>> {
    let call = || Sample::of(route);
    Some(match route.function {
        "create-template" => {
            let once = call().body(template("once")).header(ONCE);
            vec![call().body(template("{new}")), once]
        }
        "create-environment" => {
            let environment = |name| json!({ "name": name, "variables": { "CI": "1" } });
            let once = call().body(environment("once")).header(ONCE);
            vec![call().body(environment("{new}")), once]
        }
        "update-environment" => {
            let mut body = environment(THING);
            body["size"] = json!("large");
            vec![call().body(body)]
        }
        "set-environment-secret" => vec![call().body(json!({ "value": "a value" }))],
        "update-template" => vec![call().body(json!({ "name": "New" }))],
        "create-profile" => {
            let profile = |name| json!({ "name": name, "extends": "ci-focused" });
            let once = call().body(profile("once")).header(ONCE);
            vec![call().body(profile("{new}")), once]
        }
        "validate-profile" => vec![call(), call().body(json!({ "extends": "nobody" }))],
        "update-profile" => vec![call().body(json!({ "description": "x" }))],
        "register-plugin" => {
            let once = call().body(plugin("custom:once")).header(ONCE);
            vec![call().body(plugin("custom:{new}")), once]
        }
        // Once: every key of a test makes one, and an organization may have fifty.
        "create-budget" => vec![call().body(budget()).header(ONCE)],
        "update-budget" => vec![call().body(budget())],
        // Once, likewise.
        "create-schedule" => vec![call().body(schedule()).header(ONCE)],
        "update-schedule" => vec![call().body(schedule())],
        // Once: every key of a test makes one, and an organization may have twenty.
        "create-webhook" => vec![call().body(webhook()).header(ONCE)],
        "update-webhook" => vec![call().body(json!({ "description": "New" }))],
        "rotate-webhook-secret" | "redeliver" => vec![call(), call().header(ONCE)],
        // Once, likewise.
        "create-trigger" => vec![call().body(trigger("{inbox}")).header(ONCE)],
        "update-trigger" => vec![call().body(trigger("{inbox}"))],
        "evaluate-trigger" => vec![call().body(json!({ "payload": { "zen": "a" } }))],
        // Once, likewise.
        "create-inbox" => vec![call().body(inbox()).header(ONCE)],
        "update-inbox" => vec![call().body(json!({ "name": "New" }))],
        "rotate-inbox-secret" => vec![call(), call().header(ONCE)],
        "list-inbox-deliveries" => vec![call(), call().query("outcome=ignored&limit=5")],
        "receive-delivery" => vec![call().body(delivery()).header(SIGNED)],
        _ => return None,
    })
}

/// Of the runners' own API, which is one function.
fn of_runners(route: &'static Route) -> Option<Vec<Sample>> {
    let call = || Sample::of(route);
    let failed = json!({ "type": "failed", "code": "AGENT_FAILED", "message": "it failed" });
    Some(match route.path {
        "/control/claim" => {
            vec![call().body(json!({ "nonce": "{nonce}", "token": "0".repeat(64) }))]
        }
        "/control/{orgId}/runs/{runId}/report" => {
            let at = "2026-11-20T08:00:00.000Z";
            let event = json!({ "type": "iterationStarted", "iteration": 1 });
            let events = json!([{ "number": 1, "at": at, "event": event }]);
            let heartbeat = call().body(json!({ "events": [] }));
            vec![heartbeat, call().body(json!({ "events": events }))]
        }
        "/control/{orgId}/runs/{runId}/finish" => vec![
            call().body(json!({ "events": [], "outcome": failed, "iterations": 1, "usage": [] })),
        ],
        "/control/{orgId}/runs/{runId}/children" => {
            let children = json!([{ "taskPrompt": "a part" }]);
            let (commit, branch) = ("c1", "awo/x");
            vec![call().body(json!({
                "iteration": 1, "commit": commit, "branch": branch, "usage": [], "children": children,
            }))]
        }
        "/control/{orgId}/runs/{runId}/logs" => {
            vec![call().body(json!({ "iteration": 1, "output": EMPTY_GZIP, "bytes": 0 }))]
        }
        "/control/{orgId}/runs/{runId}/diff" => {
            let diff = json!({
                "iteration": 1, "baseCommit": "c0", "commit": "c1", "diff": EMPTY_GZIP, "bytes": 0,
            });
            vec![call().body(diff)]
        }
        "/control/{orgId}/runs/{runId}/baseline" => {
            vec![call().body(json!({ "commit": "c0", "planHash": "0".repeat(64) }))]
        }
        "/control/{orgId}/runs/{runId}/turn" => {
            let (commit, branch) = ("0".repeat(40), "awo/x");
            vec![call().body(json!({
                "type": "delivering", "commit": commit, "tree": commit, "branch": branch,
            }))]
        }
        "/control/{orgId}/runs/{runId}/credentials" => vec![call().body(json!({}))],
        "/control/verifications/claim" => {
            let nonce = format!("{{org}}.{VERIFICATION}.{}", "0".repeat(64));
            vec![call().body(json!({ "nonce": nonce, "token": "0".repeat(64) }))]
        }
        "/control/{orgId}/verifications/{verificationId}/report" => {
            vec![call().body(json!({ "type": "begun" }))]
        }
        _ => return None,
    })
}
