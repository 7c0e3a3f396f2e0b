//! Operations of work orders.

use awo_domain::WorkOrderId;
use awo_domain::agent::AgentType;
use awo_domain::environment::EnvironmentName;
use awo_domain::profile::ProfileName;
use awo_domain::source::{MAX_BRANCH, MAX_REPOSITORY};
use awo_domain::stop::{DEFAULT_GRACE_MS, MAX_GRACE_MS, MAX_REASON};
use awo_domain::template::{MAX_VALUE, MAX_VARIABLE_NAME, MAX_VARIABLES, TemplateId};
use awo_domain::usage::MAX_MODEL_NAME;
use awo_domain::work_order::{
    DURATION_MS, MAX_ARGUMENT, MAX_COMMAND, MAX_ITERATIONS, MAX_METADATA, MAX_METADATA_KEY,
    MAX_METADATA_VALUE, MAX_TASK_PROMPT, MAX_TENANT, WorkOrderStatus,
};
use awo_http::page::DEFAULT_LIMIT;
use awo_http::routes;
use awo_http::shapes::{CanceledShape, KilledShape, PurgeShape, StartedRunShape, WorkOrderShape};
use serde_json::{Value, json};

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success, plain_list};
use crate::document::schema::{
    Schemas, credits, default, described, flag, input, list, map, object, text, whole, word,
};

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("workOrders", &schemas.of::<WorkOrderShape>());
    let list = Operation::of(
        &routes::LIST_WORK_ORDERS,
        "List work orders",
        "Newest first.",
    )
    .query(
        "status",
        schemas.of::<WorkOrderStatus>(),
        "Those of this status.",
    )
    .tenants()
    .query(
        "parentId",
        schemas.of::<WorkOrderId>(),
        "The children of this work order.",
    )
    .pages(DEFAULT_LIMIT)
    .answers(Success::with(200, "A page of work orders.", page));
    let get = Operation::of(
        &routes::GET_WORK_ORDER,
        "Get a work order",
        "`runId` names its newest run.",
    );
    let cancel = Operation::of(
        &routes::CANCEL_WORK_ORDER,
        "Cancel a work order",
        "It is `canceled` at once; its processes are stopped afterwards. Terminal work orders are 409.",
    )
    .fails(&[Failure::Conflict]);
    let start = Operation::of(
        &routes::START_RUN,
        "Start a new run",
        "The work order is `queued`, and its waiting run is replaced, or `failed`. Other statuses are 409. There is no body.",
    )
    .optional_body(object([]), json!({}))
    .idempotent()
    .fails(&[Failure::Conflict, Failure::InsufficientCredits]);
    vec![
        create(schemas),
        list,
        get.answers(Success::of::<WorkOrderShape>(
            schemas,
            200,
            "The work order.",
        )),
        cancel.answers(Success::of::<CanceledShape>(
            schemas,
            200,
            "It is canceled.",
        )),
        kill(schemas),
        purge(schemas),
        start.answers(Success::of::<StartedRunShape>(schemas, 201, "The new run.")),
    ]
}

fn example_order() -> Value {
    json!({
        "taskPrompt": "Make the failing test pass.",
        "workspaceSource": { "type": "git", "repository": "https://git.example.com/service.git", "branch": "main" },
        "maxIterations": 5,
        "tenantContext": { "tenantId": "acme", "tenantUserId": "u-17" },
        "agent": { "type": "command", "command": ["./agent.sh"] },
        "limits": { "maxCredits": 50 },
        "metadata": { "ticket": "A-1" },
    })
}

fn create(schemas: &mut Schemas) -> Operation {
    let body = object([
        (
            "taskPrompt",
            described(
                text(0..=MAX_TASK_PROMPT),
                "The agent's task; required, and not empty, but for the agent type `verify`.",
            ),
        ),
        ("workspaceSource!", source(schemas)),
        (
            "maxIterations",
            described(
                whole(1..=u64::from(MAX_ITERATIONS)),
                "Replaces the profile's own count; not for the agent type `verify`.",
            ),
        ),
        ("tenantContext", tenant()),
        ("harness", harness(schemas)),
        (
            "environment",
            described(
                schemas.of::<EnvironmentName>(),
                "The environment of its commands; the default is the template's, else the profile's.",
            ),
        ),
        ("agent", agent(schemas)),
        (
            "verifyBase",
            described(
                text(1..=MAX_BRANCH),
                "For the agent type `verify`: the branch whose plan counts; the default is the repository's default branch.",
            ),
        ),
        (
            "protect",
            described(
                flag(),
                "For the agent type `verify`: protected files and scripts have the content of `verifyBase`.",
            ),
        ),
        ("limits", limits()),
        ("metadata", metadata()),
        (
            "parentId",
            described(
                schemas.of::<WorkOrderId>(),
                "The parent of this work order; it must not be terminal.",
            ),
        ),
    ]);
    Operation::of(
        &routes::CREATE_WORK_ORDER,
        "Create a work order",
        "It gets its first run, which waits in the queue. The run's maximum cost is held.",
    )
    .body(body, example_order())
    .idempotent()
    .fails(&[Failure::InsufficientCredits, Failure::QueueFull])
    .answers(Success::of::<WorkOrderShape>(
        schemas,
        201,
        "The work order.",
    ))
}

fn limits() -> Value {
    let limits = object([
        (
            "maxCredits",
            credits("The maximum cost of a run; also its hold."),
        ),
        (
            "maxDurationMs",
            described(
                whole(DURATION_MS),
                "The maximum duration of a run, in milliseconds.",
            ),
        ),
    ]);
    let description = "Limits of each run, below those of the profile.";
    input("WorkOrderLimitsInput", description, limits)
}

fn tenant() -> Value {
    let tenant = object([
        (
            "tenantId!",
            described(text(1..=MAX_TENANT), "A customer of yours."),
        ),
        (
            "tenantUserId",
            described(text(1..=MAX_TENANT), "A user of that customer."),
        ),
    ]);
    let description = "The tenant of the work.";
    input("TenantContextInput", description, tenant)
}

fn harness(schemas: &mut Schemas) -> Value {
    let name = schemas.of::<ProfileName>();
    default(described(name, "The name of a harness profile."), "default")
}

fn metadata() -> Value {
    let value = text(0..=MAX_METADATA_VALUE);
    let metadata = map(&value, MAX_METADATA, 1..=MAX_METADATA_KEY);
    described(metadata, "Labels of your own.")
}

fn source(schemas: &mut Schemas) -> Value {
    let repository = "An `https://` URL without user info.";
    let git = object([
        ("type!", described(word(["git"]), "A git repository.")),
        (
            "repository!",
            described(text(1..=MAX_REPOSITORY), repository),
        ),
        (
            "branch",
            described(
                text(1..=MAX_BRANCH),
                "The branch; the default is the remote's default branch.",
            ),
        ),
        (
            "commit",
            described(
                text(40..=64),
                "For the agent type `verify`: the whole id of the commit; the default is the branch's head.",
            ),
        ),
    ]);
    let variables = map(&text(0..=MAX_VALUE), MAX_VARIABLES, 0..=MAX_VARIABLE_NAME);
    let template = object([
        ("type!", described(word(["template"]), "A template.")),
        (
            "templateId!",
            described(schemas.of::<TemplateId>(), "The id of the template."),
        ),
        (
            "variables",
            described(variables, "The values of the template's placeholders."),
        ),
    ]);
    let git = input("GitSourceInput", "A git repository.", git);
    let template = input(
        "TemplateSourceInput",
        "A template, with the values of its placeholders.",
        template,
    );
    let of = |name: &str| format!("#/components/schemas/{name}");
    let either = json!({
        "oneOf": [git, template],
        "discriminator": { "propertyName": "type", "mapping": {
            "git": of("GitSourceInput"), "template": of("TemplateSourceInput"),
        } },
    });
    input(
        "WorkspaceSourceInput",
        "The source of the workspace.",
        either,
    )
}

fn agent(schemas: &mut Schemas) -> Value {
    let command = list(&text(0..=MAX_ARGUMENT), 1..=MAX_COMMAND);
    let agent = object([
        ("type!", described(schemas.of::<AgentType>(), "Its type.")),
        (
            "model",
            described(
                text(1..=MAX_MODEL_NAME),
                "The model of the agent, if the agent uses one; not for the type `verify`.",
            ),
        ),
        (
            "command",
            described(
                command,
                "Program and arguments, for the type `command`; the program is not empty.",
            ),
        ),
    ]);
    input(
        "AgentInput",
        "The agent that does the work; the default is the deployment's.",
        agent,
    )
}

fn kill(schemas: &mut Schemas) -> Operation {
    let grace = described(
        default(whole(0..=MAX_GRACE_MS), DEFAULT_GRACE_MS),
        "The time between the terminate signal and the kill signal.",
    );
    let body = object([
        ("gracePeriodMs", grace),
        (
            "immediate",
            described(default(flag(), false), "Skips the grace period."),
        ),
        (
            "reason",
            described(
                text(0..=MAX_REASON),
                "Stored in the run's events and audit.",
            ),
        ),
    ]);
    Operation::of(
        &routes::KILL_WORK_ORDER,
        "Kill a work order's agent",
        "Answers when the process tree is known to be dead. If that takes longer than 5 s, the \
         answer begins as 200 with white space: read `success`.",
    )
    .optional_body(
        body,
        json!({ "immediate": true, "reason": "it went astray" }),
    )
    .late()
    .answers(Success::of::<KilledShape>(
        schemas,
        200,
        "All its processes are dead, or `success` is false.",
    ))
}

fn purge(schemas: &mut Schemas) -> Operation {
    let status = schemas.of::<WorkOrderStatus>();
    let body = object([
        (
            "statuses",
            described(
                list(&status, 1..=WorkOrderStatus::ALL.len()),
                "Only work orders of these statuses; the default is all.",
            ),
        ),
        (
            "olderThanDays",
            json!({ "type": "number", "minimum": 0, "maximum": 36_500, "description": "Only work orders that were created at least this many days ago." }),
        ),
        (
            "dryRun",
            described(
                default(flag(), false),
                "Counts the matching work orders, and deletes nothing.",
            ),
        ),
    ]);
    let example = json!({ "statuses": ["succeeded"], "olderThanDays": 0, "dryRun": true });
    Operation::of(
        &routes::PURGE_WORK_ORDERS,
        "Purge work orders",
        "Deletes work orders with their runs, events, logs, diffs and audit, for good; the ledger and \
         usage stay. What is alive is killed first. One call deletes up to 10 000 and takes up to \
         15 minutes: if it takes longer than 5 s, the answer begins as 200 with white space, so look \
         at `success`, and call again until nothing is deleted.",
    )
    .optional_body(body, example)
    .late()
    .answers(Success::of::<PurgeShape>(schemas, 200, "The deleted work orders."))
}
