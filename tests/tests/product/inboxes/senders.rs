//! The signatures of each kind of sender, and the rule by which a delivery of it is a duplicate.

use crate::signing::hmac_sha256;
use awo_tests::client::Answer;
use awo_tests::service::TestService;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{BODY, MadeInbox, digits, github, log, made, send, service};

/// The secret and the signature that GitHub documents for `Hello, World!`.
const DOCUMENTED: (&str, &str) = (
    "It's a Secret to Everybody",
    "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
);

/// The headers of Standard Webhooks for a body.
struct StandardHeaders {
    id: String,
    timestamp: String,
    signature: String,
}

impl StandardHeaders {
    fn of(secret: &str, id: &str, seconds: i64, body: &[u8]) -> StandardHeaders {
        let key = STANDARD
            .decode(secret.strip_prefix("whsec_").unwrap())
            .unwrap();
        let signed = [format!("{id}.{seconds}.").as_bytes(), body].concat();
        StandardHeaders {
            id: id.to_owned(),
            timestamp: seconds.to_string(),
            signature: format!("v1,{}", STANDARD.encode(hmac_sha256(&key, &signed))),
        }
    }

    async fn send(&self, service: &TestService, inbox: &MadeInbox, body: &[u8]) -> Answer {
        let headers = [
            ("webhook-id", self.id.as_str()),
            ("webhook-timestamp", &self.timestamp),
            ("webhook-signature", &self.signature),
        ];
        send(service, inbox, &headers, body).await
    }
}

fn seconds(service: &TestService) -> i64 {
    service.service.cloud.clock.now().epoch_seconds()
}

#[test]
fn the_tests_sign_as_github_documents() {
    assert_eq!(digits(DOCUMENTED.0, b"Hello, World!"), DOCUMENTED.1);
}

#[tokio::test]
async fn each_kind_takes_its_own_signature_and_no_other() {
    let service = service().await;
    let forge = json!({ "name": "Forge", "kind": "gitea", "host": "git.example.com" });
    let header = json!({ "header": "X-Ticket", "prefix": "v1=", "encoding": "base64" });
    let tickets = json!({ "name": "Tickets", "kind": "hmac", "signature": header });
    let (github, gitea) = (github(&service).await, made(&service, &forge).await);
    let tickets = made(&service, &tickets).await;
    let base64 = |inbox: &MadeInbox| {
        let bytes = hex::decode(digits(&inbox.secret, BODY)).unwrap();
        STANDARD.encode(bytes)
    };
    let hex = |inbox: &MadeInbox| digits(&inbox.secret, BODY);
    let cases: Vec<(&MadeInbox, &str, String, u16)> = vec![
        (&github, "x-hub-signature-256", hex(&github), 401),
        (
            &github,
            "x-hub-signature",
            format!("sha256={}", hex(&github)),
            401,
        ),
        (
            &github,
            "x-hub-signature-256",
            format!("sha1={}", hex(&github)),
            401,
        ),
        (
            &github,
            "x-hub-signature-256",
            format!("sha256={}", hex(&gitea)),
            401,
        ),
        (&github, "x-hub-signature-256", "sha256=".to_owned(), 401),
        (
            &github,
            "x-hub-signature-256",
            format!("sha256={}", hex(&github)),
            202,
        ),
        (
            &gitea,
            "x-hub-signature-256",
            format!("sha256={}", hex(&gitea)),
            401,
        ),
        (&gitea, "x-gitea-signature", hex(&gitea), 202),
        (&gitea, "x-forgejo-signature", hex(&gitea), 200),
        (&tickets, "x-ticket", hex(&tickets), 401),
        (&tickets, "x-ticket", base64(&tickets), 401),
        (
            &tickets,
            "x-ticket",
            format!("v1={}", base64(&tickets)),
            202,
        ),
    ];
    for (inbox, header, value, status) in cases {
        let received = send(&service, inbox, &[(header, &value)], BODY).await;
        assert_eq!(
            received.status, status,
            "{header}: {value}: {}",
            received.text
        );
    }
}

#[tokio::test]
async fn a_signature_of_standard_webhooks_covers_id_and_time() {
    let service = service().await;
    for kind in ["standard", "gitlab"] {
        let inbox = made(&service, &json!({ "name": "Ours", "kind": kind })).await;
        let now = seconds(&service);
        let first = StandardHeaders::of(&inbox.secret, "msg_1", now, BODY);
        let received = first.send(&service, &inbox, BODY).await;
        assert_eq!(received.status, 202, "{kind}: {}", received.text);
        // The id is what makes a duplicate, whatever the body, and another id is another delivery.
        let again = StandardHeaders::of(&inbox.secret, "msg_1", now + 1, b"{}");
        assert_eq!(again.send(&service, &inbox, b"{}").await.status, 200);
        let other = StandardHeaders::of(&inbox.secret, "msg_2", now, BODY);
        assert_eq!(other.send(&service, &inbox, BODY).await.status, 202);
        for (wrong, body) in [
            (
                StandardHeaders {
                    id: "msg_3".to_owned(),
                    ..StandardHeaders::of(&inbox.secret, "msg_1", now, BODY)
                },
                BODY,
            ),
            (
                StandardHeaders::of(&inbox.secret, "msg_4", now - 301, BODY),
                BODY,
            ),
            (
                StandardHeaders::of(&inbox.secret, "msg_5", now + 330, BODY),
                BODY,
            ),
            (
                StandardHeaders::of(&inbox.secret, "msg_6", now, BODY),
                b"{}",
            ),
        ] {
            let refused = wrong.send(&service, &inbox, body).await;
            assert_eq!(refused.status, 401, "{kind} {}: {}", wrong.id, refused.text);
        }
        // One of several signatures is enough, as while a sender's secret changes.
        let mut several = StandardHeaders::of(&inbox.secret, "msg_7", now, BODY);
        several.signature = format!("v1,AAAA v1a,BBBB {}", several.signature);
        assert_eq!(several.send(&service, &inbox, BODY).await.status, 202);
    }
}

#[tokio::test]
async fn gitlabs_token_is_accepted_where_it_is_set_and_nothing_is_signed() {
    let service = service().await;
    let plain = made(&service, &json!({ "name": "Signed", "kind": "gitlab" })).await;
    let body = json!({ "name": "Token", "kind": "gitlab", "signature": "token", "secret": "a-token-of-gitlab" });
    let by_token = made(&service, &body).await;
    let token = [("x-gitlab-token", by_token.secret.as_str())];
    assert_eq!(send(&service, &by_token, &token, BODY).await.status, 202);
    assert_eq!(send(&service, &by_token, &token, BODY).await.status, 200);
    let wrong = [("x-gitlab-token", "a-token-of-another")];
    assert_eq!(send(&service, &by_token, &wrong, b"{}").await.status, 401);
    let signed = [token[0], ("webhook-id", "msg_1")];
    assert_eq!(send(&service, &by_token, &signed, b"{}").await.status, 401);
    let token = [("x-gitlab-token", plain.secret.as_str())];
    assert_eq!(send(&service, &plain, &token, BODY).await.status, 401);
}

#[tokio::test]
async fn a_header_that_nothing_signs_decides_nothing() {
    let service = service().await;
    let inbox = github(&service).await;
    let signature = format!("sha256={}", digits(&inbox.secret, BODY));
    for (delivery, status) in [("one", 202), ("another", 200)] {
        let headers = [
            ("x-hub-signature-256", signature.as_str()),
            ("x-github-delivery", delivery),
            ("x-github-event", "issues"),
        ];
        let received = send(&service, &inbox, &headers, BODY).await;
        assert_eq!(received.status, status, "{}", received.text);
    }
    let entries = log(&service, &inbox).await;
    let shown: Vec<(&Value, &Value)> = entries
        .iter()
        .map(|entry| (&entry["senderId"], &entry["event"]))
        .collect();
    assert_eq!(shown, [(&json!("one"), &json!("issues"))]);
}

#[tokio::test]
async fn equal_bodies_are_different_deliveries_where_the_sender_says_so() {
    let service = service().await;
    let signature = json!({ "header": "x-signature", "encoding": "hex" });
    let mut body = json!({ "name": "Ticks", "kind": "hmac", "signature": signature });
    for (duplicates, second) in [(Value::Null, 200), (json!("none"), 202)] {
        if !duplicates.is_null() {
            body["duplicates"] = duplicates;
        }
        let inbox = made(&service, &body).await;
        let signature = digits(&inbox.secret, BODY);
        let headers = [("x-signature", signature.as_str())];
        assert_eq!(send(&service, &inbox, &headers, BODY).await.status, 202);
        assert_eq!(send(&service, &inbox, &headers, BODY).await.status, second);
    }
}

#[tokio::test]
async fn a_form_with_payload_is_taken_of_forges_that_send_forms() {
    let service = service().await;
    let inbox = github(&service).await;
    let form = b"payload=%7B%22zen%22%3A%22a%22%7D";
    for (body, status) in [
        (&form[..], 202),
        (b"other=1", 400),
        (b"payload=nonsense", 400),
    ] {
        let signature = format!("sha256={}", digits(&inbox.secret, body));
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("x-hub-signature-256", signature.as_str()),
        ];
        let sender = service.client.with_key(None);
        let received = sender
            .send("POST", &inbox.hook(), &headers, body.to_vec())
            .await;
        assert_eq!(received.status, status, "{}", received.text);
    }
}

#[tokio::test]
async fn json_that_triggers_could_not_read_is_refused() {
    let service = service().await;
    let inbox = github(&service).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in [deep.as_bytes(), b"", b"{", b"{} {}", b"\xff"] {
        let signature = format!("sha256={}", digits(&inbox.secret, body));
        let headers = [("x-hub-signature-256", signature.as_str())];
        let refused = send(&service, &inbox, &headers, body).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
    }
    assert!(log(&service, &inbox).await.is_empty());
}
