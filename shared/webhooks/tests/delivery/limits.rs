//! Whatever a receiver does, an attempt ends within 30 s.

use std::time::{Duration, Instant};

use awo_domain::webhook::address::Reach;
use awo_domain::webhook::schedule::AttemptOutcome;

use crate::authority::NAME;
use crate::name_server::Reply;
use crate::receiver::{Manner, Receiver};
use crate::world::World;

/// More than the limit by what a busy machine may take.
const LATEST: Duration = Duration::from_secs(35);

/// Sends to such a receiver; the outcome and the error are these, after 30 s.
async fn lasts(manner: Manner, outcome: AttemptOutcome, error: Option<&str>) {
    let world = World::new().await;
    let receiver = Receiver::start(manner.clone()).await;
    let began = Instant::now();
    let sent = world.send(&receiver).await;
    let took = began.elapsed();
    assert_eq!(sent.outcome, outcome, "{manner:?}");
    assert_eq!(sent.error.as_deref(), error, "{manner:?}");
    assert!(
        (Duration::from_secs(30)..LATEST).contains(&took),
        "{manner:?}: {took:?}"
    );
    assert!((30_000..35_000).contains(&sent.duration_ms), "{sent:?}");
}

#[tokio::test]
async fn an_attempt_is_over_after_30_s_wherever_the_receiver_hangs() {
    let late = AttemptOutcome::Unanswered;
    let no_answer = Some("no answer came within 30 s");
    tokio::join!(
        lasts(
            Manner::Deaf,
            late,
            Some("the TLS handshake was not over within 30 s")
        ),
        lasts(Manner::Hang, late, no_answer),
        lasts(Manner::Drip("HTTP/1.1 200 OK\r\nx: "), late, no_answer),
        lasts(
            Manner::Drip("HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n"),
            AttemptOutcome::Answered(200),
            None
        ),
        lasts(
            Manner::Drip("HTTP/1.1 410 Gone\r\ncontent-length: 60000\r\n\r\n"),
            AttemptOutcome::Answered(410),
            Some("the answer was 410, which is no success (2xx)")
        ),
    );
}

#[tokio::test]
async fn a_name_server_that_says_nothing_ends_an_attempt_in_time() {
    let world = World::with(Reach::Public, |_, _| Reply::Silence).await;
    let began = Instant::now();
    let sent = world.send_to(&format!("https://{NAME}/")).await;
    assert_eq!(sent.outcome, AttemptOutcome::Unanswered);
    assert_eq!(
        sent.error.as_deref(),
        Some("the name could not be resolved")
    );
    assert!(began.elapsed() < LATEST);
}
