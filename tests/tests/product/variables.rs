//! The template's environment of each function has exactly the variables that the function reads;
//! settings for one machine only are absent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use awo_cloud::{Cloud, Environment, http_client, telemetry};
use awo_local::function::Registry;
use awo_local::functions::{Program, programs};
use serde_json::Value;

use crate::template::template;

type Names = BTreeSet<String>;

/// For one machine only, and for tests: code reads them, and the cloud has none of them.
const ONE_MACHINE: &[&str] = &[
    "AWO_ALLOW_FILE_REPOSITORIES",
    "AWO_ALLOW_LOOPBACK_REGISTRIES",
    "AWO_BEDROCK_BASE_URL",
    "AWO_WEBHOOK_ALLOW_LOOPBACK",
    "AWO_WEBHOOK_CA_FILE",
    "AWO_WEBHOOK_NAME_SERVER",
    "AWO_WEBHOOK_RETRY_DELAYS_MS",
];

/// What the template sets, by the function's program; of a program that stands twice, both times.
fn set() -> Vec<(String, Names)> {
    let template = template();
    let names = |variables: &Value| -> Names {
        let of = variables.as_object().into_iter().flatten();
        of.map(|(name, _)| name.clone()).collect()
    };
    let globals = names(&template["Globals"]["Function"]["Environment"]["Variables"]);
    let resources = template["Resources"].as_object().expect("resources");
    let functions = resources
        .values()
        .filter(|resource| resource["Type"] == "AWS::Serverless::Function");
    functions
        .map(|function| {
            let properties = &function["Properties"];
            let uri = properties["CodeUri"].as_str().expect("a folder");
            let program = uri.trim_end_matches('/').rsplit('/').next();
            let mut all = names(&properties["Environment"]["Variables"]);
            let ignored = function["IgnoreGlobals"].as_array();
            let own_only = ignored.is_some_and(|of| of.contains(&"Environment".into()));
            if !own_only {
                all.extend(globals.clone());
            }
            (program.expect("a name").to_owned(), all)
        })
        .collect()
}

/// A value that reads, for a setting that is set.
fn sample(name: &str) -> Option<String> {
    let value = match name {
        "AWO_DEFAULT_AGENT" => "command",
        "AWO_CORS_ORIGINS" => "https://app.example.com",
        // Empty without a layer; a name is a file that has to be there.
        "AWO_PRICES_FILE" => return None,
        "AWS_REGION" | "AWO_BEDROCK_REGION" => "us-east-1",
        "AWO_BEDROCK_INFERENCE_PROFILES" => "model=profile",
        "AWO_ANTHROPIC_BASE_URL" | "AWO_OPENAI_BASE_URL" => "https://gateway.example.com",
        _ => "1",
    };
    Some(value.to_owned())
}

/// What a function reads when it starts. Nothing reads later: handlers have no environment.
async fn read(program: &Program, set: &Names) -> Names {
    let seen = Arc::new(Mutex::new(Names::new()));
    let (noted, given) = (Arc::clone(&seen), set.clone());
    let environment = Environment::new(move |name| {
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.insert(name.to_owned());
        let is_set = given.contains(name) || name == "AWS_REGION";
        is_set.then(|| sample(name)).flatten()
    });
    let cloud = Cloud::new(environment, http_client());
    let registered = program.register(&Registry::new(), &cloud);
    registered.unwrap_or_else(|why| panic!("{}: {why}", program.name));
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // The cloud's own are not the template's to set.
    seen.retain(|name| name.starts_with("AWO_"));
    // Every program begins with its log.
    seen.insert(telemetry::LEVELS.to_owned());
    seen
}

#[tokio::test]
async fn each_function_is_told_what_it_reads_and_nothing_else() {
    let known: BTreeMap<&str, Program> = programs().map(|p| (p.name, p)).collect();
    let told = set();
    assert!(told.len() > known.len(), "every program, one of them twice");
    let mut faults = Vec::new();
    for (name, set) in &told {
        let program = known.get(name.as_str()).expect("a program");
        let read = read(program, set).await;
        let missing = read.difference(set).cloned().collect::<Names>();
        let missing: Names = missing
            .into_iter()
            .filter(|name| !ONE_MACHINE.contains(&name.as_str()))
            .collect();
        let vain: Names = set.difference(&read).cloned().collect();
        if !missing.is_empty() || !vain.is_empty() {
            faults.push(format!("{name}: not set {missing:?}, in vain {vain:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_is_for_one_machine_only_is_set_nowhere() {
    for (program, set) in set() {
        let wrong: Vec<&str> = (ONE_MACHINE.iter().copied())
            .filter(|name| set.contains(*name))
            .collect();
        assert!(wrong.is_empty(), "{program}: {wrong:?}");
    }
}
