//! Values of secrets, which clients set and nobody reads.

use awo_domain::api_key::Scope;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::runs::{MAKEFILE, order, ran};
use super::{delete, make, put, service};

const PATH: &str = "/v1/environments/e/secrets/TOKEN";
const VALUE: &str = "a-value-of-a-secret";

fn environment(phases: &[&str]) -> Value {
    json!({
        "name": "e",
        "secrets": [{ "name": "TOKEN", "phases": phases }],
        "setup": [{ "name": "check", "run": format!("test ${{#TOKEN}} = {}", VALUE.len()) }],
    })
}

async fn secret(service: &TestService) -> Value {
    let shown = service.client.get("/v1/environments/e").await;
    assert!(!shown.text.contains(VALUE), "{}", shown.text);
    shown.body["secrets"][0].clone()
}

async fn status_of_run(service: &TestService, repository: &Repository) -> Value {
    let mut body = order(&repository.url(), "echo done > done.txt");
    body["environment"] = json!("e");
    let run = ran(service, &body).await;
    json!([run["status"], run["error"]["code"]])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_a_client_sets_is_in_its_runs_until_it_is_deleted() {
    let service = service().await;
    let repository = Repository::with(&[("Makefile", MAKEFILE)]);
    make(&service.client, &environment(&["setup"])).await;
    assert_eq!(secret(&service).await["set"], false);
    let failed = json!(["failed", "WORKSPACE_FAILED"]);
    assert_eq!(status_of_run(&service, &repository).await, failed);

    let setter = service.key(&[Scope::EnvironmentsSecrets], None).await;
    let set = put(&setter, PATH, &json!({ "value": VALUE })).await;
    assert_eq!((set.status, set.text.as_str()), (204, ""));
    let shown = secret(&service).await;
    assert_eq!(shown["set"], true);
    assert!(shown["updatedAt"].is_string(), "{shown}");
    let succeeded = json!(["succeeded", null]);
    assert_eq!(status_of_run(&service, &repository).await, succeeded);

    for _ in 0..2 {
        assert_eq!(delete(&setter, PATH).await.status, 204);
    }
    assert_eq!(secret(&service).await["set"], false);
    assert_eq!(status_of_run(&service, &repository).await, failed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wider_use_of_a_secret_by_a_key_that_may_not_set_it_unsets_it() {
    let service = service().await;
    make(&service.client, &environment(&["setup"])).await;
    let writer = service.key(&[Scope::EnvironmentsWrite], None).await;
    let set = async || {
        let set = put(&service.client, PATH, &json!({ "value": VALUE })).await;
        assert_eq!(set.status, 204, "{}", set.text);
    };
    let registry = json!({ "kind": "npm", "url": "https://npm.example.com/", "secret": "TOKEN" });
    let mut with_registry = environment(&["setup"]);
    with_registry["registries"] = json!([registry]);

    for (body, by_writer) in [
        (environment(&["setup"]), true),
        (environment(&["setup", "agent"]), false),
        (environment(&["verify"]), false),
        (with_registry, false),
    ] {
        for (client, is_set) in [(&writer, by_writer), (&service.client, true)] {
            put(
                &service.client,
                "/v1/environments/e",
                &environment(&["setup"]),
            )
            .await;
            set().await;
            let replaced = put(client, "/v1/environments/e", &body).await;
            assert_eq!(replaced.status, 200, "{}", replaced.text);
            assert_eq!(secret(&service).await["set"], is_set, "{body}");
        }
    }

    // What a response shows is a valid replacement.
    let shown = service.client.get("/v1/environments/e").await.body;
    let replaced = put(&writer, "/v1/environments/e", &shown).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text);
    assert_eq!(secret(&service).await["set"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_environments_values_do_not_come_back_with_its_name() {
    let service = service().await;
    make(&service.client, &environment(&["setup"])).await;
    put(&service.client, PATH, &json!({ "value": VALUE })).await;
    let names = async || {
        let secrets = service.service.cloud.secrets().unwrap();
        secrets.names(&service.org).await.unwrap()
    };
    assert_eq!(names().await, ["env:e:TOKEN"]);
    let deleted = delete(&service.client, "/v1/environments/e").await;
    assert_eq!(deleted.status, 204, "{}", deleted.text);
    assert!(names().await.is_empty());
    make(&service.client, &environment(&["setup"])).await;
    assert_eq!(secret(&service).await["set"], false);
    let set = put(&service.client, PATH, &json!({ "value": VALUE })).await;
    assert_eq!(set.status, 204, "{}", set.text);
    assert_eq!(secret(&service).await["set"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secrets_value_is_bounded_and_only_names_of_the_environment_take_one() {
    let service = service().await;
    make(&service.client, &environment(&["setup"])).await;
    for (value, status) in [
        (json!("x"), 204),
        (json!("x".repeat(32_768)), 204),
        (json!("two\nlines"), 204),
        (json!(""), 400),
        (json!("x".repeat(32_769)), 400),
        (json!("a\0b"), 400),
        (json!(7), 400),
    ] {
        let set = put(&service.client, PATH, &json!({ "value": value })).await;
        assert_eq!(set.status, status, "{}", set.text);
        if status == 400 {
            assert_eq!(super::wrong(&set), ["/value"]);
        }
    }
    for (path, code) in [
        ("/v1/environments/e/secrets/OTHER", "NOT_FOUND"),
        ("/v1/environments/e/secrets/no-name", "NOT_FOUND"),
        ("/v1/environments/f/secrets/TOKEN", "ENVIRONMENT_NOT_FOUND"),
    ] {
        for answer in [
            put(&service.client, path, &json!({ "value": VALUE })).await,
            delete(&service.client, path).await,
        ] {
            assert_eq!(answer.status, 404, "{path} {}", answer.text);
            assert_eq!(answer.body["error"]["code"], code, "{path}");
        }
    }
    // An environment's own scopes do not reach its secrets.
    let writer = [Scope::EnvironmentsRead, Scope::EnvironmentsWrite];
    let writer = service.key(&writer, None).await;
    let refused = put(&writer, PATH, &json!({ "value": VALUE })).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
}
