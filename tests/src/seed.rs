//! Work orders that the store itself creates, many or in the past, and deliveries.

use std::collections::BTreeMap;

use awo_cloud::Cloud;
use awo_cloud::bodies::BodyKey;
use awo_domain::inbox::InboxKind;
use awo_domain::inbox::delivery::{InboxDelivery, InboxOutcome};
use awo_domain::inbox::signature::sha256;
use awo_domain::money::MicroCredits;
use awo_domain::source::{GitSource, Repository};
use awo_domain::stop::{Stop, StopKind};
use awo_domain::template::Hooks;
use awo_domain::webhook::delivery::{DeliveryAttempt, DeliveryProgress};
use awo_domain::webhook::{DeliveryStatus, EventType};
use awo_domain::work_order::Order;
use awo_domain::{
    AttemptId, DeliveryId, EventId, InboxDeliveryId, InboxId, OrgId, RunId, TaskPrompt, Timestamp,
    WebhookId, WorkOrderId,
};
use awo_store::Store;
use awo_store::engine::idempotency::RequestOutcome;
use awo_store::inboxes::unprocessed::UnprocessedRef;
use awo_store::queue::tally::QueueLimits;
use awo_store::webhooks::deliveries::{Delivery, Notice};
use awo_store::work_orders::cascades::FamilyStop;
use awo_store::work_orders::{Account, NewWorkOrder};
use serde_json::json;

/// More than any test makes.
const ROOM: QueueLimits = QueueLimits {
    max_concurrent: 0,
    max_queue_size: 1_000_000,
};

/// Makes work orders of an organization.
pub struct Seed<'a> {
    /// The product's view.
    pub cloud: &'a Cloud,
    /// The store.
    pub store: Store,
    /// Whose they are.
    pub org: &'a OrgId,
}

impl<'a> Seed<'a> {
    /// Of this organization.
    #[must_use]
    pub fn of(cloud: &'a Cloud, org: &'a OrgId) -> Seed<'a> {
        let store = cloud.store().expect("settings");
        Seed { cloud, store, org }
    }

    /// A waiting work order that came at a time.
    pub async fn waiting(&self, at: Timestamp, tenant: Option<&str>) -> NewWorkOrder {
        let policy = self.store.cost_policy(self.org).await.expect("a policy");
        let account = Account {
            policy: policy.version,
            ..Account::default()
        };
        let new = NewWorkOrder {
            environment_snapshot: None,
            profile_snapshot: None,
            org: self.org.clone(),
            id: WorkOrderId::new(at, self.cloud.mint.random(at)),
            run_id: RunId::new(at, self.cloud.mint.random(at)),
            order: order(tenant),
            account,
            depth: 0,
            step: None,
            asked_by: None,
            follow_up: None,
            max_iterations: 1,
            hold: MicroCredits::from_credits(1),
            now: at,
        };
        let made = self.store.create_work_order(&new, ROOM, None).await;
        let made = made.expect("a work order");
        assert!(matches!(made, Some(RequestOutcome::New(()))));
        new
    }

    /// A canceled one.
    pub async fn canceled(&self, at: Timestamp, tenant: Option<&str>) -> NewWorkOrder {
        let new = self.waiting(at, tenant).await;
        let run = self.store.run(self.org, &new.run_id).await;
        let run = run.expect("an answer").expect("a run");
        let stop = Stop {
            kind: StopKind::Cancel,
            reason: None,
            requested_at: at,
        };
        let stopping = FamilyStop {
            stop: &stop,
            children: None,
        };
        let order = new.work_order();
        let store = &self.store;
        let canceled = store.cancel_waiting(self.org, (&order, &run), &stopping, at);
        assert!(canceled.await.expect("a cancel"));
        new
    }
}

impl Seed<'_> {
    /// A delivery to an inbox that was processed, with its body.
    pub async fn inbox_delivery(&self, inbox: &InboxId) -> InboxDelivery {
        let delivery = self.unprocessed_delivery(inbox, InboxKind::Hmac).await;
        let waiting = UnprocessedRef {
            org_id: self.org.clone(),
            inbox_id: inbox.clone(),
            delivery_id: delivery.id.clone(),
        };
        let waiting = self
            .store
            .unprocessed_delivery(&waiting, delivery.received_at)
            .await;
        let waiting = waiting.expect("a read").expect("a delivery that waits");
        let judged = delivery.judged(Vec::new());
        let settled = self.store.settle_inbox_delivery(&waiting, Some(&judged));
        assert!(settled.await.expect("a write"));
        judged
    }

    /// A delivery to an inbox that waits for its processing, with its body.
    pub async fn unprocessed_delivery(&self, inbox: &InboxId, kind: InboxKind) -> InboxDelivery {
        let now = self.cloud.clock.now();
        let body = br#"{"zen":"Approachable is better than simple."}"#;
        let delivery = InboxDelivery {
            id: InboxDeliveryId::new(now, self.cloud.mint.random(now)),
            inbox_id: inbox.clone(),
            kind,
            host: None,
            headers: BTreeMap::new(),
            body_sha256: sha256(body),
            body_bytes: body.len() as u64,
            received_at: now,
            event: "ping".to_owned(),
            sender_id: None,
            subject: None,
            actor: None,
            outcome: InboxOutcome::Pending,
            reason: None,
            triggers: Vec::new(),
        };
        let key = BodyKey {
            org: self.org,
            inbox,
            sha256: &delivery.body_sha256,
        };
        let bodies = self.cloud.bodies().expect("settings");
        bodies.put(key, body.to_vec()).await.expect("a body");
        let stored = self.store.store_inbox_delivery(self.org, &delivery, None);
        stored.await.expect("a delivery");
        delivery
    }

    /// A delivery as one looks that is due in an hour, arrived at the first attempt, or was given up after the
    /// webhook had answered 503 and then 410.
    pub async fn delivery(&self, webhook: &WebhookId, status: DeliveryStatus) -> Delivery {
        let now = self.cloud.clock.now();
        let random = || self.cloud.mint.random(now);
        let run = RunId::new(now, random());
        let notice = Notice {
            event_id: EventId::new(now, random()),
            event_type: EventType::RunCompleted,
            body: format!("{{\"data\": {{\"runId\": \"{run}\"}}}}\n"),
            run_id: Some(run),
        };
        let new = Delivery::new(
            DeliveryId::new(now, random()),
            self.org,
            webhook,
            notice,
            now,
        );
        let attempt = |number, status_code| DeliveryAttempt {
            id: AttemptId::new(now, random()),
            number,
            started_at: now,
            duration_ms: Some(120),
            status_code: Some(status_code),
            error: None,
        };
        let delivery = match status {
            // Long after the test.
            DeliveryStatus::Pending => Delivery {
                progress: DeliveryProgress::new(now.plus_ms(3_600_000)),
                due_at: Some(now.plus_ms(3_660_000).epoch_ms()),
                ..new
            },
            over => Delivery {
                progress: DeliveryProgress {
                    status,
                    attempts: match over {
                        DeliveryStatus::Delivered => vec![attempt(1, 204)],
                        _ => vec![attempt(1, 503), attempt(2, 410)],
                    },
                    next_attempt_at: None,
                    abandoned_reason: None,
                },
                due_shard: None,
                due_at: None,
                ..new
            },
        };
        let stored = self.store.create_delivery(&delivery, None).await;
        stored.expect("a delivery");
        delivery
    }
}

fn order(tenant: Option<&str>) -> Order {
    let mut terms = json!({ "harness": "default", "agent": { "type": "command" } });
    if let Some(tenant) = tenant {
        terms["tenantContext"] = json!({ "tenantId": tenant });
    }
    Order {
        task_prompt: TaskPrompt::new("fix it"),
        source: GitSource {
            commit: None,
            repository: Repository::parse("https://git.example.com/x.git", false)
                .expect("a repository"),
            branch: None,
        },
        hooks: Hooks::default(),
        max_iterations: None,
        terms: serde_json::from_value(terms).expect("terms"),
        start_commit: None,
        environment: None,
    }
}
