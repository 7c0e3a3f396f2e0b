//! The queues of the service with their mappings, as the template has them in the cloud.

use std::io;
use std::time::Duration;

use awo_cloud::Cloud;
use awo_cloud::queue::WakeUp;
use awo_store::Store;
use awo_store::queue::tally::WAKE_UP_MS;

use super::{StartError, failed};
use crate::mapping::EventSourceMapping;
use crate::shutdown::Shutdown;
use crate::sqs::{QueueAttributes, Queues, RedrivePolicy};
use crate::{ACCOUNT, REGION};

/// Wake-ups for the dispatcher.
pub(super) const RUNS: &str = "awo-runs";
const RUN_DEAD_LETTERS: &str = "awo-runs-dead";
/// Notifications for the deliverer of webhooks.
pub(super) const DELIVERIES: &str = "awo-deliveries";
const DELIVERIES_DEAD_LETTERS: &str = "awo-deliveries-dead";
/// Receives of a wake-up before it is a dead letter; losing it loses nothing.
const WAKE_UP_RECEIVES: u64 = 20;
/// As many as SQS counts: a delivery's message is received whenever its receiver is found busy.
const NOTIFICATION_RECEIVES: u64 = 1_000;
/// Longer than the function may run.
const NOTIFICATION_VISIBILITY: Duration = Duration::from_secs(360);

/// Most due items of a shard that are read for wake-ups after a restart; the sweep wakes the rest.
const WOKEN_AGAIN: u32 = 1_000;

/// What each queue invokes.
pub(super) fn mappings() -> [EventSourceMapping; 2] {
    let mapping = |queue: &str, function: &str, max_concurrency| EventSourceMapping {
        queue: queue.to_owned(),
        function: function.to_owned(),
        batch_size: 10,
        max_concurrency,
    };
    [
        mapping(RUNS, "dispatch-runs", 4),
        mapping(DELIVERIES, "deliver-webhooks", 16),
    ]
}

/// The queues, each with its dead letters.
pub(super) fn create(shutdown: &Shutdown) -> Result<Queues, StartError> {
    let queues = Queues::new(shutdown.clone());
    let wake_ups = QueueAttributes {
        redrive_policy: Some(buries(RUN_DEAD_LETTERS, WAKE_UP_RECEIVES)),
        ..QueueAttributes::default()
    };
    let notifications = QueueAttributes {
        redrive_policy: Some(buries(DELIVERIES_DEAD_LETTERS, NOTIFICATION_RECEIVES)),
        visibility_timeout: NOTIFICATION_VISIBILITY,
        ..QueueAttributes::default()
    };
    for (name, attributes) in [
        (RUN_DEAD_LETTERS, QueueAttributes::default()),
        (RUNS, wake_ups),
        (DELIVERIES_DEAD_LETTERS, QueueAttributes::default()),
        (DELIVERIES, notifications),
    ] {
        queues
            .create(name, attributes)
            .map_err(|e| failed(name)(io::Error::other(e.to_string())))?;
    }
    Ok(queues)
}

fn buries(into: &str, max_receive_count: u64) -> RedrivePolicy {
    RedrivePolicy {
        dead_letter_target_arn: format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{into}"),
        max_receive_count,
    }
}

/// SQS would still have the wake-ups that an earlier process lost, so they are sent again.
pub(super) async fn wake_again(cloud: &Cloud, store: &Store) -> Result<(), StartError> {
    let queue = cloud.run_queue()?;
    let by_the_last_wake_up = cloud.clock.now().plus_ms(WAKE_UP_MS);
    for shard in Store::due_shards() {
        let due = store.due(shard, None, by_the_last_wake_up, WOKEN_AGAIN);
        let queues = due.await.map_err(StartError::Tables)?.into_queues();
        for org in &queues {
            queue.wake_or_leave_to_sweep(&WakeUp::of(org)).await;
        }
    }
    Ok(())
}
