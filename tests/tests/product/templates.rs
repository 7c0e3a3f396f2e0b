//! Templates: created, read, listed, changed, deleted, and used by work orders.

use awo_domain::api_key::Scope;
use awo_tests::client::{Answer, Client};
use awo_tests::repository::Repository;
use serde_json::{Value, json};

use crate::http_api::quiet_service;

const JSON: (&str, &str) = ("content-type", "application/json");
const HOSTILE: &str = "$(touch pwned); 'x\n\"`touch pwned`\" *";

fn npm(id: &str) -> Value {
    json!({
        "id": id,
        "name": "Ours",
        "description": "What we always need",
        "source": { "type": "git", "repository": "https://git.invalid/{{repo}}.git", "branch": "{{branch}}" },
        "variables": [
            { "name": "repo", "description": "which", "required": true },
            { "name": "branch", "description": "", "default": "main" },
        ],
        "hooks": { "postCreate": ["echo {{repo}}"] },
        "tags": ["a", "b"],
    })
}

async fn put(client: &Client, path: &str, body: &Value) -> Answer {
    let bytes = body.to_string().into_bytes();
    client.send("PUT", path, &[JSON], bytes).await
}

async fn delete(client: &Client, path: &str) -> Answer {
    client.send("DELETE", path, &[], Vec::new()).await
}

fn order(id: &str, variables: &Value) -> Value {
    json!({ "taskPrompt": "x", "workspaceSource": { "type": "template", "templateId": id, "variables": variables } })
}

fn fails(answer: &Answer, status: u16, code: &str) {
    let got = (answer.status, answer.body["error"]["code"].as_str());
    assert_eq!(got, (status, Some(code)), "{}", answer.text);
}

#[tokio::test]
async fn a_template_is_made_read_changed_and_deleted() {
    let service = quiet_service().await;
    let client = &service.client;
    let body = npm("ours");
    let made = client.post("/v1/templates", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    for (name, value) in body.as_object().unwrap() {
        assert_eq!(made.body[name], *value, "{name}");
    }
    assert_eq!(made.body["builtIn"], false);
    assert!(made.body["createdAt"].is_string() && made.body.get("updatedAt").is_none());
    let read = client.get("/v1/templates/ours").await;
    assert_eq!((read.status, &read.body), (200, &made.body));
    let again = client.post("/v1/templates", &body).await;
    fails(&again, 409, "CONFLICT");

    let change = json!({ "name": "New", "tags": [] });
    let changed = put(client, "/v1/templates/ours", &change).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let mut wanted = made.body.clone();
    (wanted["name"], wanted["tags"]) = (json!("New"), json!([]));
    wanted["updatedAt"] = changed.body["updatedAt"].clone();
    assert!(wanted["updatedAt"].is_string());
    assert_eq!(changed.body, wanted);
    assert_eq!(client.get("/v1/templates/ours").await.body, wanted);
    let broken = put(client, "/v1/templates/ours", &json!({ "variables": [] })).await;
    let all = [
        "/hooks/postCreate/0",
        "/source/branch",
        "/source/repository",
    ];
    assert_eq!(broken.fault_paths(), all);
    for bad in [
        json!({ "id": "x" }),
        json!({ "name": "" }),
        json!({ "builtIn": true }),
    ] {
        assert_eq!(put(client, "/v1/templates/ours", &bad).await.status, 400);
    }
    assert_eq!(client.get("/v1/templates/ours").await.body, wanted);

    let gone = delete(client, "/v1/templates/ours").await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    assert!(!gone.header("x-request-id").is_empty());
    for answer in [
        delete(client, "/v1/templates/ours").await,
        client.get("/v1/templates/ours").await,
        put(client, "/v1/templates/ours", &change).await,
        client.get("/v1/templates/No%20Id").await,
    ] {
        fails(&answer, 404, "TEMPLATE_NOT_FOUND");
    }
}

#[tokio::test]
async fn every_fault_of_a_template_is_reported_with_its_path() {
    let service = quiet_service().await;
    let bad = json!({
        "id": "No", "description": 1, "source": { "type": "svn", "url": "x" },
        "variables": [{ "name": "1x" }, { "required": "yes" }], "hooks": { "preCreate": [] },
        "tags": [""], "extra": 1,
    });
    let answer = service.client.post("/v1/templates", &bad).await;
    let wanted = [
        "/description",
        "/extra",
        "/hooks/preCreate",
        "/id",
        "/name",
        "/source/repository",
        "/source/type",
        "/source/url",
        "/tags/0",
        "/variables/0/name",
        "/variables/1/name",
        "/variables/1/required",
    ];
    assert_eq!(answer.fault_paths(), wanted);
    let mut unknown = npm("a");
    unknown["hooks"]["postCreate"] = json!(["true", "echo {{nobody}}"]);
    let answer = service.client.post("/v1/templates", &unknown).await;
    assert_eq!(answer.fault_paths(), ["/hooks/postCreate/1"]);
    assert!(answer.text.contains("{{nobody}}"), "{}", answer.text);
    let listed = service.client.get("/v1/templates").await;
    assert_eq!(
        listed.body["templates"][0]["builtIn"], true,
        "{}",
        listed.text
    );
}

#[tokio::test]
async fn built_in_templates_are_listed_last_and_never_change() {
    let service = quiet_service().await;
    let client = &service.client;
    for answer in [
        put(client, "/v1/templates/github", &json!({ "name": "x" })).await,
        delete(client, "/v1/templates/github").await,
    ] {
        fails(&answer, 403, "FORBIDDEN");
    }
    let taken = client.post("/v1/templates", &npm("github")).await;
    fails(&taken, 409, "CONFLICT");
    let first = client.get("/v1/templates?limit=100").await.body;
    let built_in = first["templates"].as_array().unwrap().len();
    assert!(built_in >= 5, "{first:#}");
    assert_eq!(first["total"], json!(built_in));
    let github = client.get("/v1/templates/github").await;
    assert_eq!(
        (github.status, &github.body["builtIn"]),
        (200, &json!(true))
    );

    for id in ["t1", "t2", "t3", "t4", "t5"] {
        assert_eq!(client.post("/v1/templates", &npm(id)).await.status, 201);
    }
    let total = json!(built_in + 5);
    let (mut seen, mut path) = (Vec::new(), "/v1/templates?limit=2".to_owned());
    loop {
        let page = client.get(&path).await.body;
        assert_eq!(page["limit"], 2);
        let items = page["templates"].as_array().unwrap();
        seen.extend(items.iter().map(|t| t["id"].as_str().unwrap().to_owned()));
        match page["nextCursor"].as_str() {
            // The template that a cursor names may be gone.
            Some(cursor) if seen.len() == 4 => {
                assert_eq!(page["total"], total);
                assert_eq!(delete(client, "/v1/templates/t2").await.status, 204);
                path = format!("/v1/templates?limit=2&cursor={cursor}");
            }
            Some(cursor) => path = format!("/v1/templates?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen[..5], ["t5", "t4", "t3", "t2", "t1"]);
    assert_eq!(seen.len(), built_in + 5);
    let by_offset = client.get("/v1/templates?limit=1&offset=3").await.body;
    assert_eq!(by_offset["templates"][0]["id"], "t1");
    assert_eq!(by_offset["total"], json!(built_in + 4));
}

#[tokio::test]
async fn another_organizations_templates_do_not_exist_and_scopes_count() {
    let service = quiet_service().await;
    let (_, other) = service.another_org(1_000).await;
    let made = service.client.post("/v1/templates", &npm("ours")).await;
    for answer in [
        other.get("/v1/templates/ours").await,
        put(&other, "/v1/templates/ours", &json!({ "name": "x" })).await,
        delete(&other, "/v1/templates/ours").await,
    ] {
        fails(&answer, 404, "TEMPLATE_NOT_FOUND");
    }
    let variables = json!({ "repo": "a" });
    let foreign = other
        .post("/v1/work-orders", &order("ours", &variables))
        .await;
    assert_eq!(foreign.fault_paths(), ["/workspaceSource/templateId"]);
    assert_eq!(other.post("/v1/templates", &npm("ours")).await.status, 201);
    assert_eq!(delete(&other, "/v1/templates/ours").await.status, 204);
    assert_eq!(
        service.client.get("/v1/templates/ours").await.body,
        made.body
    );
    let reader = service.key(&[Scope::TemplatesRead], None).await;
    assert_eq!(reader.get("/v1/templates/ours").await.status, 200);
    fails(
        &delete(&reader, "/v1/templates/ours").await,
        403,
        "FORBIDDEN",
    );
    let writer = service.key(&[Scope::TemplatesWrite], None).await;
    fails(&writer.get("/v1/templates").await, 403, "FORBIDDEN");
}

#[tokio::test]
async fn an_organization_has_no_more_templates_than_it_may() {
    let service = quiet_service().await;
    let client = &service.client;
    for i in 0..100 {
        let made = client.post("/v1/templates", &npm(&format!("t{i}"))).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    fails(
        &client.post("/v1/templates", &npm("more")).await,
        409,
        "CONFLICT",
    );
    assert_eq!(delete(client, "/v1/templates/t7").await.status, 204);
    let racers = ["a", "b", "c", "d"].map(|id| {
        let client = client.clone();
        tokio::spawn(async move { client.post("/v1/templates", &npm(id)).await.status })
    });
    let mut statuses = Vec::new();
    for racer in racers {
        statuses.push(racer.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409]);
}

#[tokio::test]
async fn a_repeated_create_is_answered_as_the_first_whatever_has_become_of_the_template() {
    let service = quiet_service().await;
    let client = &service.client;
    let headers = [JSON, ("idempotency-key", "k")];
    let create = |path: &'static str, body: Value| {
        let bytes = body.to_string().into_bytes();
        async move { client.send("POST", path, &headers, bytes).await }
    };
    let first = create("/v1/templates", npm("ours")).await;
    assert_eq!(first.status, 201);
    let variables = json!({ "repo": "a" });
    let placed = create("/v1/work-orders", order("ours", &variables)).await;
    assert_eq!(placed.status, 201, "{}", placed.text);
    assert_eq!(delete(client, "/v1/templates/ours").await.status, 204);
    for (path, body, was) in [
        ("/v1/templates", npm("ours"), &first),
        ("/v1/work-orders", order("ours", &variables), &placed),
    ] {
        let again = create(path, body).await;
        assert_eq!((again.status, &again.text), (201, &was.text));
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
    let other = create("/v1/templates", npm("other")).await;
    fails(&other, 422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(client.get("/v1/templates/ours").await.status, 404);
}

#[tokio::test]
async fn a_work_order_shows_what_its_template_resolved_to() {
    let service = quiet_service().await;
    let client = &service.client;
    client.post("/v1/templates", &npm("ours")).await;
    let made = client
        .post("/v1/work-orders", &order("ours", &json!({ "repo": "a/b" })))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let source =
        json!({ "type": "git", "repository": "https://git.invalid/a/b.git", "branch": "main" });
    assert_eq!(made.body["workspaceSource"], source);
    put(
        client,
        "/v1/templates/ours",
        &json!({ "source": { "type": "git", "repository": "https://git.invalid/x" } }),
    )
    .await;
    let path = format!("/v1/work-orders/{}", made.body["id"].as_str().unwrap());
    assert_eq!(client.get(&path).await.body, made.body);

    let at = "/workspaceSource/variables";
    let of = |name: &str| format!("{at}/{name}");
    let cases = [
        (order("ours", &json!({})), vec![of("repo")]),
        (
            order("ours", &json!({ "repo": "a", "no/pe": "x" })),
            vec![of("no~1pe")],
        ),
        (order("ours", &json!({ "repo": 1 })), vec![of("repo")]),
        (order("ours", &json!([])), vec![at.to_owned()]),
        (
            order("git", &json!({ "repository": "http://git.invalid/a" })),
            vec![at.to_owned()],
        ),
        (
            order("git", &json!({ "repository": "https://u@git.invalid/a" })),
            vec![at.to_owned()],
        ),
        (
            order("nope", &json!({})),
            vec!["/workspaceSource/templateId".to_owned()],
        ),
    ];
    for (body, wanted) in cases {
        let answer = client.post("/v1/work-orders", &body).await;
        assert_eq!(answer.fault_paths(), wanted, "{body}");
    }
    let mut several = order("ours", &json!({}));
    several["taskPrompt"] = json!("");
    let answer = client.post("/v1/work-orders", &several).await;
    assert_eq!(answer.fault_paths(), ["/taskPrompt".to_owned(), of("repo")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_run_after_the_clone_and_see_hostile_values_as_they_are() {
    let service = awo_tests::service::TestService::start(1_000_000, &[]).await;
    let repository = Repository::with(&[("a", "b"), (".awo/agent.sh", "#!/bin/sh\ntrue\n")]);
    let template = json!({
        "id": "hooked", "name": "Hooked",
        "source": { "type": "git", "repository": "{{url}}" },
        "variables": [{ "name": "url", "description": "", "required": true }, { "name": "v", "description": "" }],
        "hooks": { "postCreate": ["printf %s {{v}} > value.txt", "printf %s \"<{{v}}>\" >> value.txt; ls > list.txt"] },
    });
    let made = service.client.post("/v1/templates", &template).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let variables = json!({ "url": repository.url(), "v": HOSTILE });
    let body = order("hooked", &variables);
    let placed = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(placed.status, 201, "{}", placed.text);
    // What becomes of the template changes nothing.
    delete(&service.client, "/v1/templates/hooked").await;
    let run = service.client.finished_run(&placed.body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let branch = run["branch"].as_str().unwrap();
    let wanted = format!("{HOSTILE}<{HOSTILE}>");
    assert_eq!(repository.show(branch, "value.txt"), wanted);
    assert_eq!(
        repository.show(branch, "list.txt"),
        "a\nlist.txt\nvalue.txt"
    );
}
