//! The authorities that the sender trusts.

use awo_cloud::Environment;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::schedule::AttemptOutcome;
use awo_webhooks::{NotReady, Sender};

use crate::authority::Flaw;
use crate::receiver::{Receiver, answer};
use crate::world::World;

#[tokio::test]
async fn a_certificate_that_proves_nothing_ends_the_attempt_before_a_byte_is_sent() {
    let world = World::new().await;
    for (flaw, error) in [
        (
            Flaw::OtherName,
            "the certificate is not valid for this name",
        ),
        (Flaw::Expired, "the certificate has expired"),
        (Flaw::NotYet, "the certificate is not valid yet"),
        (
            Flaw::UnknownAuthority,
            "the certificate is not of an authority that is trusted",
        ),
        (
            Flaw::SelfSigned,
            "the certificate is not of an authority that is trusted",
        ),
    ] {
        let receiver = Receiver::flawed(answer(200, "", ""), flaw).await;
        let sent = world.send(&receiver).await;
        assert_eq!(sent.outcome, AttemptOutcome::Unanswered, "{flaw:?}");
        assert_eq!(sent.error.as_deref(), Some(error), "{flaw:?}");
        assert!(receiver.requests().is_empty(), "{flaw:?}");
    }
}

#[tokio::test]
async fn an_address_as_host_needs_a_certificate_of_that_address() {
    let world = World::new().await;
    for (flaw, outcome) in [
        (Flaw::None, AttemptOutcome::Answered(200)),
        (Flaw::OtherName, AttemptOutcome::Unanswered),
    ] {
        let receiver = Receiver::flawed(answer(200, "", ""), flaw).await;
        let sent = world
            .send_to(&format!("https://127.0.0.1:{}/", receiver.port))
            .await;
        assert_eq!(sent.outcome, outcome, "{sent:?}");
    }
}

#[tokio::test]
async fn a_dot_at_the_end_of_the_name_changes_nothing() {
    let world = World::new().await;
    let receiver = Receiver::start(answer(200, "", "")).await;
    let port = receiver.port;
    let sent = world
        .send_to(&format!("https://hooks.example.com.:{port}/"))
        .await;
    assert_eq!(sent.outcome, AttemptOutcome::Answered(200), "{sent:?}");
    let heard = receiver.requests();
    assert_eq!(
        heard[0].headers["host"],
        format!("hooks.example.com:{port}")
    );
}

#[tokio::test]
async fn a_setting_that_does_not_read_is_no_attempt() {
    let bad = |name: &'static str| {
        let value = move |asked: &str| (asked == name).then(|| "/nowhere".to_owned());
        Sender::new(&Environment::new(value))
    };
    assert!(bad("AWO_WEBHOOK_NAME_SERVER").is_err());
    let sender = bad("AWO_WEBHOOK_CA_FILE").unwrap();
    let ready = sender.ready().await;
    assert!(matches!(ready, Err(NotReady::Setup(_))), "{ready:?}");
    assert!(format!("{sender:?}").contains(&format!("{:?}", Reach::Public)));
}
