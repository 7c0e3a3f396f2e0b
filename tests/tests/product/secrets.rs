//! Secrets of organizations, beside those of other stacks of the account.

use std::io::Write as _;
use std::process::{Command, Stdio};

use awo_cloud::{Cloud, Environment};
use awo_tests::service::program;
use awo_tests::world::World;
use serde_json::json;

use crate::http_api::quiet_service;
use crate::template::template;

/// The same account and database as another stack sees them.
fn stack(world: &World, name: &str) -> Cloud {
    let mut settings = world.settings.clone();
    settings.insert("AWO_STACK".to_owned(), name.to_owned());
    let environment = Environment::new(move |name| settings.get(name).cloned());
    Cloud::new(environment, world.http.clone())
}

#[tokio::test]
async fn a_stack_has_its_own_secrets_and_none_of_its_neighbours() {
    let world = World::new().await;
    let org = world.org(1).await.id;
    let (one, two) = (stack(&world, "one"), stack(&world, "two"));
    let (one, two) = (one.secrets().unwrap(), two.secrets().unwrap());
    one.set(&org, "git:github.com", "of one").await.unwrap();
    assert_eq!(two.get(&org, "git:github.com").await.unwrap(), None);
    two.set(&org, "git:github.com", "of two").await.unwrap();
    let found = one.get(&org, "git:github.com").await.unwrap();
    assert_eq!(found.as_deref(), Some("of one"));
    let nameless = Environment::new(|_| None);
    let nameless = Cloud::new(nameless, world.http.clone());
    assert!(nameless.secrets().is_err(), "no stack's are nobody's");
}

#[tokio::test]
async fn a_secret_that_is_deleted_is_none_and_setting_it_again_is_as_good_as_new() {
    let world = World::new().await;
    let (org, other) = (world.org(1).await.id, world.org(1).await.id);
    let secrets = world.cloud.secrets().unwrap();
    for name in ["git:github.com", "anthropic", "git:git.example.com:8443"] {
        secrets.set(&org, name, "first").await.unwrap();
    }
    secrets.set(&other, "openai", "of another").await.unwrap();
    let names = ["anthropic", "git:git.example.com:8443", "git:github.com"];
    assert_eq!(secrets.names(&org).await.unwrap(), names);
    assert!(secrets.delete(&org, "git:github.com").await.unwrap());
    // Marked for deletion it refuses reads and writes: runs have none, and no failure.
    assert_eq!(secrets.get(&org, "git:github.com").await.unwrap(), None);
    assert_eq!(secrets.names(&org).await.unwrap(), names[..2]);
    assert!(!secrets.delete(&org, "git:github.com").await.unwrap());
    assert!(!secrets.delete(&org, "unknown").await.unwrap());
    secrets.set(&org, "git:github.com", "second").await.unwrap();
    let found = secrets.get(&org, "git:github.com").await.unwrap();
    assert_eq!(found.as_deref(), Some("second"));
    assert_eq!(secrets.names(&org).await.unwrap(), names);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_of_an_environment_is_set_only_under_a_name_that_the_environment_has() {
    let service = quiet_service().await;
    let environment = json!({"name": "build", "secrets": [{"name": "TOKEN", "phases": ["setup"]}]});
    let created = service.client.post("/v1/environments", &environment).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let endpoints = json!(service.service.settings).to_string();
    std::fs::write(service.dir.path().join("endpoints.json"), endpoints).unwrap();
    let set = async |name: &str| {
        let mut awo = Command::new(program("awo"));
        awo.args(["admin", "set-secret", "--org", service.org.as_str()]);
        awo.args(["--name", name]);
        awo.env("AWO_DATA_DIR", service.dir.path());
        awo.stdin(Stdio::piped()).stdout(Stdio::null());
        awo.stderr(Stdio::piped());
        let ended = tokio::task::spawn_blocking(move || {
            let mut child = awo.spawn().unwrap();
            // A refusal comes before the value is read.
            let _ = writeln!(child.stdin.take().unwrap(), "a value of a secret");
            child.wait_with_output().unwrap()
        });
        let ended = ended.await.unwrap();
        let message = String::from_utf8(ended.stderr).unwrap();
        (ended.status.success(), message)
    };

    assert_eq!(set("env:build:TOKEN").await, (true, String::new()));
    for (name, remedy) in [
        ("env:built:TOKEN", "no environment built; create it first"),
        ("env:build:TOKNE", "no secret TOKNE (it has TOKEN)"),
    ] {
        let (is_set, message) = set(name).await;
        assert!(!is_set && message.contains(remedy), "{name}: {message}");
    }
    let secrets = service.service.cloud.secrets().unwrap();
    assert_eq!(
        secrets.names(&service.org).await.unwrap(),
        ["env:build:TOKEN"]
    );
}

#[test]
fn the_policy_of_the_control_function_ends_at_its_own_stacks_secrets() {
    let control = &template()["Resources"]["Control"]["Properties"];
    let variables = &control["Environment"]["Variables"];
    assert_eq!(variables["AWO_STACK"], "AWS::StackName");
    let policies = control["Policies"].as_array().unwrap().iter();
    let statements = policies.filter_map(|policy| policy["Statement"].as_array());
    let secrets = statements.flatten().filter(|statement| {
        let action = statement["Action"].as_str();
        action.is_some_and(|action| action.starts_with("secretsmanager:"))
    });
    let resources: Vec<&str> = secrets.map(|of| of["Resource"].as_str().unwrap()).collect();
    assert_eq!(resources.len(), 1, "{resources:?}");
    assert!(
        resources[0].ends_with(":secret:${AWS::StackName}/*"),
        "{resources:?}"
    );
}
