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

/// What openssl makes.
fn made(args: &[&str]) -> String {
    let made = std::process::Command::new("openssl")
        .args(args)
        .output()
        .unwrap();
    String::from_utf8(made.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_set_with_its_key_shown_without_it_and_removed_with_it() {
    let world = World::start().await;
    let (org, _, _) = world.org_with_key().await;
    let key = made(&["genrsa", "2048"]);
    let host = ["--org", &org, "--host", "github.com"];
    let set = [
        &["set-app"],
        &host[..],
        &["--app-id", "7", "--installation", "4711"],
    ]
    .concat();
    let done = world.fed(&set, &key).await.json();
    let shown = json!({"host": "github.com", "appId": 7, "installationId": 4711});
    assert_eq!(
        (&done["appId"], &done["installationId"]),
        (&json!(7), &json!(4711))
    );
    let org_shown = world.admin(&["show-org", "--org", &org]).await;
    assert_eq!(org_shown.json()["forges"], json!([shown]));
    assert!(!org_shown.out.contains("PRIVATE"), "{org_shown:?}");
    let secrets = world.admin(&["list-secrets", "--org", &org]).await;
    assert!(secrets.out.contains("app:github.com"), "{secrets:?}");
    // Without an installation it is looked up again.
    let set = [&["set-app"], &host[..], &["--app-id", "8"]].concat();
    world.fed(&set, &key).await.json();
    let shown = world.admin(&["show-org", "--org", &org]).await.json();
    assert_eq!(shown["forges"], json!([{"host": "github.com", "appId": 8}]));
    let reset = [&["set-app"], &host[..], &["--reset"]].concat();
    world.admin(&reset).await.json();
    assert!(world.admin(&["show-org", "--org", &org]).await.json()["forges"].is_null());
    let secrets = world.admin(&["list-secrets", "--org", &org]).await;
    assert!(!secrets.out.contains("app:github.com"), "{secrets:?}");
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_with_a_bad_key_is_refused_and_nothing_is_stored() {
    let world = World::start().await;
    let (org, _, _) = world.org_with_key().await;
    let set = [
        "set-app",
        "--org",
        &org,
        "--host",
        "github.com",
        "--app-id",
        "7",
    ];
    for (key, word) in [
        (made(&["genrsa", "1024"]), "2048"),
        (
            made(&["ecparam", "-name", "prime256v1", "-genkey", "-noout"]),
            "RSA",
        ),
        ("no key".to_owned(), "PEM"),
    ] {
        let refused = world.fed(&set, &key).await;
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(word), "{word}: {refused:?}");
        assert!(!refused.err.contains("BEGIN"), "{refused:?}");
    }
    let none = world.fed(&set[..5], &made(&["genrsa", "2048"])).await;
    assert_eq!(none.code, 2, "{none:?}");
    assert!(world.admin(&["show-org", "--org", &org]).await.json()["forges"].is_null());
    let secrets = world.admin(&["list-secrets", "--org", &org]).await;
    assert!(!secrets.out.contains("app:"), "{secrets:?}");
    world.service.stop().await;
}
