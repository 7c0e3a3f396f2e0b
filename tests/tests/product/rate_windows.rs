//! Requests of one key that arrive at once in one process: they share updates, and each has a number
//! of its own.

use awo_cloud::{Cloud, Environment};
use awo_domain::api_key::{ApiKey, Scope};
use awo_domain::{Error, Timestamp};
use awo_store::Store;
use awo_store::organizations::keys::{Caller, WINDOW_MS};
use awo_tests::recorder::Recorder;
use awo_tests::service::TestService;
use futures::future::join_all;

use crate::http_api::quiet_service;

const REQUESTS: u32 = 16;

/// A process of its own on the service's tables, and what it asks of AWS.
fn process(service: &TestService, settings_table: Option<&'static str>) -> (Store, Recorder) {
    let (settings, recorder) = (service.service.settings.clone(), Recorder::default());
    let environment = Environment::new(move |name| match (name, settings_table) {
        ("AWO_SETTINGS_TABLE", Some(other)) => Some(other.to_owned()),
        _ => settings.get(name).cloned(),
    });
    let cloud = Cloud::new(environment, recorder.client(service.service.http.clone()));
    (cloud.store().unwrap(), recorder)
}

/// A key, and a time at the beginning of a window.
async fn key(service: &TestService) -> (ApiKey, Timestamp) {
    let cloud = &service.service.cloud;
    let (key, now) = (cloud.mint.api_key(), cloud.clock.now());
    let (store, scopes) = (cloud.store().unwrap(), [Scope::All]);
    let made = store.create_key(&key, &service.org, &scopes, None, "cursor", now);
    made.await.unwrap();
    let window = now.epoch_ms() - now.epoch_ms().rem_euclid(WINDOW_MS);
    (key, Timestamp::from_epoch_ms(window))
}

async fn at_once(store: &Store, key: &ApiKey, now: Timestamp) -> Vec<Result<Caller, Error>> {
    join_all((0..REQUESTS).map(|_| store.authenticate(key, now))).await
}

fn numbers(callers: Vec<Result<Caller, Error>>) -> Vec<u32> {
    let callers = callers.into_iter();
    callers.map(|caller| caller.unwrap().window_count).collect()
}

fn are_unauthorized(callers: &[Result<Caller, Error>]) -> bool {
    callers
        .iter()
        .all(|caller| matches!(caller, Err(Error::Unauthorized)))
}

#[tokio::test]
async fn requests_of_a_key_at_once_share_an_update_and_are_numbered_one_by_one() {
    let service = quiet_service().await;
    let (key, now) = key(&service).await;
    let (store, recorder) = process(&service, None);
    assert_eq!(store.authenticate(&key, now).await.unwrap().window_count, 1);
    recorder.take();
    let all: Vec<u32> = (2..2 + REQUESTS).collect();
    assert_eq!(numbers(at_once(&store, &key, now).await), all);
    assert_eq!(recorder.take().calls(), 1);
    // The next window begins at one, for all of them.
    let next = Timestamp::from_epoch_ms(now.epoch_ms() + WINDOW_MS);
    let all: Vec<u32> = (1..=REQUESTS).collect();
    assert_eq!(numbers(at_once(&store, &key, next).await), all);
}

#[tokio::test]
async fn processes_count_the_same_requests_of_a_key_once() {
    let service = quiet_service().await;
    let (key, now) = key(&service).await;
    let ((one, _), (other, _)) = (process(&service, None), process(&service, None));
    let (ones, others) = tokio::join!(at_once(&one, &key, now), at_once(&other, &key, now));
    let mut all = [numbers(ones), numbers(others)].concat();
    all.sort_unstable();
    assert_eq!(all, (1..=2 * REQUESTS).collect::<Vec<u32>>());
}

#[tokio::test]
async fn requests_that_share_an_update_are_refused_each_by_its_own_time_and_all_without_a_good_key()
{
    let service = quiet_service().await;
    let cloud = &service.service.cloud;
    let (key, now) = key(&service).await;
    let (store, _) = process(&service, None);
    let unknown = cloud.mint.api_key();
    assert!(are_unauthorized(&at_once(&store, &unknown, now).await));
    let expiry = Timestamp::from_epoch_ms(now.epoch_ms() + 1_000);
    let own = cloud.store().unwrap();
    assert!(own.expire_key(&key.id(), expiry).await.unwrap());
    let before = Timestamp::from_epoch_ms(expiry.epoch_ms() - 1);
    let pair = async || {
        tokio::join!(
            store.authenticate(&key, before),
            store.authenticate(&key, expiry)
        )
    };
    let (good, expired) = pair().await;
    assert_eq!(good.unwrap().window_count, 1);
    assert!(are_unauthorized(&[expired]));
    assert!(own.revoke_key(&key.id(), now).await.unwrap());
    assert!(are_unauthorized(&at_once(&store, &key, now).await));
    let (suspended, now) = self::key(&service).await;
    own.suspend(&service.org, now).await.unwrap();
    assert!(are_unauthorized(&at_once(&store, &suspended, now).await));
}

#[tokio::test]
async fn an_update_that_fails_fails_its_requests_as_internal() {
    let service = quiet_service().await;
    let (key, now) = key(&service).await;
    let (store, _) = process(&service, Some("awo-nowhere"));
    for _ in 0..2 {
        for caller in at_once(&store, &key, now).await {
            assert!(matches!(caller, Err(Error::Internal { .. })), "{caller:?}");
        }
    }
}
