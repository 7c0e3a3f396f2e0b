//! Inboxes as an organization makes, changes and removes them.

use serde_json::json;

use super::{BODY, MadeInbox, digits, github, made, patch, post, send, service};

#[tokio::test]
async fn an_inbox_is_created_read_updated_and_deleted_and_its_secret_is_shown_once() {
    let service = service().await;
    let inbox = github(&service).await;
    let read = service.client.get(&inbox.path()).await;
    let usual = json!({ "name": "Ours", "kind": "github", "host": "github.com", "enabled": true });
    for (name, value) in usual.as_object().unwrap() {
        assert_eq!(&read.body[name], value, "{name}");
    }
    let patched = patch(
        &service,
        &inbox,
        &json!({ "name": "New", "host": "git.example.com" }),
    )
    .await;
    assert_eq!(patched.status, 200, "{}", patched.text);
    assert_eq!(
        (&patched.body["name"], &patched.body["host"]),
        (&json!("New"), &json!("git.example.com"))
    );
    let listed = service.client.get("/v1/inboxes").await;
    assert_eq!(listed.body["inboxes"], json!([patched.body]));
    for shown in [&read.text, &patched.text, &listed.text] {
        assert!(!shown.contains(&inbox.secret), "{shown}");
    }
    let deleted = service
        .client
        .send("DELETE", &inbox.path(), &[], Vec::new())
        .await;
    assert_eq!(deleted.status, 204, "{}", deleted.text);
    let missing = service.client.get(&inbox.path()).await;
    assert_eq!(missing.body["error"]["code"], "INBOX_NOT_FOUND");
    assert_eq!(post(&service, &inbox, BODY).await.status, 401);
}

#[tokio::test]
async fn every_fault_of_an_inbox_is_named_at_once() {
    let service = service().await;
    let hmac = json!({ "header": "x y", "encoding": "hex" });
    let cases = [
        (json!({}), vec!["/kind", "/name"]),
        (
            json!({ "name": "", "kind": "bitbucket", "secret": "short", "colour": 1 }),
            vec!["/colour", "/kind", "/name", "/secret"],
        ),
        (json!({ "name": "a", "kind": "gitea" }), vec!["/host"]),
        (
            json!({ "name": "a", "kind": "standard", "host": "a.example.com" }),
            vec!["/host"],
        ),
        (json!({ "name": "a", "kind": "hmac" }), vec!["/signature"]),
        (
            json!({ "name": "a", "kind": "hmac", "signature": "token" }),
            vec!["/signature"],
        ),
        (
            json!({ "name": "a", "kind": "hmac", "signature": hmac }),
            vec!["/signature/header"],
        ),
        (
            json!({ "name": "a", "kind": "github", "signature": "token", "duplicates": "none" }),
            vec!["/duplicates", "/signature"],
        ),
        (
            json!({ "name": "a", "kind": "standard", "secret": "no key of theirs!!" }),
            vec!["/secret"],
        ),
    ];
    for (body, expected) in cases {
        let refused = service.client.post("/v1/inboxes", &body).await;
        assert_eq!(refused.status, 400, "{body}: {}", refused.text);
        assert_eq!(refused.fault_paths(), expected, "{body}: {}", refused.text);
    }
}

#[tokio::test]
async fn an_organization_has_ten_inboxes_and_a_repeated_create_makes_one() {
    let service = service().await;
    let body = json!({ "name": "Ours", "kind": "github" });
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "once"),
    ];
    let create = || {
        let body = body.to_string().into_bytes();
        service.client.send("POST", "/v1/inboxes", &headers, body)
    };
    let (first, again) = (create().await, create().await);
    assert_eq!((again.status, &again.body), (201, &first.body));
    let other = json!({ "name": "Theirs", "kind": "github" }).to_string();
    let other = other.into_bytes();
    let reused = service.client.send("POST", "/v1/inboxes", &headers, other);
    assert_eq!(reused.await.status, 422);
    for _ in 1..10 {
        github(&service).await;
    }
    let full = service.client.post("/v1/inboxes", &body).await;
    assert_eq!(full.status, 409, "{}", full.text);
    let oldest = MadeInbox::of(&first);
    service
        .client
        .send("DELETE", &oldest.path(), &[], Vec::new())
        .await;
    github(&service).await;
}

#[tokio::test]
async fn after_a_rotation_both_secrets_count_for_a_day_and_older_ones_no_more() {
    let service = service().await;
    let inbox = github(&service).await;
    let path = format!("{}/rotate-secret", inbox.path());
    let mut secrets = vec![inbox.secret.clone()];
    for body in [json!({}), json!({ "secret": "a-secret-of-the-sender" })] {
        let rotated = service.client.post(&path, &body).await;
        assert_eq!(rotated.status, 200, "{}", rotated.text);
        secrets.push(rotated.body["secret"].as_str().unwrap().to_owned());
    }
    assert_eq!(secrets[2], "a-secret-of-the-sender");
    let signed = async |secret: &str, body: &[u8]| {
        let signature = format!("sha256={}", digits(secret, body));
        let headers = [("x-hub-signature-256", signature.as_str())];
        send(&service, &inbox, &headers, body).await.status
    };
    assert_eq!(signed(&secrets[0], b"[0]").await, 401);
    assert_eq!(signed(&secrets[1], b"[1]").await, 202);
    assert_eq!(signed(&secrets[2], b"[2]").await, 202);
    let read = service.client.get(&inbox.path()).await.body;
    assert!(read["previousSecretExpiresAt"].is_string(), "{read}");
    service.service.cloud.clock.advance(24 * 3_600_000);
    assert_eq!(signed(&secrets[1], b"[3]").await, 401);
    assert_eq!(signed(&secrets[2], b"[4]").await, 202);
}

#[tokio::test]
async fn a_rotation_with_a_key_is_answered_again_and_its_secret_must_fit() {
    let service = service().await;
    let inbox = made(&service, &json!({ "name": "Ours", "kind": "standard" })).await;
    let path = format!("{}/rotate-secret", inbox.path());
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "once"),
    ];
    let rotate = |body: &'static str| {
        let body = body.as_bytes().to_vec();
        service.client.send("POST", &path, &headers, body)
    };
    let (first, again) = (rotate("{}").await, rotate("{}").await);
    assert_eq!((again.status, &again.body), (200, &first.body));
    let refused = service
        .client
        .post(&path, &json!({ "secret": "not a key of theirs" }))
        .await;
    assert_eq!(refused.fault_paths(), ["/secret"], "{}", refused.text);
    let reused = rotate(r#"{"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}"#).await;
    assert_eq!(reused.status, 422, "{}", reused.text);
}
