use std::time::Duration;

use awo_local::access::AccessKey;
use awo_local::shutdown::Shutdown;
use awo_local::sqs::{self, QueueAttributes, Queues, queue_url};
use awo_local::{Server, http_client};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;

use crate::cloud::{loopback, sqs_client};

/// A queue named `q`, and how clients reach it.
struct Scene {
    server: Server,
    key: AccessKey,
    shutdown: Shutdown,
    queues: Queues,
    url: String,
}

async fn scene() -> Scene {
    let (key, shutdown) = (AccessKey::random(), Shutdown::new());
    let queues = Queues::new(shutdown.clone());
    queues.create("q", QueueAttributes::default()).unwrap();
    let server = sqs::start(
        loopback().await,
        queues.clone(),
        key.clone(),
        shutdown.clone(),
    );
    let server = server.unwrap();
    Scene {
        url: queue_url(&server.url(), "q"),
        server,
        key,
        shutdown,
        queues,
    }
}

/// The state of an open connection in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";

impl Scene {
    /// A client that reaches the queue of `reached` without a socket, and signs with `key`.
    fn client(&self, key: &str, reached: &Scene) -> Client {
        let config = sqs_client(&self.server.url(), key).config().to_builder();
        Client::from_conf(config.http_client(http_client([&reached.server])).build())
    }

    /// How many connections lead to it. One that ended goes on being listed, with the port of a server that
    /// is gone, which this one may have now.
    fn connections(&self) -> usize {
        let listed = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let port = format!(":{:04X}", self.server.address().port());
        let open = listed.lines().filter(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.len() > 3 && fields[2].ends_with(&port) && fields[3] == ESTABLISHED
        });
        open.count()
    }

    fn sent(&self) -> usize {
        self.queues.counts("q").unwrap().ready
    }

    /// Sends a message; the code of the error if it is refused.
    async fn send(&self, client: &Client) -> Result<(), Option<String>> {
        let send = client.send_message().queue_url(&self.url).message_body("x");
        let sent = send.send().await;
        sent.map(drop)
            .map_err(|error| error.code().map(str::to_owned))
    }
}

#[tokio::test]
async fn a_stand_in_of_the_process_is_reached_without_a_socket_and_any_other_over_one() {
    let (near, far) = (scene().await, scene().await);
    let client = near.client(near.key.id(), &near);
    near.send(&client).await.unwrap();
    assert_eq!((near.sent(), near.connections()), (1, 0));

    let client = far.client(far.key.id(), &near);
    far.send(&client).await.unwrap();
    assert_eq!((far.sent(), far.connections()), (1, 1));
}

#[tokio::test]
async fn without_a_socket_only_the_own_key_is_admitted() {
    let near = scene().await;
    let refused = near.send(&near.client("AKIASTRANGER", &near)).await;
    assert_eq!(refused, Err(Some("UnrecognizedClientException".to_owned())));
    assert_eq!((near.sent(), near.connections()), (0, 0));
}

#[tokio::test]
async fn a_receiver_without_a_socket_is_woken_by_the_message() {
    let near = scene().await;
    let client = near.client(near.key.id(), &near);
    let receive = client.receive_message().queue_url(&near.url);
    let waiting = receive.wait_time_seconds(20).send();
    let (received, sent) = tokio::join!(waiting, async {
        // Before the poll has begun it would wake nobody.
        tokio::time::sleep(Duration::from_millis(20)).await;
        near.send(&client).await
    });
    sent.unwrap();
    assert_eq!(received.unwrap().messages().len(), 1);
}

#[tokio::test]
async fn nothing_answers_once_the_shutdown_has_begun() {
    let near = scene().await;
    let client = near.client(near.key.id(), &near);
    near.send(&client).await.unwrap();
    near.shutdown.begin();
    assert_eq!(near.send(&client).await, Err(None));
    assert_eq!(near.sent(), 1);
}
