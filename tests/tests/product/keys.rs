//! The table reads of a request's authentication.

use awo_domain::api_key::{ApiKey, RANDOM_BYTES, Scope};
use awo_tests::counted_requests::CountedRequests;
use awo_tests::rules;
use awo_tests::service::TestService;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::http_api::quiet_service;

/// Two keys of one key id: the first is the service's, the second nobody's.
async fn known_and_guessed(service: &TestService) -> (ApiKey, ApiKey) {
    let cloud = &service.service.cloud;
    let mut random = [0; RANDOM_BYTES];
    for (byte, drawn) in random.iter_mut().zip(cloud.mint.secret().bytes()) {
        *byte = drawn;
    }
    let known = ApiKey::new(random);
    random[20] ^= 1;
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let made = store.create_key(&known, &service.org, &[Scope::All], None, "cursor", now);
    made.await.unwrap();
    (known, ApiKey::new(random))
}

#[tokio::test]
async fn a_wrong_secret_names_no_item_that_a_good_key_names() {
    let service = quiet_service().await;
    let requests = CountedRequests::of(&service).await;
    let (known, guessed) = known_and_guessed(&service).await;
    assert_eq!(known.id(), guessed.id());
    let client = requests.for_client(&service.client);
    let good = client.with_key(Some(known.reveal()));
    assert_eq!(good.get("/v1/credits").await.status, 200);
    let owners = requests.partitions();
    assert!(!owners.is_empty());
    let bad = client.with_key(Some(guessed.reveal()));
    assert_eq!(bad.get("/v1/credits").await.status, 401);
    let touched = requests.partitions();
    assert_eq!(touched.len(), 1, "{touched:?}");
    assert!(!owners.contains(&touched[0]), "{touched:?} of {owners:?}");
    assert!(!touched[0].contains(known.id().as_str()), "{touched:?}");
}

#[tokio::test]
async fn keys_of_the_release_before_work_once_they_are_upgraded() {
    let service = quiet_service().await;
    let cloud = &service.service.cloud;
    let (alive, _) = known_and_guessed(&service).await;
    let (revoked, _) = known_and_guessed(&service).await;
    let store = cloud.store().unwrap();
    assert!(
        store
            .revoke_key(&revoked.id(), cloud.clock.now())
            .await
            .unwrap()
    );
    // As they were: nothing that is found by the hash.
    let tables = rules::client(cloud);
    for key in [&alive, &revoked] {
        let gone = tables.delete_item().table_name("awo-settings");
        let gone = gone
            .key(
                "pk",
                AttributeValue::S(format!("credential#{}", key.hash())),
            )
            .key("sk", AttributeValue::S("credential".to_owned()));
        gone.send().await.unwrap();
    }
    let with = |key: &ApiKey| service.client.with_key(Some(key.reveal()));
    assert_eq!(with(&alive).get("/v1/credits").await.status, 401);
    let upgraded = store.upgrade_keys(&service.org, "cursor").await.unwrap();
    assert_eq!(upgraded, 1, "one of the two is revoked");
    assert_eq!(with(&alive).get("/v1/credits").await.status, 200);
    assert_eq!(with(&revoked).get("/v1/credits").await.status, 401);
    let again = store.upgrade_keys(&service.org, "cursor").await.unwrap();
    assert_eq!(again, 0);
}
