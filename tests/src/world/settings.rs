//! What the functions of a world have in their environment, and the queues that it names.

use std::collections::BTreeMap;
use std::path::Path;

use awo_local::access::AccessKey;
use awo_local::shutdown::Shutdown;
use awo_local::sqs::{QueueAttributes, Queues, queue_url};
use awo_local::{REGION, Server};
use tokio::net::TcpListener;

use super::{NOTIFICATIONS, QUEUE};

/// The bucket of the bodies of deliveries to inboxes.
const BODIES: &str = "inbox-bodies";

pub(super) async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a loopback port")
}

pub(super) fn queues(shutdown: &Shutdown) -> Queues {
    let queues = Queues::new(shutdown.clone());
    for queue in [QUEUE, NOTIFICATIONS] {
        queues
            .create(queue, QueueAttributes::default())
            .expect("a queue");
    }
    queues
}

/// Serves the bucket of the bodies of deliveries to inboxes, below a directory.
pub(super) async fn bodies(directory: &Path, key: &AccessKey, shutdown: &Shutdown) -> Server {
    let (listener, key) = (listener().await, key.clone());
    let directory = directory.join("inbox-bodies");
    awo_local::s3::start(listener, BODIES, &directory, key, shutdown.clone()).expect("S3")
}

/// The settings of the functions, given the addresses of DynamoDB, SQS, ECS, Secrets Manager and S3.
pub(super) fn settings(
    [dynamodb, sqs, ecs, secrets, objects]: [String; 5],
    key: &AccessKey,
) -> BTreeMap<String, String> {
    [
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_ACCESS_KEY_ID", key.id().to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
        ("AWS_ENDPOINT_URL_DYNAMODB", dynamodb),
        ("AWS_ENDPOINT_URL_SQS", sqs.clone()),
        ("AWS_ENDPOINT_URL_ECS", ecs),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets),
        ("AWS_ENDPOINT_URL_S3", objects),
        ("AWO_INBOX_BODIES", BODIES.to_owned()),
        ("AWO_WORK_TABLE", "work".to_owned()),
        ("AWO_LEDGER_TABLE", "ledger".to_owned()),
        ("AWO_SETTINGS_TABLE", "settings".to_owned()),
        ("AWO_DELIVERIES_TABLE", "deliveries".to_owned()),
        ("AWO_RUN_QUEUE_URL", queue_url(&sqs, QUEUE)),
        ("AWO_DELIVERIES_QUEUE_URL", queue_url(&sqs, NOTIFICATIONS)),
        ("AWO_CLUSTER", "awo".to_owned()),
        ("AWO_STACK", "awo".to_owned()),
        // What earlier stories leave may stand in nobody's way.
        ("AWO_MAX_TASKS", "100000".to_owned()),
        ("AWO_TASK_DEFINITION", "runner".to_owned()),
        ("AWO_ALLOW_FILE_REPOSITORIES", "1".to_owned()),
        ("AWO_WEBHOOK_ALLOW_LOOPBACK", "1".to_owned()),
        ("AWO_WEBHOOK_CA_FILE", crate::receiver::ca_file()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
