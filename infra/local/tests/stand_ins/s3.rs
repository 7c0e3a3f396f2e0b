//! S3: objects of one bucket below a directory.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use awo_local::access::AccessKey;
use awo_local::s3;
use awo_local::shutdown::Shutdown;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;

use crate::cloud::{loopback, s3_client};

const BUCKET: &str = "bodies";
const KEY: &str = "org_1/inb_1/0a";

async fn start(directory: &Path) -> Client {
    let key = AccessKey::random();
    let (listener, shutdown) = (loopback().await, Shutdown::new());
    let server = s3::start(listener, BUCKET, directory, key.clone(), shutdown).unwrap();
    s3_client(&server.url(), key.id())
}

async fn put(client: &Client, bucket: &str, key: &str, body: &[u8]) -> Result<(), String> {
    let body = ByteStream::from(body.to_vec());
    let put = client.put_object().bucket(bucket).key(key).body(body);
    let put = put.send().await;
    put.map(drop)
        .map_err(|error| error.code().unwrap_or_default().to_owned())
}

async fn get(client: &Client, key: &str) -> Result<Vec<u8>, String> {
    let read = client.get_object().bucket(BUCKET).key(key).send().await;
    match read {
        Ok(read) => Ok(read.body.collect().await.unwrap().to_vec()),
        Err(error) => Err(error.code().unwrap_or_default().to_owned()),
    }
}

#[tokio::test]
async fn an_object_is_read_as_it_was_put_last_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let client = start(directory.path()).await;
    for body in [&b"first"[..], b"", &[0, 255, 10, 13]] {
        put(&client, BUCKET, KEY, body).await.unwrap();
        assert_eq!(get(&client, KEY).await.unwrap(), body);
    }
    let restarted = start(directory.path()).await;
    assert_eq!(get(&restarted, KEY).await.unwrap(), [0, 255, 10, 13]);
    let mode = std::fs::metadata(directory.path().join(KEY)).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn no_key_leads_out_of_the_directory_and_what_is_missing_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("outside"), "a secret").unwrap();
    let client = start(&directory.path().join("bucket")).await;
    for key in ["../outside", "a/../../outside", "a//b", ".hidden"] {
        assert!(put(&client, BUCKET, key, b"x").await.is_err(), "{key}");
        assert!(get(&client, key).await.is_err(), "{key}");
    }
    assert_eq!(get(&client, KEY).await.unwrap_err(), "NoSuchKey");
    assert_eq!(
        put(&client, "another", KEY, b"x").await.unwrap_err(),
        "NoSuchBucket"
    );
    let outside = std::fs::read_to_string(directory.path().join("outside")).unwrap();
    assert_eq!(outside, "a secret");
}

#[tokio::test]
async fn an_object_whose_lifetime_is_over_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let client = start(directory.path()).await;
    put(&client, BUCKET, KEY, b"old").await.unwrap();
    let file = std::fs::File::options()
        .append(true)
        .open(directory.path().join(KEY))
        .unwrap();
    file.set_modified(SystemTime::now() - s3::LIFETIME).unwrap();
    assert_eq!(get(&client, KEY).await.unwrap_err(), "NoSuchKey");
    put(&client, BUCKET, KEY, b"new").await.unwrap();
    assert_eq!(get(&client, KEY).await.unwrap(), b"new");
}

#[tokio::test]
async fn a_caller_without_the_key_and_an_object_that_is_too_large_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (key, shutdown) = (AccessKey::random(), Shutdown::new());
    let listener = loopback().await;
    let server = s3::start(listener, BUCKET, directory.path(), key.clone(), shutdown).unwrap();
    let stranger = s3_client(&server.url(), AccessKey::random().id());
    assert_eq!(
        put(&stranger, BUCKET, KEY, b"x").await.unwrap_err(),
        "InvalidAccessKeyId"
    );
    let client = s3_client(&server.url(), key.id());
    let large = vec![b'x'; 16 * 1_024 * 1_024 + 1];
    assert!(put(&client, BUCKET, KEY, &large).await.is_err());
    assert_eq!(get(&client, KEY).await.unwrap_err(), "NoSuchKey");
}
