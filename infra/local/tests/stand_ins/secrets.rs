use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use awo_local::access::AccessKey;
use awo_local::secrets;
use awo_local::shutdown::Shutdown;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::ProvideErrorMetadata;

use crate::cloud::{loopback, secrets_client};

async fn start(file: &Path) -> Client {
    start_that(file, true).await
}

/// One that takes secrets, or does not.
async fn start_that(file: &Path, takes_secrets: bool) -> Client {
    let key = AccessKey::random();
    let server = secrets::start(
        loopback().await,
        file,
        takes_secrets,
        key.clone(),
        Shutdown::new(),
    )
    .unwrap();
    secrets_client(&server.url(), key.id())
}

#[tokio::test]
async fn a_secret_is_stored_in_its_file_and_read_by_its_owner_only() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secrets.json");
    let client = start(&file).await;
    let created = client
        .create_secret()
        .name("hook/1")
        .secret_string("first")
        .send()
        .await
        .unwrap();
    let changed = client
        .put_secret_value()
        .secret_id("hook/1")
        .secret_string("second")
        .send()
        .await
        .unwrap();
    assert_eq!(created.arn(), changed.arn());
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let restarted = start(&file).await;
    let by_arn = restarted
        .get_secret_value()
        .secret_id(created.arn().unwrap())
        .send();
    let by_arn = by_arn.await.unwrap();
    assert_eq!(by_arn.secret_string(), Some("second"));
    assert_eq!(by_arn.version_stages(), ["AWSCURRENT"]);
    let previous = restarted
        .get_secret_value()
        .secret_id("hook/1")
        .version_stage("AWSPREVIOUS");
    assert_eq!(
        previous.send().await.unwrap().secret_string(),
        Some("first")
    );
}

#[tokio::test]
async fn what_is_missing_or_there_already_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let client = start(&directory.path().join("secrets.json")).await;
    let missing = client
        .get_secret_value()
        .secret_id("none")
        .send()
        .await
        .unwrap_err();
    assert!(
        missing
            .into_service_error()
            .is_resource_not_found_exception()
    );
    let missing = client
        .put_secret_value()
        .secret_id("none")
        .secret_string("x");
    let missing = missing.send().await.unwrap_err();
    assert!(
        missing
            .into_service_error()
            .is_resource_not_found_exception()
    );
    let token = "a".repeat(32);
    let create = |value: &str| {
        let create = client
            .create_secret()
            .name("one")
            .client_request_token(&token);
        create.secret_string(value).send()
    };
    let first = create("x").await.unwrap();
    // The same request again is the same secret; another value is not.
    assert_eq!(create("x").await.unwrap().arn(), first.arn());
    let other = create("y").await.unwrap_err();
    assert!(other.into_service_error().is_resource_exists_exception());
}

#[tokio::test]
async fn a_deleted_secret_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secrets.json");
    let client = start(&file).await;
    for (name, force) in [("soft", false), ("hard", true)] {
        client
            .create_secret()
            .name(name)
            .secret_string("value")
            .send()
            .await
            .unwrap();
        let delete = client
            .delete_secret()
            .secret_id(name)
            .force_delete_without_recovery(force);
        delete.send().await.unwrap();
        let read = client
            .get_secret_value()
            .secret_id(name)
            .send()
            .await
            .unwrap_err();
        let expected = if force {
            "ResourceNotFoundException"
        } else {
            "InvalidRequestException"
        };
        assert_eq!(read.code(), Some(expected));
    }
    assert!(!std::fs::read_to_string(&file).unwrap().contains("value"));
    client
        .create_secret()
        .name("hard")
        .secret_string("new")
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn where_agents_could_read_them_no_secret_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secrets.json");
    let client = start_that(&file, false).await;
    let made = client.create_secret().name("hook/1").secret_string("x");
    let refused = made.send().await.unwrap_err();
    assert_eq!(refused.code(), Some("InvalidRequestException"));
    let message = refused.message().unwrap();
    assert!(
        message.contains("AWO_ALLOW_UNCONFINED_SECRETS"),
        "{message}"
    );
    assert!(!file.exists());
}
