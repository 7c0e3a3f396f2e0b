//! The whole service in this process, on stand-ins in memory, with the real runner.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use awo_domain::api_key::Scope;
use awo_domain::money::MicroCredits;
use awo_domain::{OrgId, TransactionId};
use awo_local::{Options, Service};
use awo_store::ledger::credits::Booking;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::types::QueueAttributeName;

use crate::client::Client;

/// As in the cloud.
const SWEEP_PERIOD: Duration = Duration::from_secs(60);
/// Longer than any test.
const DAY: Duration = Duration::from_secs(86_400);

/// A service with one organization.
pub struct TestService {
    /// The service.
    pub service: Service,
    /// The organization.
    pub org: OrgId,
    /// A client with a key of scope `*`.
    pub client: Client,
    /// Everything that the service keeps.
    pub dir: tempfile::TempDir,
}

/// A program of the workspace, beside the test's own: `make test` builds all of them.
///
/// # Panics
/// When it is not there.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let exe = std::env::current_exe().expect("this program");
    // A test lies one folder below the programs.
    let mut places = exe.ancestors().skip(1).take(2).map(|dir| dir.join(name));
    let found = places.find(|place| place.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "{name} is not beside {}: run `cargo build -p awo-runner -p awo-local` first, as \
             `make test` does",
            exe.display()
        )
    })
}

impl TestService {
    /// Starts a service whose organization has these credits.
    pub async fn start(credits: i64, settings: &[(&str, &str)]) -> TestService {
        TestService::begin(credits, settings, false, SWEEP_PERIOD).await
    }

    /// The same, in which nothing happens by itself: only the test sweeps.
    pub async fn unswept(credits: i64, settings: &[(&str, &str)]) -> TestService {
        TestService::begin(credits, settings, false, DAY).await
    }

    /// The same, with its tables in a file, as those of a service that is more than a test's.
    pub async fn on_disk(credits: i64, settings: &[(&str, &str)]) -> TestService {
        TestService::begin(credits, settings, true, SWEEP_PERIOD).await
    }

    async fn begin(
        credits: i64,
        settings: &[(&str, &str)],
        on_disk: bool,
        sweep_period: Duration,
    ) -> TestService {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (workspaces, logs) = (dir.path().join("workspaces"), dir.path().join("logs"));
        let data = dir.path().join("data");
        for path in [&workspaces, &logs, &data] {
            std::fs::create_dir(path).expect("a directory");
        }
        let mut all: BTreeMap<String, String> = settings
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        all.entry("AWO_ALLOW_FILE_REPOSITORIES".to_owned())
            .or_insert_with(|| "1".to_owned());
        all.entry("AWO_REQUESTS_PER_MINUTE".to_owned())
            .or_insert_with(|| "1000000".to_owned());
        // Whatever names webhooks have: no test asks beyond this machine.
        all.entry("AWO_WEBHOOK_NAME_SERVER".to_owned())
            .or_insert_with(|| "127.0.0.1:9".to_owned());
        let options = Options {
            data_dir: on_disk.then_some(data),
            port: 0,
            runner: program("runner"),
            workspace_root: workspaces,
            log_dir: logs,
            private_files: Vec::new(),
            sweep_period,
            item_locks: Duration::ZERO,
            takes_secrets: true,
            settings: all,
        };
        let service = Service::start(options).await.expect("the service starts");
        let client = Client::new(&service.base_url, None);
        let (org, key) = new_org(&service, credits, &[Scope::All], None).await;
        TestService {
            client: client.with_key(Some(&key)),
            service,
            org,
            dir,
        }
    }

    /// Waits until the dispatcher has handled every wake-up that was sent.
    ///
    /// # Panics
    /// When that takes more than a minute.
    pub async fn wake_ups_are_handled(&self) {
        let setting = |name: &str| self.service.settings[name].clone();
        let credentials =
            Credentials::new(setting("AWS_ACCESS_KEY_ID"), "local", None, None, "test");
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("local"))
            .credentials_provider(credentials)
            .endpoint_url(setting("AWS_ENDPOINT_URL_SQS"))
            .http_client(self.service.http.clone())
            .build();
        let sqs = aws_sdk_sqs::Client::from_conf(config);
        let handled = async {
            loop {
                let counts = sqs
                    .get_queue_attributes()
                    .queue_url(setting("AWO_RUN_QUEUE_URL"))
                    .attribute_names(QueueAttributeName::All)
                    .send()
                    .await
                    .expect("the run queue");
                let counts = counts.attributes.unwrap_or_default();
                let left = counts.iter().filter(|(name, count)| {
                    name.as_str().starts_with("ApproximateNumberOfMessages") && *count != "0"
                });
                if left.count() == 0 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let handled = tokio::time::timeout(Duration::from_secs(60), handled).await;
        handled.expect("every wake-up is handled");
    }

    /// Another organization with a key.
    ///
    /// # Panics
    /// When the service fails.
    pub async fn another_org(&self, credits: i64) -> (OrgId, Client) {
        let (org, key) = new_org(&self.service, credits, &[Scope::All], None).await;
        (org, self.client.with_key(Some(&key)))
    }

    /// Another key of the organization.
    pub async fn key(&self, scopes: &[Scope], requests_per_minute: Option<u32>) -> Client {
        let cloud = &self.service.cloud;
        let key = cloud.mint.api_key();
        let store = cloud.store().expect("settings");
        store
            .create_key(
                &key,
                &self.org,
                scopes,
                requests_per_minute,
                "cursor",
                cloud.clock.now(),
            )
            .await
            .expect("a key");
        self.client.with_key(Some(key.reveal()))
    }
}

async fn new_org(
    service: &Service,
    credits: i64,
    scopes: &[Scope],
    rate: Option<u32>,
) -> (OrgId, String) {
    let (cloud, now) = (&service.cloud, service.cloud.clock.now());
    let store = cloud.store().expect("settings");
    let org = OrgId::new(now, cloud.mint.random(now));
    store
        .create_organization(&org, "test", "cursor", now)
        .await
        .expect("an organization");
    if credits > 0 {
        let grant = TransactionId::new(now, cloud.mint.random(now));
        store
            .grant(
                &org,
                &grant,
                MicroCredits::from_credits(credits),
                &Booking::default(),
            )
            .await
            .expect("credits");
    }
    let key = cloud.mint.api_key();
    store
        .create_key(&key, &org, scopes, rate, "cursor", now)
        .await
        .expect("a key");
    (org, key.reveal().to_owned())
}
