//! Secrets of organizations, beside those of other stacks of the account.

use awo_cloud::{Cloud, Environment};
use awo_tests::world::World;

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
