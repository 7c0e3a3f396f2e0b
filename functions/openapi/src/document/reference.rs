//! `docs/reference.md`: what the document has of scopes, errors, events and payloads, in tables for
//! people. It is generated with the document.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use awo_contract::failure::codes::CODES;
use awo_domain::run::RunErrorCode;
use serde_json::Value;

/// The occasion of each code of a failed run; the code itself has the remedy.
const RUN_CODES: [(&str, &str); 15] = [
    (
        "MAX_ITERATIONS_REACHED",
        "The verification passed in no iteration.",
    ),
    (
        "BUDGET_EXCEEDED",
        "The run used up its credits or its tokens.",
    ),
    (
        "TIMEOUT",
        "The run, or its last iteration, exceeded its time limit.",
    ),
    (
        "WORKSPACE_FAILED",
        "The repository could not be cloned, its plan is not valid, a hook or a step of the setup failed, or a command of the plan does not exist.",
    ),
    (
        "AGENT_FAILED",
        "The agent failed in the last iteration: its exit code, its result file, or its memory.",
    ),
    (
        "AGENT_NOT_CONFIGURED",
        "There is no agent to run: no command and no committed `.awo/agent.sh`, or no key for its model.",
    ),
    (
        "DELIVERY_FAILED",
        "The push or the pull request was rejected though a credential allows it.",
    ),
    (
        "COMPUTE_LOST",
        "The platform lost the run's compute. It costs nothing.",
    ),
    (
        "RUNNER_FAILED",
        "The runner ended without a last report, or stopped sending heartbeats.",
    ),
    (
        "PROVIDER_UNAVAILABLE",
        "The provider of the agent's models was unavailable for too long.",
    ),
    (
        "PROVIDER_REFUSED",
        "The provider of the agent's models refused the key, or its account has no quota or credit.",
    ),
    (
        "CHILDREN_FAILED",
        "A child did not succeed, or the results of the children could not be merged.",
    ),
    (
        "NOT_VERIFIED",
        "No check of the plan ran and passed, and the profile requires one.",
    ),
    (
        "VERIFICATION_FAILED",
        "The commit of a work order with the agent type `verify` did not pass its verification.",
    ),
    ("KILLED", "A client killed the run by force."),
];

/// What the data of every event of a run has.
const OF_EVERY_EVENT: [&str; 4] = ["runId", "workOrderId", "sequence", "tenantContext"];

/// The page of a document.
///
/// # Panics
/// If a code of a failed run is not described.
#[must_use]
pub fn reference(document: &Value) -> String {
    let mut page = String::from(
        "# Reference: scopes, errors, events\n\n\
         `make openapi` generates this page from the code. The same content is in [`openapi.json`](openapi.json), which the\n\
         service serves at `GET /openapi.json` and shows at `GET /docs`.\n",
    );
    scopes(&mut page, document);
    errors(&mut page);
    run_errors(&mut page, document);
    events(&mut page, document);
    payloads(&mut page, document);
    page
}

/// Writing to a string does not fail.
macro_rules! put {
    ($page:expr, $($argument:tt)*) => {
        let _ = writeln!($page, $($argument)*);
    };
}

fn scopes(page: &mut String, document: &Value) {
    put!(page, "\n## Scopes\n");
    put!(
        page,
        "A key has scopes; `*` includes all. A request without the required scope is 403, and the error names the scope.\n"
    );
    put!(page, "| scope | operations |\n|---|---|");
    let mut by_scope: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            if let Some(scope) = operation["x-required-scope"].as_str() {
                let call = format!("`{} {path}`", method.to_uppercase());
                by_scope.entry(scope).or_default().push(call);
            }
        }
    }
    for (scope, calls) in by_scope {
        put!(page, "| `{scope}` | {} |", calls.join(", "));
    }
}

fn errors(page: &mut String) {
    put!(page, "\n## Error codes\n");
    put!(
        page,
        "An error has a `code` for programs and a `message` for people. Codes may be added: handle an unknown\n\
         code by its status.\n"
    );
    put!(
        page,
        "| code | status | when | what to do |\n|---|---|---|---|"
    );
    for of in CODES {
        let statuses: Vec<String> = of.statuses.iter().map(u16::to_string).collect();
        let statuses = statuses.join(", ");
        put!(
            page,
            "| `{}` | {statuses} | {} | {} |",
            of.code,
            of.cause,
            of.remedy
        );
    }
}

fn run_errors(page: &mut String, document: &Value) {
    let codes = &document["components"]["schemas"]["RunErrorCode"]["enum"];
    put!(page, "\n## Error codes of runs\n");
    put!(
        page,
        "A failed run has `error {{code, message, category, retryable, remedy}}`; the message describes the failure of\n\
         this run. `retryable` is true if an unchanged new run can be expected to succeed.\n"
    );
    put!(
        page,
        "| code | category | retryable | when | what to do |\n|---|---|---|---|---|"
    );
    for code in codes.as_array().into_iter().flatten() {
        let name = code.as_str().unwrap_or_default();
        let row = RUN_CODES.iter().find(|(known, _)| *known == name);
        let known: Result<RunErrorCode, _> = serde_json::from_value(code.clone());
        let (Some((_, when)), Ok(known)) = (row, known) else {
            panic!("the code {name} of runs is not described in reference.rs");
        };
        let category = serde_json::json!(known.category());
        let category = category.as_str().unwrap_or_default();
        put!(
            page,
            "| `{name}` | `{category}` | {} | {when} | {} |",
            if known.is_retryable() { "yes" } else { "no" },
            known.remedy()
        );
    }
}

fn events(page: &mut String, document: &Value) {
    let union = &document["components"]["schemas"]["TimelineEvent"];
    put!(page, "\n## Events of a run\n");
    put!(
        page,
        "`GET /v1/runs/{{id}}/events` has `{{sequence, type, timestamp, data}}` of each event. `data` always has `runId`,\n\
         `workOrderId`, `sequence`, and `tenantContext` if the work order has one; the table has the rest. Types\n\
         and members may be added: ignore unknown ones.\n"
    );
    put!(page, "| type | meaning | data |\n|---|---|---|");
    for (kind, name, schema) in members(document, union) {
        let meaning = schema["description"].as_str().unwrap_or_default();
        let data = data(document, &format!("{name}Data"));
        put!(page, "| `{kind}` | {meaning} | {data} |");
    }
}

fn payloads(page: &mut String, document: &Value) {
    let union = &document["components"]["schemas"]["WebhookPayload"];
    put!(page, "\n## Payloads of webhooks\n");
    put!(
        page,
        "A delivery is `{{id, type, timestamp, data}}`, with [signatures](webhooks.md#verifying-a-signature). `data` is that of the event of\n\
         the same type, except that `results` have only `pluginId`, `level`, `status` and `summary`. `webhook.test`\n\
         has `{{webhookId}}`.\n"
    );
    put!(page, "| type | schema |\n|---|---|");
    for (kind, name, _) in members(document, union) {
        put!(page, "| `{kind}` | `{name}` |");
    }
}

/// The types of a union, in the order of the document's `oneOf`.
fn members<'a>(document: &'a Value, union: &'a Value) -> Vec<(&'a str, &'a str, &'a Value)> {
    let all = union["oneOf"].as_array().into_iter().flatten();
    all.filter_map(|of| {
        let name = of["$ref"].as_str()?.rsplit('/').next()?;
        let schema = &document["components"]["schemas"][name];
        let kind = schema["properties"]["type"]["enum"][0].as_str()?;
        Some((kind, name, schema))
    })
    .collect()
}

fn data(document: &Value, name: &str) -> String {
    let schema = &document["components"]["schemas"][name];
    let required = schema["required"].as_array();
    let mut members = Vec::new();
    for (member, of) in schema["properties"].as_object().into_iter().flatten() {
        if OF_EVERY_EVENT.contains(&member.as_str()) {
            continue;
        }
        let is_required = required.is_some_and(|all| all.contains(&member.as_str().into()));
        let mark = if is_required { "" } else { "?" };
        let description = of["description"].as_str().unwrap_or_default();
        let description = description.trim_end_matches('.').replace('|', "\\|");
        members.push(format!("`{member}{mark}` {description}"));
    }
    members.join("; ")
}
