//! The cloud's template agrees with the product's own tables of routes, programs and tables.

mod programs;
mod variables;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use awo_http::routes::ROUTES;
use awo_local::gateway::FOREIGN_HOST;
use awo_local::service::refusals;
use aws_sdk_dynamodb::types::KeySchemaElement;

/// For one machine only, and for tests: code reads them, and the cloud has none of them.
const ONE_MACHINE: &[&str] = &[
    "AWO_ALLOW_FILE_REPOSITORIES",
    "AWO_ALLOW_LOOPBACK_REGISTRIES",
    "AWO_BEDROCK_BASE_URL",
    "AWO_GIT_CA_FILE",
    "AWO_GITHUB_API_URL",
    "AWO_NO_EGRESS",
    "AWO_WEBHOOK_ALLOW_LOOPBACK",
    "AWO_WEBHOOK_CA_FILE",
    "AWO_WEBHOOK_NAME_SERVER",
    "AWO_WEBHOOK_RETRY_DELAYS_MS",
    "AWS_ENDPOINT_URL",
];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the repository")
}

pub(crate) fn template() -> serde_json::Value {
    let text = std::fs::read_to_string(root().join("template.yaml")).expect("template.yaml");
    let tagged: serde_norway::Value = serde_norway::from_str(&text).expect("YAML");
    serde_json::to_value(untagged(tagged)).expect("JSON")
}

/// CloudFormation's short functions (`!Ref x`) as their values: only names are looked at here.
fn untagged(value: serde_norway::Value) -> serde_norway::Value {
    use serde_norway::Value;
    match value {
        Value::Tagged(tagged) => untagged(tagged.value),
        Value::Sequence(items) => Value::Sequence(items.into_iter().map(untagged).collect()),
        Value::Mapping(map) => map
            .into_iter()
            .map(|(k, v)| (k, untagged(v)))
            .collect::<serde_norway::Mapping>()
            .into(),
        other => other,
    }
}

#[test]
fn what_is_only_for_tests_and_local_work_is_nowhere_in_the_template() {
    let template = template().to_string();
    for variable in ONE_MACHINE {
        assert!(!template.contains(variable), "{variable}");
    }
}

/// The shape of a table: its keys, its indexes with theirs, and the attribute by which it expires.
type Shape = (
    BTreeSet<String>,
    BTreeMap<String, BTreeSet<String>>,
    Option<String>,
);

fn stored_shape(table: &serde_json::Value) -> Shape {
    let keys = |of: &serde_json::Value| {
        let keys = of["KeySchema"].as_array().expect("a key schema").iter();
        keys.map(|key| format!("{} {}", key["AttributeName"], key["KeyType"]).replace('"', ""))
            .collect()
    };
    let indexes = table["GlobalSecondaryIndexes"].as_array();
    let named = |index: &serde_json::Value| {
        let name = index["IndexName"].as_str().expect("a name");
        (name.to_owned(), keys(index))
    };
    let expires = table["TimeToLiveSpecification"]["AttributeName"].as_str();
    (
        keys(table),
        indexes.into_iter().flatten().map(named).collect(),
        expires.map(str::to_owned),
    )
}

async fn made_shape(client: &aws_sdk_dynamodb::Client, name: &str) -> Shape {
    let keys = |schema: &[KeySchemaElement]| {
        let keys = schema.iter();
        keys.map(|key| format!("{} {}", key.attribute_name(), key.key_type().as_str()))
            .collect()
    };
    let table = client.describe_table().table_name(name).send().await;
    let table = table.expect("a table").table.expect("a table");
    let indexes = table.global_secondary_indexes().iter();
    let expires = client.describe_time_to_live().table_name(name).send().await;
    let expires = expires.expect("an answer").time_to_live_description;
    (
        keys(table.key_schema()),
        indexes
            .map(|index| {
                let name = index.index_name().expect("a name").to_owned();
                (name, keys(index.key_schema()))
            })
            .collect(),
        expires.and_then(|of| of.attribute_name),
    )
}

#[tokio::test]
async fn the_tables_of_the_template_are_those_that_the_code_makes() {
    let service = crate::http_api::quiet_service().await;
    let (cloud, template) = (&service.service.cloud, template());
    let client = awo_tests::rules::client(cloud);
    let resources = template["Resources"].as_object().expect("resources");
    let mut tables = 0;
    for (name, table) in resources {
        if table["Type"] != "AWS::DynamoDB::Table" {
            continue;
        }
        let setting = format!("AWO_{}", name.replace("Table", "_TABLE").to_uppercase());
        let local = cloud.environment.required(&setting).expect("a setting");
        let made = made_shape(&client, &local).await;
        assert_eq!(stored_shape(&table["Properties"]), made, "{name}");
        tables += 1;
    }
    let made = client.list_tables().send().await.expect("tables");
    assert_eq!(made.table_names().len(), tables);
}

#[test]
fn only_tasks_may_call_the_routes_of_runners() {
    let template = template();
    let auth = &template["Resources"]["Api"]["Properties"]["Auth"];
    let statements = auth["ResourcePolicy"]["CustomStatements"]
        .as_array()
        .expect("statements");
    let denied: Vec<_> = statements
        .iter()
        .filter(|of| of["Effect"] == "Deny")
        .collect();
    let [denied] = denied.as_slice() else {
        panic!("{denied:#?}");
    };
    // Stage and method, then the path: every one below it, whatever routes there will be.
    assert_eq!(denied["Resource"], "execute-api:/*/*/control/*");
    let sources = &denied["Condition"]["NotIpAddress"]["aws:SourceIp"];
    assert_eq!(sources[0], "MakesNat");
    let second = ["MakesNatPerZone", "${NatAddressB}/32", "AWS::NoValue"];
    let gateways = serde_json::json!(["${NatAddress}/32", second]);
    assert_eq!(sources[1], gateways);
    assert_eq!(sources[2][0], "NamesControlSources");
    assert_eq!(sources[2][1], serde_json::json!([",", "ControlSources"]));
    for route in ROUTES
        .iter()
        .filter(|route| route.access == awo_http::routes::Access::Runner)
    {
        assert!(route.path.starts_with("/control/"), "{}", route.path);
    }
}

#[test]
fn the_gateway_of_one_machine_refuses_in_the_words_of_the_template() {
    let template = template();
    let responses = &template["Resources"]["Api"]["Properties"]["GatewayResponses"];
    for body in refusals::BODIES.iter().filter(|of| of.kind != FOREIGN_HOST) {
        let of = &responses[body.kind];
        let text = of["ResponseTemplates"]["application/json"].as_str();
        let reported: serde_json::Value =
            serde_json::from_str(text.expect(body.kind)).expect("JSON");
        assert_eq!(reported["error"]["code"], body.code, "{}", body.kind);
        assert_eq!(reported["error"]["message"], body.message, "{}", body.kind);
        let status = of["StatusCode"]
            .as_str()
            .map(|status| status.parse().expect("a status"));
        assert_eq!(status, body.status, "{}", body.kind);
        let after = of["ResponseParameters"]["Headers"]["Retry-After"].as_str();
        let after = after.map(|text| text.trim_matches('\'').parse().expect("seconds"));
        assert_eq!(after, body.retry_after_s, "{}", body.kind);
    }
}
