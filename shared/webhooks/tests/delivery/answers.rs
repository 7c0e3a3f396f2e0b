//! Receivers' responses, and their outcomes.

use awo_domain::EventId;
use awo_domain::webhook::schedule::AttemptOutcome;
use awo_domain::webhook::signature::Message;

use crate::authority::NAME;
use crate::receiver::{Manner, Receiver, answer};
use crate::world::{BODY, World, at, secrets};

#[tokio::test]
async fn a_delivery_is_one_post_of_the_signed_bytes() {
    let receiver = Receiver::start(answer(200, "", "thanks")).await;
    let sent = World::new().await.send(&receiver).await;
    assert_eq!(
        (sent.outcome, sent.error.as_deref()),
        (AttemptOutcome::Answered(200), None)
    );
    assert_eq!(sent.started_at, at(0));
    let [heard] = receiver.requests().try_into().unwrap();
    assert_eq!(heard.line, "POST /hook?a=b HTTP/1.1");
    assert_eq!(heard.server_name.as_deref(), Some(NAME));
    assert_eq!(heard.body, BODY);
    let header = |name: &str| heard.headers[name].clone();
    assert_eq!(header("host"), format!("{NAME}:{}", receiver.port));
    assert_eq!(header("content-type"), "application/json");
    assert!(header("user-agent").starts_with("awo-webhooks/"));
    let id = EventId::new(at(0), 1);
    assert_eq!(header("webhook-id"), id.to_string());
    assert_eq!(header("webhook-timestamp"), "1800000000");
    let message = Message {
        id: &id,
        sent_at: at(0),
        body: &heard.body,
    };
    let secret = secrets().current;
    assert!(secret.verifies(&message, &header("webhook-signature")));
    assert!(secret.verifies_body(&heard.body, &header("x-service-signature")));
    assert!(!heard.headers.contains_key("x-service-signature-previous"));
}

#[tokio::test]
async fn the_status_is_the_outcome_whatever_it_is() {
    let world = World::new().await;
    for status in [
        200, 201, 204, 299, 400, 401, 404, 410, 429, 500, 503, 599, 999,
    ] {
        let receiver = Receiver::start(answer(status, "", "")).await;
        let sent = world.send(&receiver).await;
        assert_eq!(sent.outcome, AttemptOutcome::Answered(status));
        assert_eq!(sent.status_code(), Some(status));
        let expected = match status {
            200..=299 => None,
            _ => Some(format!(
                "the answer was {status}, which is no success (2xx)"
            )),
        };
        assert_eq!(sent.error, expected);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let world = World::new().await;
    let elsewhere = Receiver::start(answer(200, "", "")).await;
    let location = format!("location: https://{NAME}:{}/\r\n", elsewhere.port);
    for status in [301, 302, 303, 307, 308] {
        let receiver = Receiver::start(answer(status, &location, "")).await;
        let sent = world.send(&receiver).await;
        assert_eq!(sent.outcome, AttemptOutcome::Answered(status));
        let error = format!("the answer was {status}: redirects are not followed");
        assert_eq!(sent.error, Some(error));
        assert_eq!((receiver.connections(), receiver.requests().len()), (1, 1));
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_huge_body_is_not_read_and_changes_nothing() {
    let world = World::new().await;
    let endless = "HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n";
    let mut bytes = endless.as_bytes().to_vec();
    bytes.resize(4 << 20, b'x');
    let receiver = Receiver::start(Manner::Answer(bytes)).await;
    let sent = world.send(&receiver).await;
    assert_eq!(sent.outcome, AttemptOutcome::Answered(200));
    assert!(sent.duration_ms < 10_000, "{sent:?}");
    world.send(&receiver).await;
    assert_eq!(
        receiver.connections(),
        2,
        "what is half read is not used again"
    );
}

#[tokio::test]
async fn headers_without_an_end_are_not_read() {
    let world = World::new().await;
    let large = format!("x: {}\r\n", "x".repeat(20_000));
    let many = "x: y\r\n".repeat(101);
    for headers in [large, many] {
        let receiver = Receiver::start(answer(200, &headers, "")).await;
        let sent = world.send(&receiver).await;
        assert_eq!(sent.outcome, AttemptOutcome::Unanswered);
        let error = sent.error.unwrap();
        assert_eq!(error, "the headers of the answer are too large");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_reported_in_words_of_our_own() {
    let world = World::new().await;
    let closed = "the connection was closed before an answer";
    let strange = "what answers does not speak HTTP/1.1";
    let bytes = |text: &str| Manner::Answer(text.as_bytes().to_vec());
    for (manner, error) in [
        (Manner::Reset, closed),
        (bytes("<script>alert(1)</script>\r\n\r\n"), strange),
        (bytes("SSH-2.0-OpenSSH_9.9\r\n\r\n"), strange),
        (bytes("HTTP/1.1 2000 OK\r\n\r\n"), strange),
        (bytes("HTTP/1.1 200 OK\r\n\0\x1b[2J: x\r\n\r\n"), strange),
        (Manner::Plain, "what answers does not speak TLS"),
    ] {
        let receiver = Receiver::start(manner.clone()).await;
        let sent = world.send(&receiver).await;
        assert_eq!(sent.outcome, AttemptOutcome::Unanswered, "{manner:?}");
        assert_eq!(sent.error.as_deref(), Some(error), "{manner:?}");
        assert!(receiver.requests().len() <= 1, "sent twice: {manner:?}");
    }
}

#[tokio::test]
async fn a_port_where_nobody_listens_refuses() {
    let world = World::new().await;
    let receiver = Receiver::start(Manner::Hang).await;
    let url = format!("https://{NAME}:{}/", receiver.port);
    drop(receiver);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let error = world.send_to(&url).await.error.unwrap();
        if error == "the connection was refused" {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{error}");
    }
}
