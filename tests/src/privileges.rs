//! Least privilege: each function's policies in `template.yaml` must allow exactly the AWS calls
//! that the tests observed (`AWO_CALLS_FILE`). Permissions are counted by action, resource and the
//! pattern of a condition, one by one: each needs a call that uses it.

mod policies;

use std::collections::{BTreeMap, BTreeSet};

use awo_local::calls::TOO_MANY;

pub use policies::{Context, Function, Grant, Template};

/// A call as the tests saw it, in the template's names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Such as `dynamodb:GetItem`.
    pub action: String,
    /// In the form of [`Grant::resource`], without wildcards but those of ids.
    pub resource: String,
    /// What a condition can ask for.
    pub context: Option<(Context, String)>,
    /// The attributes that it names, of items of which a policy allows some only.
    pub attributes: BTreeSet<String>,
}

/// What policies may allow although no test shows that it is used: the function's program (`*` for
/// all), the action, the resource, and why.
pub type Excuse = (&'static str, &'static str, &'static str, &'static str);

/// All that is excused.
pub const EXCUSES: &[Excuse] = &[
    (
        "*",
        "elasticfilesystem:DescribeAccessPoints",
        "arn:Partition:elasticfilesystem:Region:AccountId:file-system/Files",
        "EFS checks this call against access points or file systems, and does not report which it takes \
         for one that names an access point",
    ),
    (
        "run-verification",
        "dynamodb:BatchGetItem",
        "WorkTable",
        WAITERS,
    ),
    (
        "run-verification",
        "dynamodb:DeleteItem",
        "WorkTable",
        WAITERS,
    ),
    ("start-run", "dynamodb:BatchGetItem", "WorkTable", WAITERS),
];

/// Reason of the calls that only a deployment at its task limit makes.
const WAITERS: &str = "organizations that wait for capacity are read, and those that stopped asking are \
    removed, by whichever function starts a task then";
/// The table of services that are to break, which says nothing of policies.
const NO_TABLE: &str = "table/gone";

/// Tables and queues by their names on this machine, with or without `awo-` before them.
const TABLES: &[(&str, &str)] = &[
    ("work", "WorkTable"),
    ("ledger", "LedgerTable"),
    ("settings", "SettingsTable"),
    ("deliveries", "DeliveriesTable"),
];
const QUEUES: &[(&str, &str)] = &[("runs", "RunQueue"), ("deliveries", "DeliveriesQueue")];

/// Buckets by their names on this machine, with or without `awo-` before them.
const BUCKETS: &[(&str, &str)] = &[("inbox-bodies", "InboxBodies")];

/// Roles that functions assume.
const ROLES: &[(&str, &str)] = &[("bedrock", "BedrockRole")];

/// What is wrong with the policies of a template, given the lines of the file of calls.
#[must_use]
pub fn faults(template: &Template, lines: &str, excuses: &[Excuse]) -> Vec<String> {
    let (seen, mut faults) = read(lines);
    faults.extend(template.faults.iter().cloned());
    let mut programs = BTreeSet::new();
    for function in &template.functions {
        programs.insert(function.program.as_str());
        let mut calls = seen.get(&function.program).cloned().unwrap_or_default();
        calls.extend(implied(template, function, &calls));
        faults.extend(of_function(function, &calls, excuses));
    }
    let known = |program: &&String| !programs.contains(program.as_str());
    let unknown = seen.keys().filter(known);
    faults.extend(unknown.map(|program| format!("{program}: calls AWS and is no function")));
    faults.extend(idle(template, excuses));
    faults
}

fn of_function(function: &Function, calls: &BTreeSet<Call>, excuses: &[Excuse]) -> Vec<String> {
    let name = &function.program;
    let excused = |grant: &Grant| excuses.iter().any(|excuse| is_for(excuse, name, grant));
    let mut faults = Vec::new();
    for call in calls {
        if !function.grants.iter().any(|grant| grant.allows(call)) {
            let what = description(&call.action, &call.resource, call.context.as_ref());
            faults.push(format!(
                "{name}: missing: {what} (it was called, and no statement of {} allows it)",
                function.resource
            ));
        }
    }
    for grant in &function.grants {
        if !calls.iter().any(|call| grant.allows(call)) && !excused(grant) {
            let what = description(&grant.action, &grant.resource, grant.condition.as_ref());
            faults.push(format!(
                "{name}: extra: {what} ({} allows it, and no test saw such a call)",
                grant.statement
            ));
        }
    }
    faults.extend(too_wide(function, calls));
    faults
}

/// Wildcards that stand for no more than one kind of key, or for tables and queues. A statement may
/// have one pattern for all keys of a transaction.
fn too_wide(function: &Function, calls: &BTreeSet<Call>) -> BTreeSet<String> {
    let mut faults = BTreeSet::new();
    for grant in &function.grants {
        let at = &grant.statement;
        if grant.resource.contains('*')
            && !grant.resource.starts_with("arn:")
            && grant.resource != "*"
            // All objects of one bucket.
            && !grant.action.starts_with("s3:")
        {
            faults.insert(format!(
                "{}: {at}: {} is several resources",
                function.program, grant.resource
            ));
        }
        faults.extend(unused_attributes(function, grant, calls));
        let Some((Context::LeadingKeys, pattern)) = &grant.condition else {
            continue;
        };
        let beside = |other: &&Grant| other.statement == *at && other.condition == grant.condition;
        let beside: Vec<&Grant> = function.grants.iter().filter(beside).collect();
        let used = calls
            .iter()
            .filter(|call| beside.iter().any(|grant| grant.allows(call)));
        let keys: BTreeSet<&str> = used
            .filter_map(|call| call.context.as_ref().map(|(_, key)| key.as_str()))
            .collect();
        if keys.len() == 1 && !keys.contains(pattern.as_str()) {
            faults.insert(format!(
                "{}: extra: {at} allows keys as {pattern}, and all calls are for {keys:?}",
                function.program
            ));
        }
    }
    faults
}

/// Attributes that a statement allows and no call names.
fn unused_attributes(function: &Function, grant: &Grant, calls: &BTreeSet<Call>) -> Vec<String> {
    let used = calls.iter().filter(|call| grant.allows(call));
    let used: BTreeSet<&String> = used.flat_map(|call| &call.attributes).collect();
    let mut all = grant.attributes.iter().flatten();
    // One that no call uses at all is description already.
    match all.find(|name| !used.is_empty() && !used.contains(name)) {
        Some(name) => vec![format!(
            "{}: extra: {} allows the attribute {name}, and no call names it",
            function.program, grant.statement
        )],
        None => Vec::new(),
    }
}

fn description(action: &str, resource: &str, with: Option<&(Context, String)>) -> String {
    let with = with.map(|(context, value)| format!(", {} {value}", context.key()));
    format!("{action} on {resource}{}", with.unwrap_or_default())
}

fn is_for(excuse: &Excuse, program: &str, grant: &Grant) -> bool {
    let (of, action, resource, _) = excuse;
    (*of == "*" || *of == program) && *action == grant.action && *resource == grant.resource
}

/// The excuses that no policy makes use of.
fn idle(template: &Template, excuses: &[Excuse]) -> Vec<String> {
    let is_idle = |excuse: &&Excuse| {
        let mut functions = template.functions.iter();
        !functions.any(|function| {
            let mut grants = function.grants.iter();
            grants.any(|grant| is_for(excuse, &function.program, grant))
        })
    };
    let idle = excuses.iter().filter(is_idle);
    idle.map(|(of, action, resource, _)| {
        format!("{of}: {action} on {resource} is excused and allowed nowhere: take the excuse away")
    })
    .collect()
}

/// The calls that others make with a function's role: Lambda's poller, for the queue that invokes
/// it; and what ECS asks IAM when it is to start a task or to take a definition.
fn implied(template: &Template, function: &Function, calls: &BTreeSet<Call>) -> Vec<Call> {
    let queues = template.mappings.iter();
    let queues = queues.filter(|(of, _)| *of == function.resource);
    let polled = queues.flat_map(|(_, queue)| {
        ["ReceiveMessage", "DeleteMessage", "GetQueueAttributes"].map(|action| Call {
            action: format!("sqs:{action}"),
            resource: queue.clone(),
            context: None,
            attributes: BTreeSet::new(),
        })
    });
    let passes = |call: &Call| {
        matches!(
            call.action.as_str(),
            "ecs:RunTask" | "ecs:RegisterTaskDefinition"
        )
    };
    let roles = calls.iter().any(passes).then_some(&template.task_roles);
    let passed = roles.into_iter().flatten().map(|role| Call {
        action: "iam:PassRole".to_owned(),
        resource: role.clone(),
        context: Some((Context::PassedTo, "ecs-tasks.amazonaws.com".to_owned())),
        attributes: BTreeSet::new(),
    });
    polled.chain(passed).collect()
}

/// The calls by function, and what cannot be read.
fn read(lines: &str) -> (BTreeMap<String, BTreeSet<Call>>, Vec<String>) {
    let mut seen: BTreeMap<String, BTreeSet<Call>> = BTreeMap::new();
    let mut faults = Vec::new();
    if lines.is_empty() {
        faults.push("no call of a function was noted (AWO_CALLS_FILE)".to_owned());
    }
    let breaks = |line: &&str| line.contains(NO_TABLE);
    for line in lines.lines().filter(|line| !breaks(line)) {
        let parts: Vec<&str> = line.split('\t').collect();
        let call = match parts.as_slice() {
            [function, action, resource, with] => {
                call(action, resource, with).map(|call| (*function, call))
            }
            _ => None,
        };
        match call {
            Some((function, call)) => {
                seen.entry(function.to_owned()).or_default().insert(call);
            }
            None if line == TOO_MANY => faults.push(TOO_MANY.to_owned()),
            None => faults.push(format!("a call that cannot be read: {line}")),
        }
    }
    (seen, faults)
}

fn call(action: &str, resource: &str, with: &str) -> Option<Call> {
    let arn =
        |service: &str, rest: &str| format!("arn:Partition:{service}:Region:AccountId:{rest}");
    let named = |names: &[(&str, &str)], name: &str| {
        let name = name.trim_start_matches("awo-");
        let mut names = names.iter().filter(|(local, _)| *local == name);
        names.next().map(|(_, resource)| (*resource).to_owned())
    };
    let (kind, rest) = resource.split_once('/').unwrap_or((resource, ""));
    let resource = match kind {
        "table" => {
            let (table, index) = rest
                .split_once('/')
                .map_or((rest, None), |(t, i)| (t, Some(i)));
            let table = named(TABLES, table)?;
            index.map_or(table.clone(), |index| format!("{table}/{index}"))
        }
        "queue" => named(QUEUES, rest)?,
        "task-definition" => {
            let family = rest.trim_start_matches("awo-");
            arn("ecs", &format!("task-definition/awo-{family}:1"))
        }
        "task" => arn("ecs", "task/Cluster/1"),
        "secret" => arn("secretsmanager", &format!("secret:{rest}")),
        "role" => named(ROLES, rest)?,
        "bucket" => format!("{}/object", named(BUCKETS, rest)?),
        "file-system" => arn("elasticfilesystem", "file-system/Files"),
        "access-point" => arn("elasticfilesystem", "access-point/fsap-1"),
        "*" => "*".to_owned(),
        _ => return None,
    };
    let (with, names) = with.split_once(' ').unwrap_or((with, ""));
    let names = names.split(',').filter(|name| !name.is_empty());
    let context = match (with, action.split_once(':')?.0) {
        ("-", _) => None,
        (key, "dynamodb") => Some((Context::LeadingKeys, key.to_owned())),
        (made, "ecs") if action == "ecs:TagResource" => {
            Some((Context::CreateAction, made.to_owned()))
        }
        (_, "ecs") => Some((Context::Cluster, "Cluster".to_owned())),
        _ => return None,
    };
    Some(Call {
        action: action.to_owned(),
        resource,
        context,
        attributes: names.map(str::to_owned).collect(),
    })
}
