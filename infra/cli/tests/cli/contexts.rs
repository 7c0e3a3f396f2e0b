//! The service of a command: contexts, and the local service from any folder.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::call::{CallOutput, command, fed};
use crate::double::{Double, Reply};

/// A service that knows one key.
async fn service(key: &'static str) -> Double {
    Double::start(move |seen, _| {
        let wanted = format!("Bearer {key}");
        let is_known = seen.headers["authorization"].to_str().unwrap() == wanted;
        match (is_known, seen.route().as_str()) {
            (true, "GET /v1/credits") => Reply::of(
                200,
                json!({"balance": 1, "reserved": 0, "available": 1}).to_string(),
            ),
            (true, other) => panic!("{other}"),
            (false, _) => Reply::of(
                401,
                r#"{"error":{"code":"UNAUTHORIZED","message":"no","details":{}}}"#,
            ),
        }
    })
    .await
}

async fn awo(config: &Path, args: &[&str], input: &str) -> CallOutput {
    let mut call = command(args);
    call.env("AWO_CONFIG_DIR", config).current_dir(config);
    fed(call, input).await
}

fn file(config: &TempDir) -> std::path::PathBuf {
    config.path().join("contexts.json")
}

#[tokio::test]
async fn a_login_is_checked_stored_for_the_owner_alone_and_used_from_then_on() {
    let (config, first, second) = (
        tempfile::tempdir().unwrap(),
        service("k1").await,
        service("k2").await,
    );
    let wrong = awo(config.path(), &["login", &first.url, "--name", "a"], "k2\n").await;
    assert_eq!(wrong.code, 3, "{wrong:?}");
    assert!(
        !file(&config).exists(),
        "a key that is refused is not stored"
    );

    for (double, name, key) in [(&first, "a", "k1\n"), (&second, "b", "k2\n")] {
        let login = awo(config.path(), &["login", &double.url, "--name", name], key).await;
        assert_eq!(login.code, 0, "{login:?}");
    }
    let mode = std::fs::metadata(file(&config))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let credits = ["credits", "--json"];
    assert_eq!(awo(config.path(), &credits, "").await.code, 0);
    assert_eq!(second.seen().len(), 2, "the last login is in use");
    let other = ["credits", "--json", "--context", "a"];
    assert_eq!(awo(config.path(), &other, "").await.code, 0);
    assert_eq!(
        awo(config.path(), &["context", "use", "a"], "").await.code,
        0
    );
    let shown = awo(config.path(), &["context", "show", "--json"], "")
        .await
        .json();
    assert_eq!(shown["context"], "a");
    let list = awo(config.path(), &["context", "list"], "").await;
    assert!(
        list.out.contains("* a") && list.out.contains("  b"),
        "{list:?}"
    );
    assert!(!list.out.contains("k1"), "no key is shown");

    assert_eq!(
        awo(config.path(), &["context", "delete", "a"], "")
            .await
            .code,
        0
    );
    let gone = awo(config.path(), &["context", "use", "a"], "").await;
    assert_eq!(gone.code, 2, "{gone:?}");
    assert!(gone.err.contains("awo login"), "{gone:?}");
    assert!(
        !std::fs::read_to_string(file(&config))
            .unwrap()
            .contains("k1")
    );
}

#[tokio::test]
async fn keys_that_others_may_read_are_not_used() {
    let (config, double) = (tempfile::tempdir().unwrap(), service("k1").await);
    awo(config.path(), &["login", &double.url], "k1").await;
    std::fs::set_permissions(file(&config), std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = awo(config.path(), &["credits"], "").await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("chmod 600"), "{refused:?}");
}

#[tokio::test]
async fn a_key_goes_over_https_or_stays_on_the_machine() {
    let config = tempfile::tempdir().unwrap();
    let refused = awo(config.path(), &["login", "http://example.com"], "k").await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("unencrypted"), "{refused:?}");
    let elsewhere = json!({"baseUrl": "https://example.com", "apiKey": "k"}).to_string();
    std::fs::create_dir(config.path().join(".local")).unwrap();
    std::fs::write(config.path().join(".local/service.json"), elsewhere).unwrap();
    let refused = awo(config.path(), &["credits"], "").await;
    assert!(
        refused.err.contains("does not contain a loopback address"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_local_service_is_found_from_any_folder() {
    let (config, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let none = awo(config.path(), &["credits"], "").await;
    assert_eq!(none.code, 4, "{none:?}");
    assert!(
        none.err.contains("make run") && none.err.contains("awo login"),
        "{none:?}"
    );

    let double = service("local").await;
    let service = json!({"baseUrl": double.url, "apiKey": "local"}).to_string();
    std::fs::write(data.path().join("service.json"), service).unwrap();
    let record = json!({"dataDir": data.path(), "pid": 1}).to_string();
    std::fs::write(config.path().join("local.json"), record).unwrap();
    let found = awo(config.path(), &["credits", "--json"], "").await;
    assert_eq!(found.code, 0, "{found:?}");
    let show = awo(config.path(), &["context", "show"], "").await;
    assert!(
        show.out.contains("local") && show.out.contains(&double.url),
        "{show:?}"
    );
}
