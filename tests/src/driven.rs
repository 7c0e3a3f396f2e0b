//! A run whose runner is the test: it gets its slot without a task, and the test says over the
//! control API what happens in it, and when.

use awo_domain::money::MicroCredits;
use awo_domain::{OrgId, RunId, TransactionId, WorkOrderId};
use awo_store::Store;
use awo_store::lease::Lease;
use awo_store::settlement::Charge;
use awo_store::tally::QueueLimits;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::service::TestService;

const SLOTS: QueueLimits = QueueLimits {
    max_concurrent: 1_000,
    max_queue_size: 1_000,
};

/// A run that has a slot and a runner.
pub struct DrivenRun {
    /// The run.
    pub run_id: RunId,
    /// Its work order.
    pub work_order_id: WorkOrderId,
    org: OrgId,
    store: Store,
    runner: Client,
    claim: Value,
    told: u64,
}

impl DrivenRun {
    /// Gives a waiting work order a slot, whoever's turn it is, and claims its run. The service
    /// must have no slots of its own (`AWO_MAX_CONCURRENT=0`), so that nobody else does.
    pub async fn of(service: &TestService, work_order: &Value) -> DrivenRun {
        let cloud = &service.service.cloud;
        let (store, now) = (cloud.store().expect("settings"), cloud.clock.now());
        let queue = store.queue(&service.org).await.expect("the queue");
        let mut entries = queue.entries.iter();
        let entry = entries
            .find(|entry| work_order["id"] == entry.work_order_id.as_str())
            .expect("a waiting entry");
        let (work_order_id, run_id) = (&entry.work_order_id, &entry.run_id);
        let secret = cloud.mint.secret();
        let came = entry.enqueued_at;
        let lease = Lease::new(
            &service.org,
            run_id,
            work_order_id,
            secret.clone(),
            came,
            now,
        );
        let dispatched = store.dispatch(&queue, entry, &lease, SLOTS, now).await;
        assert_eq!(
            dispatched.expect("a slot"),
            awo_store::dispatch::Dispatched::Yes
        );
        let token = cloud.mint.secret();
        let nonce = format!("{}.{run_id}.{secret}", service.org);
        let claim = json!({ "nonce": nonce, "token": token });
        let runner = service.client.with_key(Some(&token));
        let claimed = runner.post("/control/claim", &claim).await;
        assert_eq!(claimed.status, 200, "{}", claimed.text);
        DrivenRun {
            run_id: run_id.clone(),
            work_order_id: work_order_id.clone(),
            org: service.org.clone(),
            store,
            runner,
            claim,
            told: 0,
        }
    }

    /// A client with the run's token.
    #[must_use]
    pub fn runner(&self) -> &Client {
        &self.runner
    }

    /// Claims the run once more, as a runner does that has heard no answer.
    pub async fn claim_again(&self) -> Answer {
        self.runner.post("/control/claim", &self.claim).await
    }

    /// Calls a route of the runner's own API.
    pub async fn control(&self, what: &str, body: &Value) -> Answer {
        let path = format!("/control/{}/runs/{}/{what}", self.org, self.run_id);
        self.runner.post(&path, body).await
    }

    /// Tells an event.
    pub async fn tell(&mut self, event: Value) {
        self.told += 1;
        let numbered =
            json!({ "number": self.told, "at": "2026-11-20T08:00:00.000Z", "event": event });
        let kept = self
            .control("report", &json!({ "events": [numbered] }))
            .await;
        assert_eq!(kept.status, 200, "{}", kept.text);
    }

    /// Starts an iteration.
    pub async fn iterate(&mut self, iteration: u32) {
        self.tell(json!({ "type": "iterationStarted", "iteration": iteration }))
            .await;
    }

    /// Ends the run with success, after an iteration at least; its slot stays taken.
    pub async fn succeed(&mut self) {
        if self.told == 0 {
            self.iterate(1).await;
        }
        self.finish(json!({ "type": "succeeded", "commit": "c1" }))
            .await;
    }

    /// Ends the run without success; its slot stays taken.
    pub async fn fail(&self) {
        self.finish(json!({ "type": "failed", "code": "AGENT_FAILED", "message": "it failed" }))
            .await;
    }

    async fn finish(&self, outcome: Value) {
        let body = json!({ "events": [], "outcome": outcome, "iterations": 1, "usage": [] });
        let finished = self.control("finish", &body).await;
        assert_eq!(finished.status, 200, "{}", finished.text);
    }

    /// Gives the slot back, as when the compute is known to be gone.
    pub async fn free_slot(&self) {
        let run = self.store.run(&self.org, &self.run_id).await;
        let run = run.expect("the run").expect("a run");
        let lease = self.store.lease(&self.org, &self.run_id).await;
        let lease = lease.expect("the lease").expect("a lease");
        let now = run.completed_at.expect("the end of the run");
        let charge = Charge {
            cost: MicroCredits::ZERO,
            transaction_id: TransactionId::new(now, 0),
        };
        let returned = self.store.return_slot(&lease, &run, &charge, now).await;
        assert!(returned.expect("a slot"));
    }
}
