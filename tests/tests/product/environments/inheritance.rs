//! Environments that extend another.

use awo_domain::api_key::Scope;
use awo_tests::repository::Repository;
use serde_json::json;

use super::runs::{MAKEFILE, order, ran, set_secret};
use super::{delete, make, put, service, wrong};

const VALUE: &str = "a-value-of-a-secret";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_has_what_its_environment_inherits_and_the_secrets_of_the_parent() {
    let service = service().await;
    let repository = Repository::with(&[("Makefile", MAKEFILE)]);
    let parent = json!({
        "name": "base", "variables": { "A": "base", "B": "base" },
        "secrets": [{ "name": "TOKEN", "phases": ["setup"] }],
        "setup": [{ "name": "first", "run": "echo first > order.txt" }],
    });
    make(&service.client, &parent).await;
    let check = format!(
        "test $A-$B = base-own && test ${{#TOKEN}} = {} && cat order.txt",
        VALUE.len()
    );
    let child = json!({
        "name": "e", "extends": "base", "variables": { "B": "own" },
        "setup": [{ "name": "check", "run": check }],
    });
    make(&service.client, &child).await;
    let shown = service.client.get("/v1/environments/e").await;
    assert_eq!(
        shown.body["variables"], child["variables"],
        "{}",
        shown.text
    );
    set_secret(&service, "base", "TOKEN", VALUE).await;
    let mut body = order(&repository.url(), "echo done > done.txt");
    body["environment"] = json!("e");
    let run = ran(&service, &body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");

    let deleted = delete(&service.client, "/v1/environments/base").await;
    assert_eq!(deleted.status, 409, "{}", deleted.text);
    assert!(
        deleted.text.contains("the environment e"),
        "{}",
        deleted.text
    );
    assert_eq!(
        delete(&service.client, "/v1/environments/e").await.status,
        204
    );
    assert_eq!(
        delete(&service.client, "/v1/environments/base")
            .await
            .status,
        204
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_is_another_environment_that_extends_none() {
    let service = service().await;
    let client = &service.client;
    make(client, &json!({ "name": "base" })).await;
    make(client, &json!({ "name": "e", "extends": "base" })).await;
    for body in [
        json!({ "name": "f", "extends": "nobody" }),
        json!({ "name": "f", "extends": "f" }),
        json!({ "name": "f", "extends": "e" }),
        json!({ "name": "f", "extends": "not a name" }),
    ] {
        let refused = client.post("/v1/environments", &body).await;
        assert_eq!(wrong(&refused), ["/extends"], "{body}");
    }
    // It would make the parent of one a child of another.
    make(client, &json!({ "name": "other" })).await;
    let refused = put(
        client,
        "/v1/environments/base",
        &json!({ "extends": "other" }),
    )
    .await;
    assert_eq!(wrong(&refused), ["/extends"]);
    // Together they have a fault that neither has by itself.
    let registry = |url: &str, name: &str| json!({ "kind": "npm", "url": url, "secret": "T", "name": name, "scopes": ["@a"], "default": true });
    let base = json!({ "registries": [registry("https://a.example.com/", "a")] });
    assert_eq!(
        put(client, "/v1/environments/base", &base).await.status,
        200
    );
    let again = put(client, "/v1/environments/e", &json!({ "extends": "base" })).await;
    assert_eq!(again.status, 200, "{}", again.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inherited_secret_is_the_parents_and_gets_no_wider_without_the_scope() {
    let service = service().await;
    let secret = |phases: &[&str]| json!([{ "name": "TOKEN", "phases": phases }]);
    let base = json!({ "name": "base", "secrets": secret(&["setup"]) });
    make(&service.client, &base).await;
    set_secret(&service, "base", "TOKEN", VALUE).await;
    let writer = service.key(&[Scope::EnvironmentsWrite], None).await;
    let wider = json!({ "name": "e", "extends": "base", "secrets": secret(&["agent"]) });
    let refused = writer.post("/v1/environments", &wider).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(refused.text.contains("TOKEN"), "{}", refused.text);
    let made = service.client.post("/v1/environments", &wider).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.body["secrets"][0]["set"], true, "{}", made.text);
    // What it has already, a key without the scope may repeat.
    let repeated = put(&writer, "/v1/environments/e", &wider).await;
    assert_eq!(repeated.status, 200, "{}", repeated.text);
    let path = "/v1/environments/e/secrets/TOKEN";
    let refused = put(&service.client, path, &json!({ "value": VALUE })).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(refused.text.contains("base"), "{}", refused.text);
}
