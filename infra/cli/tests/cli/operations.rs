//! Every public operation has a command that calls exactly that operation.

use serde_json::{Value, json};

use crate::call::{KEY, command};
use crate::double::{Double, Reply};

const WO: &str = "wo_01k0000000000000000000000a";
const RUN: &str = "run_01k0000000000000000000000b";
const WH: &str = "wh_01k0000000000000000000000a";
const BUD: &str = "bud_01k0000000000000000000000a";
const SCH: &str = "sch_01k0000000000000000000000a";
const INB: &str = "inb_01k0000000000000000000000a";
const TRG: &str = "trg_01k0000000000000000000000a";
const IDL: &str = "idl_01k0000000000000000000000a";
const DLV: &str = "dlv_01k0000000000000000000000a";

/// An operation of the API and what is typed for it. `FILE` is a file with a JSON object.
const COMMANDS: &[(&str, &[&str])] = &[
    ("getRunAudit", &["audit", "show", RUN]),
    ("listConfigChanges", &["audit", "changes", RUN]),
    ("listConfigSnapshots", &["audit", "snapshots", RUN]),
    ("getRunAuditSummary", &["audit", "summary", RUN]),
    ("getWorkOrderAudit", &["audit", WO]),
    ("listProfiles", &["profiles", "list"]),
    ("createProfile", &["profiles", "create", "careful", "FILE"]),
    ("getProfile", &["profiles", "show", "careful", "--resolve"]),
    ("updateProfile", &["profiles", "update", "careful", "FILE"]),
    ("deleteProfile", &["profiles", "delete", "careful"]),
    (
        "validateProfile",
        &["profiles", "validate", "careful", "FILE"],
    ),
    ("getQueueHealth", &["queue"]),
    ("getQueuePosition", &["queue", WO]),
    ("getUsageSummary", &["usage"]),
    ("getOutcomes", &["outcomes"]),
    ("exportFocus", &["finance", "export", "--month", "2026-11"]),
    (
        "getUsageReport",
        &["finance", "report", "--only", "label:team=red"],
    ),
    ("listBudgets", &["finance", "budgets"]),
    (
        "createBudget",
        &[
            "finance", "budgets", "create", "--name", "A", "--limit", "5",
        ],
    ),
    ("getBudget", &["finance", "budgets", "show", BUD]),
    (
        "updateBudget",
        &[
            "finance", "budgets", "update", BUD, "--name", "A", "--limit", "5",
        ],
    ),
    ("deleteBudget", &["finance", "budgets", "delete", BUD]),
    ("listStatements", &["finance", "statements"]),
    ("getStatement", &["finance", "statements", "2026-11"]),
    ("getPrices", &["finance", "prices"]),
    ("listPlugins", &["plugins", "list"]),
    (
        "registerPlugin",
        &["plugins", "register", "custom:a", "--", "./a"],
    ),
    ("getPlugin", &["plugins", "show", "custom:a"]),
    ("deletePlugin", &["plugins", "delete", "custom:a"]),
    ("enablePlugin", &["plugins", "enable", "custom:a"]),
    ("disablePlugin", &["plugins", "disable", "custom:a"]),
    (
        "runVerification",
        &["verification", "run", "--work-dir", "/w"],
    ),
    (
        "createWorkOrder",
        &["submit", "--repo", "https://example.com/a", "--prompt", "p"],
    ),
    ("listWorkOrders", &["list"]),
    ("getWorkOrder", &["get", WO]),
    ("cancelWorkOrder", &["cancel", WO]),
    ("killWorkOrder", &["kill", WO]),
    ("startRun", &["start", WO]),
    ("followUpWorkOrder", &["follow-up", WO, "--prompt", "p"]),
    ("getThread", &["thread", WO]),
    ("purgeWorkOrders", &["purge", "--yes"]),
    ("listRuns", &["runs"]),
    ("getRun", &["get", RUN]),
    ("cancelRun", &["cancel", RUN]),
    ("listRunEvents", &["events", RUN]),
    ("getRunLogs", &["logs", RUN]),
    ("getRunDiff", &["diff", RUN]),
    ("getCredits", &["credits"]),
    ("listCreditTransactions", &["credits", "--transactions"]),
    ("listEnvironments", &["environments", "list"]),
    (
        "createEnvironment",
        &["environments", "create", "node", "FILE"],
    ),
    ("getEnvironment", &["environments", "show", "node"]),
    (
        "updateEnvironment",
        &["environments", "update", "node", "FILE"],
    ),
    ("deleteEnvironment", &["environments", "delete", "node"]),
    (
        "setEnvironmentSecret",
        &["environments", "set-secret", "node", "TOKEN"],
    ),
    (
        "deleteEnvironmentSecret",
        &["environments", "delete-secret", "node", "TOKEN"],
    ),
    ("listSchedules", &["schedules", "list"]),
    ("createSchedule", &["schedules", "create", "FILE"]),
    ("getSchedule", &["schedules", "get", SCH]),
    ("updateSchedule", &["schedules", "update", SCH, "FILE"]),
    ("deleteSchedule", &["schedules", "delete", SCH]),
    ("fireSchedule", &["schedules", "fire", SCH]),
    ("resumeSchedule", &["schedules", "resume", SCH]),
    ("listFirings", &["schedules", "firings", SCH]),
    ("listTriggers", &["triggers", "list"]),
    ("createTrigger", &["triggers", "create", "FILE"]),
    ("getTrigger", &["triggers", "get", TRG]),
    ("updateTrigger", &["triggers", "update", TRG, "FILE"]),
    ("deleteTrigger", &["triggers", "delete", TRG]),
    (
        "evaluateTrigger",
        &["triggers", "evaluate", TRG, "FILE", "--event", "issues"],
    ),
    ("listInboxes", &["inboxes", "list"]),
    (
        "createInbox",
        &["inboxes", "create", "Ours", "--kind", "github"],
    ),
    ("getInbox", &["inboxes", "show", INB]),
    ("updateInbox", &["inboxes", "update", INB, "--disable"]),
    ("deleteInbox", &["inboxes", "delete", INB]),
    ("rotateInboxSecret", &["inboxes", "rotate", INB]),
    ("listInboxDeliveries", &["inboxes", "deliveries", INB]),
    ("replayInboxDelivery", &["inboxes", "replay", INB, IDL]),
    ("listTemplates", &["templates", "list"]),
    (
        "createTemplate",
        &["templates", "create", "services", "FILE"],
    ),
    ("getTemplate", &["templates", "show", "services"]),
    (
        "updateTemplate",
        &["templates", "update", "services", "FILE"],
    ),
    ("deleteTemplate", &["templates", "delete", "services"]),
    ("listWebhooks", &["webhooks", "list"]),
    (
        "createWebhook",
        &[
            "webhooks",
            "create",
            "https://e.x/h",
            "--event",
            "run.failed",
        ],
    ),
    ("getWebhook", &["webhooks", "show", WH]),
    ("updateWebhook", &["webhooks", "update", WH, "--disable"]),
    ("deleteWebhook", &["webhooks", "delete", WH]),
    ("testWebhook", &["webhooks", "test", WH]),
    ("rotateWebhookSecret", &["webhooks", "rotate", WH]),
    ("listWebhookDeliveries", &["webhooks", "deliveries", WH]),
    (
        "redeliverWebhookDelivery",
        &["webhooks", "redeliver", WH, DLV],
    ),
    ("getOpenapi", &["openapi"]),
];

/// Operations that no person calls: a sender signs them.
const OF_SENDERS: [&str; 1] = ["receiveDelivery"];

/// Method and path of each operation of the document.
fn operations() -> Vec<(String, String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str();
            if let Some(id) = id.filter(|id| !OF_SENDERS.contains(id)) {
                found.push((id.to_owned(), method.to_uppercase(), path.clone()));
            }
        }
    }
    found
}

/// True for a path that a template such as `/v1/runs/{id}` stands for.
fn fits(template: &str, path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    let (template, path) = (template.split('/'), path.split('/'));
    template.clone().count() == path.clone().count()
        && template
            .zip(path)
            .all(|(part, segment)| part.starts_with('{') || part == segment)
}

#[tokio::test]
async fn every_operation_of_the_document_has_a_command() {
    let missing = r#"{"error":{"code":"NOT_FOUND","message":"no","details":{}}}"#;
    // A thread is found by a work order of it.
    let order = json!({
        "id": WO, "threadId": WO, "runId": RUN, "status": "running", "taskPrompt": "do",
        "workspaceSource": {}, "createdAt": "2026-09-21T10:00:00.000Z",
    });
    let order = order.to_string();
    let double = Double::start(move |request, _| {
        if request.route() == format!("GET /v1/work-orders/{WO}") {
            return Reply::of(200, &order);
        }
        Reply::of(404, missing)
    });
    let double = double.await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("body.json");
    std::fs::write(&file, json!({"description": "d"}).to_string()).unwrap();
    let file = file.to_str().unwrap();
    for (id, method, path) in operations() {
        let known = COMMANDS.iter().find(|(operation, _)| *operation == id);
        let (_, args) = known.unwrap_or_else(|| panic!("{method} {path} ({id}) has no command"));
        let args = args
            .iter()
            .map(|arg| if *arg == "FILE" { file } else { *arg });
        let before = double.seen().len();
        let mut call = command(args);
        call.env("AWO_URL", &double.url).env("AWO_API_KEY", KEY);
        // A value of a secret is read from standard input.
        call.stdin(std::fs::File::open(file).unwrap());
        let output = call.output().await.unwrap();
        let asked: Vec<String> = double.seen()[before..]
            .iter()
            .map(|seen| seen.route())
            .collect();
        let is_asked = asked.iter().any(|route| {
            let (verb, place) = route.split_once(' ').unwrap();
            verb == method && fits(&path, place)
        });
        assert!(is_asked, "{id}: {asked:?}, {output:?}");
    }
    let known: Vec<String> = operations().into_iter().map(|(id, _, _)| id).collect();
    let gone = COMMANDS
        .iter()
        .find(|(id, _)| !known.contains(&(*id).to_owned()));
    assert_eq!(gone, None, "a command of an operation that is no more");
}
