//! Shared by the tests: listeners, clients, and waiting for a condition.

use std::future::Future;
use std::time::{Duration, Instant};

use awo_local::access::AccessKey;
use awo_local::function::Registry;
use awo_local::shutdown::Shutdown;
use awo_local::sqs::{self, Queues};
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use tokio::net::TcpListener;

/// How long a test waits for what has to come.
pub const DEADLINE: Duration = Duration::from_secs(10);

pub async fn loopback() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// A client that goes nowhere but where it is sent.
pub fn http_client() -> reqwest::Client {
    // Fails when another test was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Asks again until there is an answer.
pub async fn eventually<T, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let start = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(start.elapsed() < DEADLINE, "in vain waited for: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

macro_rules! client {
    ($sdk:ident, $url:expr, $key:expr) => {{
        let http = aws_smithy_http_client::Builder::new().build_http();
        $sdk::Client::from_conf(
            $sdk::Config::builder()
                .behavior_version(BehaviorVersion::latest())
                .region(Region::new(awo_local::REGION))
                .credentials_provider(Credentials::new($key, "any", None, None, "test"))
                .endpoint_url($url)
                .http_client(http)
                .build(),
        )
    }};
}

pub fn sqs_client(url: &str, key: &str) -> aws_sdk_sqs::Client {
    client!(aws_sdk_sqs, url, key)
}

pub fn ecs_client(url: &str, key: &str) -> aws_sdk_ecs::Client {
    client!(aws_sdk_ecs, url, key)
}

pub fn secrets_client(url: &str, key: &str) -> aws_sdk_secretsmanager::Client {
    client!(aws_sdk_secretsmanager, url, key)
}

pub fn sts_client(url: &str, key: &str) -> aws_sdk_sts::Client {
    client!(aws_sdk_sts, url, key)
}

pub fn s3_client(url: &str, key: &str) -> aws_sdk_s3::Client {
    client!(aws_sdk_s3, url, key)
}

pub fn dynamodb_client(url: &str, key: &str) -> aws_sdk_dynamodb::Client {
    client!(aws_sdk_dynamodb, url, key)
}

/// A running SQS.
pub struct Sqs {
    pub queues: Queues,
    pub client: aws_sdk_sqs::Client,
    pub endpoint: String,
    pub registry: Registry,
    pub shutdown: Shutdown,
}

impl Sqs {
    pub async fn start() -> Self {
        let (shutdown, key) = (Shutdown::new(), AccessKey::random());
        let queues = Queues::new(shutdown.clone());
        let server = sqs::start(
            loopback().await,
            queues.clone(),
            key.clone(),
            shutdown.clone(),
        )
        .unwrap();
        let endpoint = server.url();
        let client = sqs_client(&endpoint, key.id());
        Self {
            queues,
            client,
            endpoint,
            registry: Registry::new(),
            shutdown,
        }
    }

    /// A queue made through the protocol; gives its URL.
    pub async fn queue(&self, name: &str, attributes: &[(&str, &str)]) -> String {
        let mut create = self.client.create_queue().queue_name(name);
        for (attribute, value) in attributes {
            create = create.attributes((*attribute).into(), *value);
        }
        create.send().await.unwrap().queue_url.unwrap()
    }
}
