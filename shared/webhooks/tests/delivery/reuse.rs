//! Which deliveries share a connection.

use awo_domain::OrgId;
use awo_domain::webhook::schedule::AttemptOutcome;

use crate::authority::NAME;
use crate::receiver::{Receiver, answer};
use crate::world::{World, at};

async fn sends(world: &World, receiver: &Receiver, deliveries: &[(u128, i64)]) {
    for (org, ms) in deliveries {
        let url = format!("https://{NAME}:{}/", receiver.port);
        let sent = world
            .send_for(&OrgId::new(at(0), *org), &url, at(*ms))
            .await;
        assert_eq!(sent.outcome, AttemptOutcome::Answered(200), "{sent:?}");
    }
    assert_eq!(receiver.requests().len(), deliveries.len());
}

#[tokio::test]
async fn a_burst_to_one_receiver_takes_one_connection() {
    let (world, receiver) = (
        World::new().await,
        Receiver::start(answer(200, "", "ok")).await,
    );
    // What an attempt takes counts to the time of its connection: on a busy machine it may be long.
    let burst = [(1, 0), (1, 900), (1, 1_800), (1, 2_700)];
    sends(&world, &receiver, &burst).await;
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn no_connection_serves_two_organizations() {
    let (world, receiver) = (
        World::new().await,
        Receiver::start(answer(200, "", "")).await,
    );
    sends(&world, &receiver, &[(1, 0), (2, 0), (3, 0)]).await;
    assert_eq!(receiver.connections(), 3);
}

/// The clock is the caller's: a function may have slept in between. An attempt that takes long
/// here only makes its connection older.
#[tokio::test]
async fn a_connection_that_waited_or_lived_too_long_is_not_used_again() {
    let (world, receiver) = (
        World::new().await,
        Receiver::start(answer(200, "", "")).await,
    );
    sends(&world, &receiver, &[(1, 0), (1, 60_000), (1, -1)]).await;
    assert_eq!(
        receiver.connections(),
        3,
        "waited too long; and the clock was set back"
    );
}

#[tokio::test]
async fn a_connection_that_the_receiver_closed_is_replaced_at_no_cost() {
    let world = World::new().await;
    let receiver = Receiver::start(answer(200, "connection: close\r\n", "")).await;
    sends(&world, &receiver, &[(1, 0), (1, 1), (1, 2)]).await;
    assert_eq!(receiver.connections(), 3);
}
