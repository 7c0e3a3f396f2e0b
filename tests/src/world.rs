//! A world in which a test controls every step: the stand-ins without mappings, rules or schedules,
//! and the product's functions twice, once over a client that may fail.

mod cluster;
mod kinds;
mod settings;
mod stage;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use awo_cloud::compute::Compute;
use awo_cloud::{Clock, Cloud, Environment};
use awo_domain::api_key;
use awo_domain::budget::{AlertsAt, BudgetScope, Content, OnLimit, Period, ScopeParts};
use awo_domain::money::MicroCredits;
use awo_domain::{BudgetId, OrgId, TransactionId};
use awo_local::access::AccessKey;
use awo_local::dynamodb::{self, Storage};
use awo_local::ecs::{self, Ecs};
use awo_local::index_lag::{IndexLag, Staleness};
use awo_local::locks::Locks;
use awo_local::shutdown::Shutdown;
use awo_local::sqs::{self, Queues, Receive, ReceivedMessage};
use awo_store::Store;
use awo_store::ledger::budgets::NewBudget;
use awo_store::ledger::credits::Booking;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use serde_json::{Value, json};

use crate::faults::Faults;
use crate::functions::Functions;
use crate::rules::Dump;
use settings::listener;

pub use stage::Stage;

const QUEUE: &str = "runs";
const NOTIFICATIONS: &str = "deliveries";

/// The world.
pub struct World {
    /// The product's view, without faults.
    pub cloud: Cloud,
    /// The store, without faults.
    pub store: Store,
    /// The SDK's way to the stand-ins, without a socket.
    pub http: SharedHttpClient,
    /// What goes wrong.
    pub faults: Faults,
    /// Functions that may go wrong.
    pub faulty: Functions,
    /// Functions that do not.
    pub sound: Functions,
    /// Compute, without faults.
    pub compute: Compute,
    /// How late its indexes are.
    pub index_lag: IndexLag,
    /// The environment of the product's functions in this world.
    pub settings: BTreeMap<String, String>,
    tables: aws_sdk_dynamodb::Client,
    queues: Queues,
    ecs: Ecs,
    shutdown: Shutdown,
    orgs: AtomicUsize,
    _logs: tempfile::TempDir,
}

/// An organization with a key.
#[derive(Debug, Clone)]
pub struct Org {
    /// Its id.
    pub id: OrgId,
    /// A key of scope `*`.
    pub key: String,
}

impl World {
    async fn made(own: &[(&'static str, String)], locks: Locks, lag: Option<Staleness>) -> World {
        let (key, shutdown) = (AccessKey::random(), Shutdown::new());
        let clock = Clock::default();
        let lagging = |staleness| IndexLag::new(staleness, clock.clone());
        let index_lag = lag.map(lagging).unwrap_or_default();
        let logs = tempfile::tempdir().expect("a temporary directory");
        let dynamodb = dynamodb::start(
            listener().await,
            &Storage::Memory,
            Duration::from_secs(600),
            key.clone(),
            shutdown.clone(),
            (locks, index_lag.clone()),
        )
        .expect("DynamoDB");
        let queues = settings::queues(&shutdown);
        let sqs = sqs::start(
            listener().await,
            queues.clone(),
            key.clone(),
            shutdown.clone(),
        )
        .expect("SQS");
        let ecs = cluster::start(logs.path().to_owned(), &shutdown);
        let ecs_server =
            ecs::start(listener().await, ecs.clone(), key.clone(), shutdown.clone()).expect("ECS");
        let secrets = awo_local::secrets::start(
            listener().await,
            &logs.path().join("secrets.json"),
            true,
            key.clone(),
            shutdown.clone(),
        )
        .expect("Secrets Manager");
        let objects = settings::bodies(logs.path(), &key, &shutdown).await;
        let stand_ins = [&dynamodb, &sqs, &ecs_server, &secrets, &objects];
        let mut settings = settings::settings(stand_ins.map(|server| server.url()), &key);
        let own = own
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        settings.extend(own);
        let faults = Faults::default();
        let http = awo_local::http_client(stand_ins);
        let mut cloud = Cloud::new(environment(&settings), http.clone());
        cloud.clock = clock;
        let faulty = beside(&cloud, &settings, faults.client(http.clone()));
        let store = cloud.store().expect("settings");
        store.create_missing_tables().await.expect("tables");
        World {
            faulty,
            sound: Functions::new(&cloud),
            store,
            compute: cloud.compute().expect("settings"),
            settings,
            tables: crate::rules::client(&cloud),
            cloud,
            index_lag,
            http,
            faults,
            queues,
            ecs,
            shutdown,
            orgs: AtomicUsize::new(0),
            _logs: logs,
        }
    }

    /// The functions over a client that the test brings, which may wrap [`World::http`].
    #[must_use]
    pub fn functions(&self, client: SharedHttpClient) -> Functions {
        beside(&self.cloud, &self.settings, client)
    }

    /// A store over the client that may go wrong.
    ///
    /// # Panics
    /// When a setting is missing.
    #[must_use]
    pub fn faulty_store(&self) -> Store {
        let client = self.faults.client(self.http.clone());
        let cloud = Cloud::new(environment(&self.settings), client);
        cloud.store().expect("settings")
    }

    /// The product's functions in a process of their own, over the client that may go wrong.
    #[must_use]
    pub fn process(&self) -> Functions {
        self.functions(self.faults.client(self.http.clone()))
    }

    /// A new organization with a key and credits. Every other one has a webhook, which is
    /// disabled: its events enter the outbox, and nobody is sent any. Two of four have budgets.
    pub async fn org(&self, credits: i64) -> Org {
        let org = self.org_without_webhooks(credits).await;
        let nth = self.orgs.fetch_add(1, Ordering::Relaxed);
        if nth.is_multiple_of(2) {
            self.add_webhook(&org).await;
        }
        if nth % 4 > 1 {
            self.add_budgets(&org.id).await;
        }
        org
    }

    /// Budgets that cover whatever runs here.
    pub async fn add_budgets(&self, org: &OrgId) {
        let scope = |tenant: Option<&str>| {
            let tenant_id = tenant.map(str::to_owned);
            BudgetScope::of(ScopeParts {
                tenant_id,
                ..ScopeParts::default()
            })
        };
        for (scope, period, on_limit) in [
            (scope(None), Period::Month, OnLimit::Block),
            (scope(None), Period::Once, OnLimit::Wait),
            (scope(Some("t1")), Period::Day, OnLimit::Alert),
        ] {
            let now = self.cloud.clock.now();
            let content = Content {
                name: "all".to_owned(),
                scope: scope.expect("a scope"),
                period,
                limit_micro: MicroCredits::from_credits(100_000_000).micro(),
                on_limit,
                alerts_at: AlertsAt::default(),
            };
            let id = BudgetId::new(now, self.cloud.mint.random(now));
            let new = NewBudget { id, content, now };
            let created = Box::pin(self.store.create_budget(org, &new, None)).await;
            created.expect("a budget");
        }
    }

    /// Creates so many work orders of an organization, which wait.
    pub async fn create_orders(&self, org: &Org, orders: usize) {
        let body = json!({
            "taskPrompt": "fix it",
            "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
            "limits": { "maxCredits": 10 },
        });
        for _ in 0..orders {
            let made = self.sound.create(org, &body, None).await;
            assert_eq!(made.status, 201, "{}", made.text);
        }
    }

    /// A new organization with a key and credits.
    pub async fn org_without_webhooks(&self, credits: i64) -> Org {
        let (mint, now) = (&self.cloud.mint, self.cloud.clock.now());
        let id = OrgId::new(now, mint.random(now));
        self.store
            .create_organization(&id, "test", "cursor", now)
            .await
            .expect("an organization");
        let grant = TransactionId::new(now, mint.random(now));
        self.store
            .grant(
                &id,
                &grant,
                MicroCredits::from_credits(credits),
                &Booking::default(),
            )
            .await
            .expect("credits");
        let key = mint.api_key();
        self.store
            .create_key(&key, &id, &[api_key::Scope::All], None, "cursor", now)
            .await
            .expect("a key");
        Org {
            id,
            key: key.reveal().to_owned(),
        }
    }

    /// Everything that the tables hold of an organization.
    pub async fn dump(&self, org: &OrgId) -> Dump {
        Dump::read(&self.tables, &self.cloud, org).await
    }

    /// Delivers every message of the run queue to the dispatcher, and those that this brings.
    pub async fn deliver_wake_ups(&self, functions: &Functions) {
        loop {
            let wake_ups = self.take_wake_ups().await;
            if wake_ups.is_empty() {
                return;
            }
            for wake_up in wake_ups {
                drop(functions.wake_up(&wake_up).await);
            }
        }
    }

    /// Loses every message there is.
    pub async fn lose_wake_ups(&self) {
        while !self.take_wake_ups().await.is_empty() {}
        loop {
            let notifications = self.receive(NOTIFICATIONS).await;
            if notifications.is_empty() {
                return;
            }
            for notification in notifications {
                let deleted = self
                    .queues
                    .delete(NOTIFICATIONS, &notification.receipt_handle);
                deleted.expect("a message in our hands");
            }
        }
    }

    /// How many messages the deliveries queue has, hidden ones too.
    #[must_use]
    pub fn notifications_left(&self) -> usize {
        let counts = self.queues.counts(NOTIFICATIONS).expect("a queue");
        counts.ready + counts.in_flight + counts.delayed
    }

    /// Hands the messages of the deliveries queue that are there to the deliverer, in one batch,
    /// and takes away those that it is done with. False if there was none.
    pub async fn deliver_notifications(&self, functions: &Functions) -> bool {
        let deliver = async |records: Vec<Value>| functions.deliver(&records).await;
        self.hand_notifications(deliver).await
    }

    /// As [`World::deliver_notifications`], to any deliverer.
    pub async fn hand_notifications(
        &self,
        deliver: impl AsyncFnOnce(Vec<Value>) -> Result<Value, String>,
    ) -> bool {
        let received = self.receive(NOTIFICATIONS).await;
        let record = |received: &ReceivedMessage| {
            json!({
                "messageId": received.message.id, "receiptHandle": received.receipt_handle,
                "body": received.message.body, "eventSource": "aws:sqs",
                "attributes": { "ApproximateReceiveCount": "1" },
            })
        };
        let records: Vec<Value> = received.iter().map(record).collect();
        if records.is_empty() {
            return false;
        }
        let Ok(answer) = deliver(records).await else {
            return true;
        };
        let stays = answer["batchItemFailures"].to_string();
        for done in received {
            if !stays.contains(&done.message.id) {
                let deleted = self.queues.delete(NOTIFICATIONS, &done.receipt_handle);
                deleted.expect("a message in our hands");
            }
        }
        true
    }

    async fn receive(&self, queue: &str) -> Vec<ReceivedMessage> {
        let receive = Receive {
            messages: 10,
            bytes: 1_000_000,
            wait: Some(Duration::ZERO),
            visibility: Some(Duration::from_secs(30)),
        };
        self.queues.receive(queue, receive).await.expect("messages")
    }

    /// Takes a batch of messages off the run queue; none if it is empty.
    pub async fn take_wake_ups(&self) -> Vec<String> {
        let received = self.receive(QUEUE).await;
        received
            .into_iter()
            .map(|message| {
                let deleted = self.queues.delete(QUEUE, &message.receipt_handle);
                deleted.expect("a message in our hands");
                message.message.body.clone()
            })
            .collect()
    }

    /// Lets a minute pass, sweeps, and delivers the wake-ups and notifications that the sweep sent.
    pub async fn sweep_after_a_minute(&self) {
        self.cloud.clock.advance(61_000);
        self.sound.sweep().await.expect("a sweep");
        self.deliver_wake_ups(&self.sound).await;
        while self.deliver_notifications(&self.sound).await {}
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

fn environment(settings: &BTreeMap<String, String>) -> Environment {
    let settings = settings.clone();
    Environment::new(move |name| settings.get(name).cloned())
}

/// Functions over another client, with the time and the ids of this cloud.
fn beside(
    cloud: &Cloud,
    settings: &BTreeMap<String, String>,
    client: SharedHttpClient,
) -> Functions {
    let mut other = Cloud::new(environment(settings), client);
    other.clock = cloud.clock.clone();
    other.mint = cloud.mint.clone();
    Functions::new(&other)
}
