//! A run whose runner is the test: it gets its slot without a task, and the test determines its
//! events over the control API.

use awo_cloud::Cloud;
use awo_cloud::compute::TaskEnd;
use awo_domain::{OrgId, RunId, WorkOrderId};
use awo_execution::endings::Endings;
use awo_store::Store;
use awo_store::capacity::permits::MaxTasks;
use awo_store::queue::tally::QueueLimits;
use awo_store::runs::lifecycle::lease::Lease;
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
    cloud: Cloud,
    runner: Client,
    claim: Value,
    /// What the claim was answered with.
    pub spec: Value,
    reported: u64,
}

impl DrivenRun {
    /// Gives a waiting work order a slot, out of turn, and claims its run. The service
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
        let lease = Lease::of_entry(&service.org, entry, secret.clone(), now);
        let max = MaxTasks::new(1_000).expect("at least one");
        let available = store
            .capacity(&service.org, run_id.as_str(), max, now)
            .await;
        let place = available.expect("a read").permit.expect("a place");
        let thread = store.free_thread(&service.org, entry.thread_id(), Some(run_id));
        let thread = thread.await.expect("a read").expect("a free thread");
        let dispatched = store
            .dispatch(&queue, entry, (&lease, &place, &thread), SLOTS, now)
            .await;
        assert_eq!(
            dispatched.expect("a slot"),
            awo_store::runs::lifecycle::dispatch::DispatchOutcome::Yes
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
            cloud: cloud.clone(),
            runner,
            claim,
            spec: claimed.body,
            reported: 0,
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

    /// Reports an event.
    pub async fn report(&mut self, event: Value) {
        self.reported += 1;
        let numbered =
            json!({ "number": self.reported, "at": "2026-11-20T08:00:00.000Z", "event": event });
        let stored = self
            .control("report", &json!({ "events": [numbered] }))
            .await;
        assert_eq!(stored.status, 200, "{}", stored.text);
    }

    /// Starts an iteration.
    pub async fn iterate(&mut self, iteration: u32) {
        self.report(json!({ "type": "iterationStarted", "iteration": iteration }))
            .await;
    }

    /// Ends the run with success, after an iteration at least; its slot stays taken.
    pub async fn succeed(&mut self) {
        if self.reported == 0 {
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

    /// Leaves the compute for its children; its slot stays taken.
    pub async fn wait(&self) {
        let branch = format!("awo/{}", self.run_id);
        self.finish(json!({
            "type": "waiting", "base": "b0", "commit": "c1", "branch": branch, "sessionId": "s1",
        }))
        .await;
    }

    /// Asks for children, as an agent would in its first iteration.
    pub async fn ask(&self, children: &Value) -> Answer {
        let branch = format!("awo/{}", self.run_id);
        let body = json!({
            "iteration": 1, "commit": "c1", "branch": branch, "usage": [], "children": children,
        });
        self.control("children", &body).await
    }

    async fn finish(&self, outcome: Value) {
        let finished = self.send_last(outcome).await;
        assert_eq!(finished.status, 200, "{}", finished.text);
    }

    /// Says a last word, whatever the answer is.
    pub async fn send_last(&self, outcome: Value) -> Answer {
        let body = json!({ "events": [], "outcome": outcome, "iterations": 1, "usage": [] });
        self.control("finish", &body).await
    }

    /// The compute is known to be gone: the slot comes back, and a run that is not over and does
    /// not wait for its children is lost.
    pub async fn free_slot(&self) {
        let lease = self.store.lease(&self.org, &self.run_id).await;
        let lease = lease.expect("the lease").expect("a lease");
        let endings = Endings::new(&self.cloud).expect("settings");
        let now = self.cloud.clock.now();
        let gone = endings.compute_gone(&lease, &TaskEnd::default(), now).await;
        gone.expect("a slot");
    }
}
