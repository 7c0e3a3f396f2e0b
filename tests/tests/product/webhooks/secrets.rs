//! Secrets of webhooks: shown once, stored with restricted access, rotated with an overlap.

use std::collections::BTreeSet;

use awo_domain::webhook::signature::{Message, OVERLAP_MS, Secret, WEBHOOK_SIGNATURE};
use awo_domain::{EventId, Timestamp};
use awo_store::webhooks::Webhook;
use awo_tests::client::Answer;
use awo_tests::everything::everything_of;
use awo_tests::rules;
use awo_tests::service::TestService;
use futures::future::join_all;
use serde_json::{Value, json};

use super::{JSON, delete, fails, made, patch, webhook, webhook_id};
use crate::http_api::quiet_service;

/// More than a rotation gives way to before it gives up.
const RIVALS: u32 = 48;
/// How often they meet before it counts as luck that nobody gave up.
const ROUNDS: u32 = 10;

/// The webhook as a sender reads it.
async fn stored(service: &TestService, shown: &Value) -> Webhook {
    let store = service.service.cloud.store().unwrap();
    let webhook = store.webhook(&service.org, &webhook_id(shown)).await;
    webhook.unwrap().unwrap()
}

fn secret(of: &Answer) -> String {
    assert!([200, 201].contains(&of.status), "{}", of.text);
    let secret = of.body["secret"].as_str().unwrap();
    assert_eq!(Secret::parse(secret).unwrap().reveal(), secret);
    secret.to_owned()
}

/// Which of these secrets sign what is sent then.
fn signing<'a>(webhook: &Webhook, at: Timestamp, of: &[&'a str]) -> Vec<&'a str> {
    let message = Message {
        id: &EventId::new(at, 1),
        sent_at: at,
        body: b"{}",
    };
    let headers = webhook.secrets.headers(&message);
    let (_, value) = headers
        .iter()
        .find(|(name, _)| *name == WEBHOOK_SIGNATURE)
        .unwrap();
    let signs = |secret: &&&str| Secret::parse(secret).unwrap().verifies(&message, value);
    of.iter().filter(signs).copied().collect()
}

async fn rotate(service: &TestService, path: &str, headers: &[(&str, &str)]) -> Answer {
    let path = format!("{path}/rotate-secret");
    service
        .client
        .send("POST", &path, headers, Vec::new())
        .await
}

#[tokio::test]
async fn a_secret_is_shown_once_and_stored_where_only_webhooks_are() {
    let service = quiet_service().await;
    let client = &service.client;
    let key = [JSON, ("idempotency-key", "k")];
    let body = webhook().to_string().into_bytes();
    let created = client.send("POST", "/v1/webhooks", &key, body).await;
    let first = secret(&created);
    let path = format!("/v1/webhooks/{}", super::id(&created.body["webhook"]));
    let second = secret(&rotate(&service, &path, &key[1..]).await);
    assert_ne!(first, second);
    for answer in [
        client.get(&path).await,
        client.get("/v1/webhooks").await,
        patch(client, &path, &json!({ "description": "x" })).await,
        client.get(&format!("{path}/deliveries")).await,
    ] {
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(!answer.text.contains("whsec_"), "{}", answer.text);
    }
    let tables = rules::client(&service.service.cloud);
    let everything = everything_of(&tables, &service.org).await;
    let hold: Vec<&String> = everything
        .iter()
        .filter(|item| item.contains("whsec_"))
        .collect();
    assert_eq!(
        hold.len(),
        3,
        "the webhook and two first answers: {hold:#?}"
    );
    for item in hold {
        let partition = format!("\"pk\":\"{}#webhook", service.org);
        assert!(
            item.starts_with("awo-settings ") && item.contains(&partition),
            "{item}"
        );
    }
    let logged = format!("{:?}", stored(&service, &created.body["webhook"]).await);
    assert!(!logged.contains("whsec_"), "{logged}");
}

#[tokio::test]
async fn both_secrets_sign_for_a_day_and_an_older_one_not_at_all() {
    let service = quiet_service().await;
    let (created, path) = made(&service.client).await;
    let first = created["secret"].as_str().unwrap().to_owned();
    let rotated = rotate(&service, &path, &[]).await;
    let second = secret(&rotated);
    let until =
        Timestamp::parse(rotated.body["previousSecretExpiresAt"].as_str().unwrap()).unwrap();
    let now = service.service.cloud.clock.now();
    let left = until.ms_since(now);
    assert!((OVERLAP_MS - 60_000..=OVERLAP_MS).contains(&left), "{left}");
    let shown = service.client.get(&path).await.body;
    assert_eq!(
        shown["previousSecretExpiresAt"],
        rotated.body["previousSecretExpiresAt"]
    );

    let both = [second.as_str(), first.as_str()];
    let webhook = stored(&service, &created["webhook"]).await;
    assert_eq!(signing(&webhook, until.plus_ms(-1), &both), both);
    assert_eq!(signing(&webhook, until, &both), both[..1]);

    let third = secret(&rotate(&service, &path, &[]).await);
    let all = [third.as_str(), second.as_str(), first.as_str()];
    let webhook = stored(&service, &created["webhook"]).await;
    assert_eq!(signing(&webhook, now, &all), all[..2]);

    service.service.cloud.clock.advance(OVERLAP_MS + 1);
    let shown = service.client.get(&path).await.body;
    assert!(shown.get("previousSecretExpiresAt").is_none(), "{shown}");
    // What else is changed leaves the secrets as they are.
    patch(&service.client, &path, &json!({ "enabled": false })).await;
    let webhook = stored(&service, &created["webhook"]).await;
    let now = service.service.cloud.clock.now();
    assert_eq!(signing(&webhook, now, &all), all[..1]);
}

#[tokio::test]
async fn a_repeated_create_or_rotation_shows_the_same_secret_whatever_has_become_of_the_webhook() {
    let service = quiet_service().await;
    let client = &service.client;
    let key = [JSON, ("idempotency-key", "k")];
    let create =
        |body: Value| client.send("POST", "/v1/webhooks", &key, body.to_string().into_bytes());
    let first = create(webhook()).await;
    let path = format!("/v1/webhooks/{}", super::id(&first.body["webhook"]));
    let rotated = rotate(&service, &path, &key[1..]).await;
    let known = stored(&service, &first.body["webhook"]).await;
    let again = rotate(&service, &path, &key[1..]).await;
    assert_eq!((again.status, &again.text), (200, &rotated.text));
    assert_eq!(again.header("idempotent-replayed"), "true");
    let after = stored(&service, &first.body["webhook"]).await;
    let revealed = |of: &Webhook| of.secrets.current.reveal();
    assert_eq!(
        revealed(&after),
        revealed(&known),
        "a replay rotates nothing"
    );
    let at = format!("{path}/rotate-secret");
    let mismatch = client.send("POST", &at, &key, b"{}".to_vec());
    fails(&mismatch.await, 422, "IDEMPOTENCY_MISMATCH");

    assert_eq!(delete(client, &path).await.status, 204);
    for (again, was) in [
        (create(webhook()).await, &first),
        (rotate(&service, &path, &key[1..]).await, &rotated),
    ] {
        assert_eq!((again.status, &again.text), (was.status, &was.text));
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
    let mut other = webhook();
    other["description"] = json!("another");
    fails(&create(other).await, 422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(client.get("/v1/webhooks").await.body["total"], 0);
    let fresh = [("idempotency-key", "fresh")];
    fails(
        &rotate(&service, &path, &fresh).await,
        404,
        "WEBHOOK_NOT_FOUND",
    );
    // A day later the key is as good as new.
    service.service.cloud.clock.advance(24 * 3_600_000 + 1);
    let later = create(webhook()).await;
    assert_eq!(later.header("idempotent-replayed"), "");
    assert_ne!(secret(&later), secret(&first));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_rivals_that_rotate_each_gets_a_secret_that_signed_or_409() {
    let service = quiet_service().await;
    let (created, path) = made(&service.client).await;
    let mut shown = BTreeSet::from([created["secret"].as_str().unwrap().to_owned()]);
    for _ in 0..ROUNDS {
        let rivals = (0..RIVALS).map(|_| rotate(&service, &path, &[]));
        let answers = join_all(rivals).await;
        let (reported, refused): (Vec<&Answer>, Vec<&Answer>) =
            answers.iter().partition(|answer| answer.status == 200);
        refused
            .iter()
            .for_each(|answer| fails(answer, 409, "CONFLICT"));
        let before = shown.len();
        shown.extend(reported.iter().map(|answer| secret(answer)));
        assert_eq!(shown.len(), before + reported.len(), "each has its own");
        let webhook = stored(&service, &created["webhook"]).await;
        let previous = webhook.secrets.previous.unwrap().0.reveal();
        assert!(shown.contains(&webhook.secrets.current.reveal()));
        assert!(shown.contains(&previous));
        if !refused.is_empty() {
            return;
        }
    }
    panic!("{RIVALS} rivals never made one give up");
}
