//! An operator's settings of git hosts, on the tables of a real local service.

use serde_json::json;

use crate::admin::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_is_set_shown_and_reset() {
    let world = World::start().await;
    let (org, _, _) = world.org_with_key().await;
    let set = async |args: &str| {
        let args: Vec<&str> = args.split_whitespace().collect();
        let args = [&["set-forge", "--org", &org], &args[..]].concat();
        world.admin(&args).await.json()
    };
    let shown = async || world.admin(&["show-org", "--org", &org]).await.json()["forges"].clone();
    assert!(shown().await.is_null());
    let api = "https://git.example.com/gitlab/api/v4";
    let done = set(&format!(
        "--host git.example.com --kind gitlab --api-url {api}/"
    ))
    .await;
    assert_eq!(done["apiUrl"], api);
    set("--host code.example.com:8443 --kind gitea").await;
    let gitea = json!({"host": "code.example.com:8443", "kind": "gitea"});
    let gitlab = json!({"host": "git.example.com", "kind": "gitlab", "apiUrl": api});
    assert_eq!(shown().await, json!([gitea, gitlab]));
    // Without a URL the API is at its usual place again.
    set("--host git.example.com --kind gitlab").await;
    set("--host code.example.com:8443 --reset").await;
    assert_eq!(
        shown().await,
        json!([{"host": "git.example.com", "kind": "gitlab"}])
    );
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_would_lead_tokens_astray_is_refused() {
    let world = World::start().await;
    let (org, _, _) = world.org_with_key().await;
    for (args, word) in [
        ("--host git.example.com", "--kind"),
        ("--host https://git.example.com --kind gitlab", "lower case"),
        ("--host git.example.com --kind bitbucket", "gitlab"),
        (
            "--host git.example.com --kind gitea --api-url http://git.example.com",
            "https",
        ),
        (
            "--host git.example.com --kind gitea --api-url https://u:p@git.example.com",
            "user",
        ),
        ("--host git.example.com --kind gitea --reset", "--reset"),
        (
            "--host git.example.com --reset --api-url https://git.example.com",
            "--reset",
        ),
    ] {
        let args: Vec<&str> = args.split_whitespace().collect();
        let refused = world
            .admin(&[&["set-forge", "--org", &org], &args[..]].concat())
            .await;
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(word), "{word}: {refused:?}");
    }
    world.service.stop().await;
}
