//! AWS calls of each function, recorded if `AWO_CALLS_FILE` names a file, so that its policy can be
//! compared with them. Invariants: a call is recorded before it is executed, under the function
//! whose client makes it; ids are omitted, so each kind of call is one line per process.
//!
//! A line has the function, the action, the resource, and the values for conditions of policies:
//! the partition key, or the cluster; separated by tabs, with `-` for none. If a policy allows only
//! some attributes of an item, its key is followed by those that the call names.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use http::HeaderMap;
use serde_json::Value;

/// Names the file.
pub const CALLS_FILE: &str = "AWO_CALLS_FILE";
/// Stands for the calls beyond those that are noted.
pub const TOO_MANY: &str = "more kinds of calls than are noted";
/// Most kinds of calls that one process notes.
const MAX_KINDS: usize = 10_000;
/// Keys of items of which a policy allows some attributes only.
const BY_ATTRIBUTE: &str = "credential#";
/// Letters of an id after its prefix.
const ID_LETTERS: usize = 26;

static FILE: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os(CALLS_FILE).map(PathBuf::from));
static NOTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// What IAM decides on: an action, a resource, and what a condition can ask for.
type IamRequest = (String, String, String);

/// Notes a call of a service of the AWS JSON protocol, by the prefix of its operations.
pub(crate) fn note(headers: &HeaderMap, prefix: &str, operation: &str, body: &[u8]) {
    let Some((file, function)) = FILE.as_ref().zip(function_of(headers)) else {
        return;
    };
    let body = serde_json::from_slice(body).unwrap_or_default();
    write(file, function, asked(prefix, operation, &body));
}

/// Notes a call of EFS, whose protocol has no names of operations.
pub(crate) fn note_files(headers: &HeaderMap, action: &str, resource: &str) {
    if let Some((file, function)) = FILE.as_ref().zip(function_of(headers)) {
        let request = of("elasticfilesystem", action, resource.to_owned(), "-");
        write(file, function, vec![request]);
    }
}

/// Notes a call of S3, whose protocol has no names of operations.
pub(crate) fn note_objects(headers: &HeaderMap, action: &str, resource: &str) {
    if let Some((file, function)) = FILE.as_ref().zip(function_of(headers)) {
        let request = of("s3", action, resource.to_owned(), "-");
        write(file, function, vec![request]);
    }
}

/// Notes that a role was assumed, and whether the session has tags, which is a permission of its own.
pub(crate) fn note_role(headers: &HeaderMap, role: &str, has_tags: bool) {
    if let Some((file, function)) = FILE.as_ref().zip(function_of(headers)) {
        let resource = format!("role/{}", last(role, '/'));
        let tagging = has_tags.then_some("TagSession");
        let actions = ["AssumeRole"].into_iter().chain(tagging);
        let requests = actions.map(|action| of("sts", action, resource.clone(), "-"));
        write(file, function, requests.collect());
    }
}

fn write(file: &Path, function: &str, asked: Vec<IamRequest>) {
    let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
    for (action, resource, with) in asked {
        let mut line = format!("{function}\t{action}\t{resource}\t{with}\n");
        if noted.len() >= MAX_KINDS {
            line = format!("{TOO_MANY}\n");
        }
        if !noted.insert(line.clone()) {
            continue;
        }
        let opened = OpenOptions::new().create(true).append(true).open(file);
        if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
            tracing::error!(%error, "a call could not be noted");
        }
    }
}

/// The function whose client this is (`Cloud::of_function`).
fn function_of(headers: &HeaderMap) -> Option<&str> {
    let agent = headers.get("x-amz-user-agent")?.to_str().ok()?;
    agent.split(' ').find_map(|part| part.strip_prefix("app/"))
}

fn asked(prefix: &str, operation: &str, body: &Value) -> Vec<IamRequest> {
    match prefix {
        "DynamoDB_20120810." => items(operation, body),
        "AmazonSQS." => {
            let action = operation.trim_end_matches("Batch");
            let queue = last(text(&body["QueueUrl"]), '/');
            vec![of("sqs", action, format!("queue/{queue}"), "-")]
        }
        "secretsmanager." => {
            let name = match operation {
                "CreateSecret" => text(&body["Name"]),
                _ => text(&body["SecretId"]),
            };
            let secret = format!("secret/{}/*", without_ids(&secrets_below(name), '/'));
            vec![of("secretsmanager", operation, secret, "-")]
        }
        _ => {
            // ECS asks for a permission of its own where a new task gets tags.
            let tagged = operation == "RunTask" && body["tags"].is_array();
            let tags = tagged.then(|| of("ecs", "TagResource", "task".to_owned(), "RunTask"));
            std::iter::once(tasks(operation, body))
                .chain(tags)
                .collect()
        }
    }
}

/// The folder of a secret: that of its organization, or that of its organization's environments, tokens of git hosts
/// or keys of Apps.
fn secrets_below(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').collect();
    let is_folder = |part: &&str| ["env", "git", "app"].contains(part);
    let depth = if parts.get(2).is_some_and(is_folder) {
        3
    } else {
        2
    };
    parts[..parts.len().min(depth)].join("/")
}

/// What a call of ECS asks for. The calls that are about definitions name no cluster.
fn tasks(operation: &str, body: &Value) -> IamRequest {
    let cluster = last(text(&body["cluster"]), '/');
    let resource = match operation {
        "RunTask" => {
            let definition = last(text(&body["taskDefinition"]), '/');
            let family = definition.split(':').next().unwrap_or_default();
            format!("task-definition/{}", without_ids(family, '-'))
        }
        "StopTask" | "DescribeTasks" => "task".to_owned(),
        _ => "*".to_owned(),
    };
    of("ecs", operation, resource, cluster)
}

/// What a call of DynamoDB asks for: a transaction, what its parts would.
fn items(operation: &str, body: &Value) -> Vec<IamRequest> {
    let one = |action: &str, part: &Value| {
        let item = part.get("Key").unwrap_or(&part["Item"]);
        let (action, resource, mut with) = table(action, text(&part["TableName"]), &item["pk"]);
        if action == "dynamodb:UpdateItem" && with.starts_with(BY_ATTRIBUTE) {
            with = format!("{with} {}", attributes(part));
        }
        (action, resource, with)
    };
    match operation {
        "TransactWriteItems" | "TransactGetItems" => {
            let parts = body["TransactItems"].as_array().into_iter().flatten();
            let parts = parts.filter_map(|part| part.as_object()?.iter().next());
            parts
                .map(|(kind, part)| one(&format!("{kind}Item"), part))
                .collect()
        }
        "BatchGetItem" | "BatchWriteItem" => {
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            let keys = |of: &Value| {
                let parts = of.get("Keys").unwrap_or(of).as_array().cloned();
                parts.into_iter().flatten().map(|part| {
                    let written = part["PutRequest"].get("Item");
                    let key = written.or_else(|| part["DeleteRequest"].get("Key"));
                    key.unwrap_or(&part)["pk"].clone()
                })
            };
            tables
                .flat_map(|(name, of)| keys(of).map(move |key| table(operation, name, &key)))
                .collect()
        }
        "Query" => {
            let condition = text(&body["KeyConditionExpression"]);
            // The partition comes first, and it is always equal to something.
            let placeholder = condition.split(' ').nth(2).unwrap_or_default();
            let key = &body["ExpressionAttributeValues"][placeholder];
            let name = text(&body["TableName"]);
            let index = body["IndexName"].as_str();
            let name = index.map_or(name.to_owned(), |index| format!("{name}/index/{index}"));
            vec![table(operation, &name, key)]
        }
        _ => vec![one(operation, body)],
    }
}

/// The attributes that an update names, its keys included.
fn attributes(update: &Value) -> String {
    let keys = update["Key"].as_object().into_iter().flatten();
    let names = update["ExpressionAttributeNames"].as_object();
    let names = names.into_iter().flatten().map(|(_, name)| text(name));
    let all: BTreeSet<&str> = keys.map(|(name, _)| name.as_str()).chain(names).collect();
    all.into_iter().collect::<Vec<&str>>().join(",")
}

fn table(action: &str, name: &str, key: &Value) -> IamRequest {
    let key = without_ids(text(&key["S"]), '#');
    of("dynamodb", action, format!("table/{name}"), &key)
}

fn of(service: &str, action: &str, resource: String, with: &str) -> IamRequest {
    let with = if with.is_empty() { "-" } else { with };
    (format!("{service}:{action}"), resource, with.to_owned())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn last(text: &str, separator: char) -> &str {
    text.rsplit(separator).next().unwrap_or_default()
}

/// The text with `*` for what is another one each time: `org_*#wo`, `key#*`.
fn without_ids(text: &str, separator: char) -> String {
    let mut before = "";
    let parts = text.split(separator).map(|part| {
        let kind = match part.split_once('_') {
            Some((kind, id)) if id.len() == ID_LETTERS => format!("{kind}_*"),
            _ if matches!(before, "key" | "credential" | "due") => "*".to_owned(),
            _ => part.to_owned(),
        };
        before = part;
        kind
    });
    parts.collect::<Vec<String>>().join(&separator.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ORG: &str = "org_01m7xqdy7rdr2t31rdpvjmzz6a";
    const HOOK: &str = "wh_01m7xqdy843g2kr14jcs34mcyc";

    #[track_caller]
    fn asks(prefix: &str, operation: &str, body: &Value, expected: &[[&str; 3]]) {
        let asked = asked(prefix, operation, body);
        let asked: Vec<[&str; 3]> = asked.iter().map(|(a, r, w)| [&**a, r, w]).collect();
        assert_eq!(asked, expected);
    }

    fn pk(key: &str) -> Value {
        json!({ "pk": { "S": key }, "sk": { "S": "x" } })
    }

    #[test]
    fn a_transaction_and_a_batch_ask_for_what_their_parts_do() {
        let transaction = json!({ "TransactItems": [
            { "Put": { "TableName": "awo-work", "Item": pk(&format!("{ORG}#wo")) } },
            { "Update": { "TableName": "awo-ledger", "Key": pk(ORG) } },
            { "ConditionCheck": { "TableName": "awo-work", "Key": pk(ORG) } },
        ]});
        asks(
            "DynamoDB_20120810.",
            "TransactWriteItems",
            &transaction,
            &[
                ["dynamodb:PutItem", "table/awo-work", "org_*#wo"],
                ["dynamodb:UpdateItem", "table/awo-ledger", "org_*"],
                ["dynamodb:ConditionCheckItem", "table/awo-work", "org_*"],
            ],
        );
        let counted = json!({
            "TableName": "t", "Key": pk("credential#abc"),
            "ExpressionAttributeNames": { "#b": "windowStart", "#a": "windowCount" },
        });
        let expected = [
            "dynamodb:UpdateItem",
            "table/t",
            "credential#* pk,sk,windowCount,windowStart",
        ];
        asks("DynamoDB_20120810.", "UpdateItem", &counted, &[expected]);
        let delivery_permit = pk(&format!("{ORG}#{HOOK}#delivery_permit"));
        let reads = json!({ "RequestItems": { "t": { "Keys": [delivery_permit] } } });
        let expected = [
            "dynamodb:BatchGetItem",
            "table/t",
            "org_*#wh_*#delivery_permit",
        ];
        asks("DynamoDB_20120810.", "BatchGetItem", &reads, &[expected]);
        let puts = json!({ "RequestItems": { "t": [
            { "PutRequest": { "Item": pk("key#abc") } }, { "DeleteRequest": { "Key": pk("due#3") } },
        ]}});
        let expected = [
            ["dynamodb:BatchWriteItem", "table/t", "key#*"],
            ["dynamodb:BatchWriteItem", "table/t", "due#*"],
        ];
        asks("DynamoDB_20120810.", "BatchWriteItem", &puts, &expected);
    }

    #[test]
    fn a_call_names_its_index_its_queue_its_family_and_no_ids() {
        let query = json!({
            "TableName": "t", "IndexName": "byStatus", "KeyConditionExpression": "#p = :p AND #r > :r",
            "ExpressionAttributeValues": { ":p": { "S": format!("{ORG}#wo#failed") } },
        });
        let expected = [
            "dynamodb:Query",
            "table/t/index/byStatus",
            "org_*#wo#failed",
        ];
        asks("DynamoDB_20120810.", "Query", &query, &[expected]);
        let send = json!({ "QueueUrl": "http://127.0.0.1:1/000000000000/awo-runs" });
        let expected = ["sqs:SendMessage", "queue/awo-runs", "-"];
        asks("AmazonSQS.", "SendMessageBatch", &send, &[expected]);
        let definition = format!("arn:aws:ecs:r:1:task-definition/awo-runner-{ORG}:3");
        let run = json!({ "cluster": "awo", "taskDefinition": definition });
        let expected = ["ecs:RunTask", "task-definition/awo-runner-org_*", "awo"];
        asks(
            "AmazonEC2ContainerServiceV20141113.",
            "RunTask",
            &run,
            &[expected],
        );
        let tagged = json!({ "cluster": "awo", "taskDefinition": definition, "tags": [] });
        let tags = ["ecs:TagResource", "task", "RunTask"];
        asks(
            "AmazonEC2ContainerServiceV20141113.",
            "RunTask",
            &tagged,
            &[expected, tags],
        );
        let secret = json!({ "SecretId": format!("awo/{ORG}/git/example.com") });
        let expected = [
            "secretsmanager:GetSecretValue",
            "secret/awo/org_*/git/*",
            "-",
        ];
        asks("secretsmanager.", "GetSecretValue", &secret, &[expected]);
        let secret = json!({ "Name": format!("awo/{ORG}/env/node/TOKEN") });
        let expected = ["secretsmanager:CreateSecret", "secret/awo/org_*/env/*", "-"];
        asks("secretsmanager.", "CreateSecret", &secret, &[expected]);
    }

    #[test]
    fn a_call_belongs_to_the_function_that_its_client_names() {
        let mut headers = HeaderMap::new();
        assert_eq!(function_of(&headers), None);
        let agent = "aws-sdk-rust/1.4 os/linux lang/rust/1.95 app/get-run m/E";
        headers.insert("x-amz-user-agent", agent.parse().unwrap());
        assert_eq!(function_of(&headers), Some("get-run"));
    }
}
