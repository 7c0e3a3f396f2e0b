//! The tools, and how they are described to clients.

mod parts;

use awo_domain::api_key::Scope;
use serde_json::{Map, Value, json};

use crate::schema::{component, reference, whole};
use parts::{answer_of, body_of, id, object, queries_of, run, with_key};

/// Longest wait of a call, in seconds: the gateway gives up after 29 s.
pub const MAX_WAIT_S: u64 = 25;
/// Largest part of a diff in one answer, in bytes.
pub const DIFF_PAGE_BYTES: usize = 64 * 1024;
/// Largest page of a list: with larger ones an answer could outgrow the gateway's limit.
pub(crate) const LIST_LIMIT: u64 = 20;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    SubmitWorkOrder,
    FollowUp,
    GetWorkOrder,
    ListWorkOrders,
    WaitForWorkOrder,
    CancelWorkOrder,
    GetChecks,
    GetDiff,
    GetLogs,
    GetUsage,
}

/// The effect of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Creates,
    Ends,
}

/// What the table says of a tool.
struct Row {
    name: &'static str,
    title: &'static str,
    /// The operation of the API that it calls.
    operation: &'static str,
    scope: Scope,
    effect: Effect,
    /// True if its results have texts that repositories and agents wrote.
    is_foreign: bool,
    description: &'static str,
}

impl Tool {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Tool; 10] = [
        Tool::SubmitWorkOrder,
        Tool::FollowUp,
        Tool::GetWorkOrder,
        Tool::ListWorkOrders,
        Tool::WaitForWorkOrder,
        Tool::CancelWorkOrder,
        Tool::GetChecks,
        Tool::GetDiff,
        Tool::GetLogs,
        Tool::GetUsage,
    ];

    /// The tool of this name.
    pub(crate) fn of_name(name: &str) -> Option<Tool> {
        Tool::ALL.into_iter().find(|tool| tool.row().name == name)
    }

    /// The scope that its route needs.
    #[must_use]
    pub fn scope(self) -> Scope {
        self.row().scope
    }

    pub(crate) fn is_foreign(self) -> bool {
        self.row().is_foreign
    }

    /// The names of its arguments.
    pub(crate) fn arguments(self) -> Map<String, Value> {
        let schema = self.input();
        schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default()
    }

    /// Its entry in `tools/list`.
    #[must_use]
    pub fn described(self) -> Value {
        let row = self.row();
        json!({
            "name": row.name,
            "title": row.title,
            "description": row.description,
            "inputSchema": whole(self.input()),
            "outputSchema": whole(self.output()),
            "annotations": {
                "title": row.title,
                "readOnlyHint": row.effect == Effect::Reads,
                "destructiveHint": row.effect == Effect::Ends,
                "idempotentHint": row.effect != Effect::Creates,
                // Agents read repositories, and pages of the network where their environment lets them.
                "openWorldHint": row.is_foreign,
            },
        })
    }

    /// Its arguments, with references to components.
    fn input(self) -> Value {
        let row = self.row();
        match self {
            Tool::SubmitWorkOrder => with_key(body_of(row.operation), None),
            Tool::FollowUp => with_key(body_of(row.operation), Some(id("The turn to continue."))),
            Tool::GetWorkOrder | Tool::CancelWorkOrder => object(
                json!({ "workOrderId": id("The work order.") }),
                &["workOrderId"],
            ),
            Tool::WaitForWorkOrder => object(
                json!({
                    "workOrderId": id("The work order."),
                    "timeoutSeconds": {
                        "type": "integer", "minimum": 1, "maximum": MAX_WAIT_S, "default": MAX_WAIT_S,
                        "description": "How long to wait.",
                    },
                }),
                &["workOrderId"],
            ),
            Tool::ListWorkOrders => {
                let mut schema = object(queries_of(row.operation), &[]);
                schema["properties"]["limit"]["maximum"] = json!(LIST_LIMIT);
                schema["properties"]["limit"]["default"] = json!(LIST_LIMIT);
                schema
            }
            Tool::GetUsage => object(queries_of(row.operation), &[]),
            Tool::GetChecks => object(
                json!({
                    "runId": run(),
                    "after": {
                        "type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 0,
                        "description": "`nextAfter` of the previous call.",
                    },
                }),
                &["runId"],
            ),
            Tool::GetDiff => object(
                json!({
                    "runId": run(),
                    "offset": {
                        "type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 0,
                        "description": "`nextOffset` of the previous call.",
                    },
                }),
                &["runId"],
            ),
            Tool::GetLogs => {
                let mut queries = queries_of(row.operation);
                // One iteration may have 256 KiB.
                queries
                    .as_object_mut()
                    .map(|queries| queries.remove("limit"));
                queries["runId"] = run();
                object(queries, &["runId"])
            }
        }
    }

    /// The structure of its results, with references to components.
    fn output(self) -> Value {
        match self {
            Tool::WaitForWorkOrder => object(
                json!({
                    "workOrder": reference("WorkOrder"),
                    "finished": { "type": "boolean", "description": "True if its status is final." },
                    "callAgain": { "type": "boolean", "description": "True if another call would wait further." },
                }),
                &["workOrder", "finished", "callAgain"],
            ),
            Tool::GetChecks => {
                let events = ["Passed", "Failed", "Baseline"]
                    .map(|end| reference(&format!("Verification{end}Event")));
                object(
                    json!({
                        "verifications": {
                            "type": "array", "items": { "anyOf": events },
                            "description": "The ended verifications in their order, with every check.",
                        },
                        "nextAfter": { "type": "integer", "description": "`after` of the next call." },
                        "hasMore": { "type": "boolean", "description": "True if there are more events to search now." },
                    }),
                    &["verifications", "nextAfter", "hasMore"],
                )
            }
            Tool::GetDiff => object(
                json!({
                    "runId": reference("RunId"),
                    "diff": { "type": "string", "description": "This part of the unified diff, at most 64 KiB." },
                    "offset": { "type": "integer", "description": "Where this part begins, in bytes of the diff's text." },
                    "nextOffset": { "type": "integer", "description": "`offset` of the next part; absent for the last." },
                    "textBytes": { "type": "integer", "description": "The length of the diff's text in bytes." },
                    "truncated": { "type": "boolean", "description": "True if the stored text is not the whole diff." },
                    "baseCommit": { "type": "string", "description": "The commit that the run began with." },
                    "commit": { "type": "string", "description": "The run's newest commit." },
                }),
                &["runId", "diff", "offset", "textBytes", "truncated"],
            ),
            _ => {
                // Clients read the type of an object without its references.
                let mut schema = component(&answer_of(self.row().operation)).clone();
                if let Value::Object(members) = &mut schema {
                    members.entry("type").or_insert(json!("object"));
                }
                schema
            }
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table")]
    fn row(self) -> Row {
        let reads = |name, title, operation, scope, description| Row {
            name,
            title,
            operation,
            scope,
            effect: Effect::Reads,
            is_foreign: true,
            description,
        };
        match self {
            Tool::SubmitWorkOrder => Row {
                effect: Effect::Creates,
                ..reads(
                    "submit_work_order",
                    "Submit a work order",
                    "createWorkOrder",
                    Scope::WorkOrdersWrite,
                    "Lets an agent work on a git repository until verification passes. Returns at once, with the \
                     queued work order; its maximum cost is held. Then call wait_for_work_order. Set idempotencyKey \
                     to a new value for each task, so that a repeated call creates nothing twice.",
                )
            },
            Tool::FollowUp => Row {
                effect: Effect::Creates,
                ..reads(
                    "follow_up",
                    "Follow up a work order",
                    "followUpWorkOrder",
                    Scope::WorkOrdersWrite,
                    "Continues a work order on the same branch and the same pull request with another task. \
                     Members that are left out are those of the turn before.",
                )
            },
            Tool::GetWorkOrder => reads(
                "get_work_order",
                "Get a work order",
                "getWorkOrder",
                Scope::WorkOrdersRead,
                "Status and result of a work order. `runId` is its newest run, for get_checks, get_diff and get_logs.",
            ),
            Tool::ListWorkOrders => reads(
                "list_work_orders",
                "List work orders",
                "listWorkOrders",
                Scope::WorkOrdersRead,
                "Work orders, newest first, at most 20 in a call; `nextCursor` is the `cursor` of the next call.",
            ),
            Tool::WaitForWorkOrder => reads(
                "wait_for_work_order",
                "Wait for a work order",
                "getWorkOrder",
                Scope::WorkOrdersRead,
                "Waits up to 25 seconds for the end of a work order. Call it again while `callAgain` is true.",
            ),
            Tool::CancelWorkOrder => Row {
                effect: Effect::Ends,
                is_foreign: false,
                ..reads(
                    "cancel_work_order",
                    "Cancel a work order",
                    "cancelWorkOrder",
                    Scope::WorkOrdersWrite,
                    "Cancels a work order that has not ended; its processes are stopped afterwards.",
                )
            },
            Tool::GetChecks => reads(
                "get_checks",
                "Get the checks of a run",
                "listRunEvents",
                Scope::RunsRead,
                "The verifications of a run with each check and its output. Call it again with `after` set to \
                 `nextAfter` while `hasMore` is true.",
            ),
            Tool::GetDiff => reads(
                "get_diff",
                "Get the changes of a run",
                "getRunDiff",
                Scope::RunsRead,
                "The unified diff of a run's result, in parts of at most 64 KiB. Call it again with `offset` set to \
                 `nextOffset` while there is one.",
            ),
            Tool::GetLogs => reads(
                "get_logs",
                "Get what the agent wrote",
                "getRunLogs",
                Scope::RunsRead,
                "The agent's output in one iteration of a run, at most its last 256 KiB: that of `iteration`, else \
                 the first after `after`.",
            ),
            Tool::GetUsage => Row {
                is_foreign: false,
                ..reads(
                    "get_usage",
                    "Get usage",
                    "getUsageSummary",
                    Scope::CreditsRead,
                    "Tokens, cost and executions of a period, by model.",
                )
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::operation;

    #[test]
    fn each_tool_needs_the_scope_of_its_operation() {
        for tool in Tool::ALL {
            let row = tool.row();
            let needs = operation(row.operation)["x-required-scope"].as_str();
            assert_eq!(needs, Some(row.scope.as_str()), "{}", row.name);
        }
    }

    #[test]
    fn the_schemas_of_tools_refer_to_nothing_outside_themselves() {
        fn check(schema: &Value, defs: &Value) {
            match schema {
                Value::Array(items) => items.iter().for_each(|item| check(item, defs)),
                Value::Object(members) => {
                    if let Some(Value::String(to)) = members.get("$ref") {
                        let name = to.strip_prefix("#/$defs/").unwrap();
                        assert!(defs[name].is_object(), "{to}");
                    }
                    members.values().for_each(|member| check(member, defs));
                }
                _ => {}
            }
        }
        for tool in Tool::ALL {
            let described = tool.described();
            for part in ["inputSchema", "outputSchema"] {
                let schema = &described[part];
                assert_eq!(schema["type"], "object", "{} {part}", described["name"]);
                let properties = schema["properties"].as_object();
                assert!(
                    properties.is_some_and(|of| !of.is_empty()),
                    "{} {part}",
                    described["name"]
                );
                check(schema, &schema["$defs"]);
            }
        }
    }
}
