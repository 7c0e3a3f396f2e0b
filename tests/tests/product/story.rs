//! One work order's life in one organization, step by step.

use awo_domain::RunId;
use awo_store::runs::Run;
use awo_store::work_orders::{WorkOrder, WorkOrderFilter};
use awo_tests::functions::Functions;
use awo_tests::invoke::Reply;
use awo_tests::rules::Dump;
use awo_tests::world::{Org, World};
use serde_json::{Value, json};

pub const MAX_CONCURRENT: i64 = 5;
/// How often a caller comes back.
const INSISTENCE: u32 = 5;
const TOKEN: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// What can happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A client creates the work order.
    Create,
    /// The wake-up reaches the dispatcher.
    Dispatch,
    /// The runner trades its nonce.
    Claim,
    /// The runner reports.
    Report,
    /// The runner ends with success.
    Finish,
    /// The same, and it reports that nothing of the run is alive.
    FinishDead,
    /// The runner ends without.
    Fail,
    /// The runner says that it was stopped.
    Stopped,
    /// The same, and it reports that nothing of the run is alive.
    StoppedDead,
    /// An event says that the task has stopped while it lives.
    StaleEvent,
    /// The task ends, and its event comes.
    TaskStopped,
    /// The same event again.
    TaskStoppedAgain,
    /// A client starts a run.
    Start,
    /// A client cancels.
    Cancel,
    /// A client kills.
    Kill,
    /// The schedule ticks.
    Sweep,
}

/// The story so far.
pub struct Story<'a> {
    pub world: &'a World,
    pub org: Org,
    /// Of the newest run, until it is claimed.
    nonce: String,
    /// First answers by idempotency key.
    first_answers: [Option<String>; 2],
    /// The task that has ended.
    task: Option<String>,
}

fn order() -> Value {
    json!({
        "taskPrompt": "fix it",
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
        "limits": { "maxCredits": 10 },
        "metadata": { "team": "red" },
    })
}

fn events() -> Value {
    json!([
        { "number": 1, "at": "2026-11-20T08:00:00.000Z", "event": { "type": "workspaceReady", "commit": "c0", "branch": "main", "workDir": "/w" } },
        { "number": 2, "at": "2026-11-20T08:00:01.000Z", "event": { "type": "iterationStarted", "iteration": 1 } },
    ])
}

fn finish(outcome: &Value, nothing_alive: bool) -> Value {
    json!({
        "events": [{ "number": 3, "at": "2026-11-20T08:00:02.000Z", "event": { "type": "deliverySkipped", "reason": "test" } }],
        "outcome": outcome,
        "nothingAlive": nothing_alive,
        "iterations": 1,
        "usage": [{
            "usage": { "model": "gpt-4o", "inputTokens": 1000, "outputTokens": 100 },
            "costUsdNano": 3_500_000,
        }],
    })
}

impl<'a> Story<'a> {
    pub async fn new(world: &'a World) -> Story<'a> {
        Story::of(world, world.org(1_000).await)
    }

    /// One of this organization.
    pub fn of(world: &'a World, org: Org) -> Story<'a> {
        Story {
            world,
            org,
            nonce: String::new(),
            first_answers: [None, None],
            task: None,
        }
    }

    pub async fn dump(&self) -> Dump {
        self.world.dump(&self.org.id).await
    }

    pub async fn work_order(&self) -> WorkOrder {
        let filter = WorkOrderFilter::default();
        let store = &self.world.store;
        let listed = store.work_orders(&self.org.id, &filter, (1, 0), None).await;
        let mut orders = listed.expect("a list").0.items;
        orders.pop().expect("a work order")
    }

    /// The newest run.
    pub async fn run(&self) -> Run {
        let id = self.work_order().await.run_id;
        let run = self.world.store.run(&self.org.id, &id).await;
        run.expect("an answer").expect("a run")
    }

    async fn run_id(&self) -> RunId {
        self.work_order().await.run_id
    }

    async fn work_order_id(&self) -> String {
        self.work_order().await.id.as_str().to_owned()
    }

    /// Notes the nonce of the newest run, as its task has it, before somebody claims it.
    pub async fn find_nonce(&mut self) {
        let run = self.run_id().await;
        let lease = self.world.store.lease(&self.org.id, &run).await;
        let secret = lease.expect("an answer").and_then(|lease| lease.nonce);
        if let Some(secret) = secret {
            self.nonce = format!("{}.{run}.{secret}", self.org.id);
        }
    }

    /// Does a step once. The answer is true if the caller has no reason to come back.
    pub async fn once(&mut self, step: Step, functions: &Functions) -> bool {
        let org = self.org.id.clone();
        match step {
            Step::Create => {
                let reply = functions.create(&self.org, &order(), Some("the-key")).await;
                self.note_answer(0, &reply);
                reply.status == 201
            }
            Step::Start => {
                let id = self.work_order_id().await;
                let reply = functions.start(&self.org, &id, Some("the-key")).await;
                self.note_answer(1, &reply);
                reply.status == 201
            }
            // A repeated call may get the answer that it is over.
            Step::Cancel => {
                let id = self.work_order_id().await;
                [200, 409].contains(&functions.cancel(&self.org, &id).await.status)
            }
            Step::Kill => {
                let (id, body) = (self.work_order_id().await, json!({ "reason": "test" }));
                functions.kill(&self.org, &id, &body).await.status == 200
            }
            Step::Dispatch => {
                let answer = functions
                    .wake_up(&json!({ "orgId": org }).to_string())
                    .await;
                answer.is_ok_and(|a| a["batchItemFailures"].as_array().is_none_or(Vec::is_empty))
            }
            Step::Claim => functions.claim(&self.nonce, TOKEN).await.status == 200,
            Step::Report => {
                self.sends(
                    functions,
                    "report",
                    &json!({ "events": events(), "executed": true }),
                )
                .await
            }
            Step::Finish | Step::FinishDead => {
                let outcome = json!({ "type": "succeeded", "commit": "c1" });
                let last = finish(&outcome, step == Step::FinishDead);
                self.sends(functions, "finish", &last).await
            }
            Step::Fail => {
                let outcome =
                    json!({ "type": "failed", "code": "AGENT_FAILED", "message": "test" });
                self.sends(functions, "finish", &finish(&outcome, false))
                    .await
            }
            Step::Stopped | Step::StoppedDead => {
                let outcome = json!({ "type": "stopped", "forced": false });
                let last = finish(&outcome, step == Step::StoppedDead);
                self.sends(functions, "finish", &last).await
            }
            // It comes again if ECS says otherwise, and nobody waits for that here.
            Step::StaleEvent => {
                if let Some(task) = self.living_task().await {
                    self.task_event(functions, &task).await;
                }
                true
            }
            Step::TaskStopped | Step::TaskStoppedAgain => match self.task.clone() {
                Some(task) => self.task_event(functions, &task).await,
                None => true,
            },
            Step::Sweep => functions
                .sweep()
                .await
                .is_ok_and(|swept| swept["failed"] == 0),
        }
    }

    /// The runner says something; true if it is answered well.
    pub async fn sends(&self, functions: &Functions, what: &str, body: &Value) -> bool {
        let run = self.run_id().await;
        let reply = functions.control(&self.org.id, run.as_str(), what, TOKEN, body);
        reply.await.status == 200
    }

    async fn task_event(&self, functions: &Functions, task: &str) -> bool {
        let started_by = format!("{}/{}", self.org.id, self.run_id().await);
        functions.task_stopped(task, &started_by).await.is_ok()
    }

    fn note_answer(&mut self, of: usize, reply: &Reply) {
        if reply.status == 201 {
            let first = self.first_answers[of].get_or_insert_with(|| reply.text.clone());
            assert_eq!(
                *first, reply.text,
                "a replay is the first answer, byte for byte"
            );
        }
    }

    /// Does a step as a caller does that comes back until it is content.
    pub async fn insist(&mut self, step: Step) {
        self.prepare(step).await;
        for _ in 0..INSISTENCE {
            if self.once(step, &self.world.sound).await {
                return;
            }
        }
        panic!("{step:?} does not come to an end: {:#?}", self.dump().await);
    }

    /// What happens before the step: to the task, or with time.
    pub async fn prepare(&mut self, step: Step) {
        match step {
            Step::Claim => self.find_nonce().await,
            Step::TaskStopped => self.stop_task().await,
            Step::Sweep => self.world.cloud.clock.advance(61_000),
            _ => {}
        }
    }

    /// The task ends, as the runner's program would after its last report. ECS knows it, whatever
    /// the product has noted.
    async fn stop_task(&mut self) {
        if let Some(task) = self.living_task().await {
            self.world.stop_task(&task).await;
            self.task = Some(task);
        }
    }

    pub async fn living_task(&self) -> Option<String> {
        let run = self.run_id().await;
        self.world.task_of(&self.org.id, run.as_str())
    }

    /// Checks the rules on what the tables hold, and gives it.
    pub async fn holds(&self, when: &str) -> Dump {
        let dump = self.dump().await;
        let broken = dump.broken_rules(MAX_CONCURRENT);
        assert!(broken.is_empty(), "{when}: {broken:#?}\n{dump:#?}");
        dump
    }
}
