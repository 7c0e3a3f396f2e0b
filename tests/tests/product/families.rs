//! Every call of every step of a parent and its child fails in every way, and the rules hold: as
//! `crash_points`, for a run that requests a child, waits for it and continues.

use awo_domain::{RunId, WorkOrderId};
use awo_store::runs::lifecycle::lease::Lease;
use awo_store::work_orders::{WorkOrder, WorkOrderFilter};
use awo_tests::crash_part;
use awo_tests::faults::Fault;
use awo_tests::functions::Functions;
use awo_tests::rules::Dump;
use awo_tests::world::{Org, Stage, World};
use serde_json::{Value, json};

use crate::story::MAX_CONCURRENT;

/// More calls than any step makes; the test finds the real number itself.
const MAX_CALLS: u32 = 80;
const INSISTENCE: u32 = 5;
/// Sweeps after which everything is at rest.
const MINUTES: u32 = 100;
const TOKENS: [&str; 3] = [
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddee01",
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddee02",
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddee03",
];

/// What can happen next; with a task's number, 0 and 2 are the parent's, 1 is the child's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Create,
    Dispatch,
    Claim(usize),
    Begin(usize),
    Ask,
    Wait,
    Done(usize),
    Failed(usize),
    TaskStopped(usize),
    Cancel,
}
use Step::{Ask, Begin, Cancel, Claim, Create, Dispatch, Done, Failed, TaskStopped, Wait};

/// Up to where the parent waits and its slot is free.
pub const WAITS: &[Step] = &[
    Create,
    Dispatch,
    Claim(0),
    Begin(0),
    Ask,
    Wait,
    TaskStopped(0),
    Dispatch,
    Claim(1),
    Begin(1),
];
const COMES_TOGETHER: &[Step] = &[
    Done(1),
    TaskStopped(1),
    Dispatch,
    Claim(2),
    Begin(2),
    Done(2),
    TaskStopped(2),
];
const CHILD_FAILS: &[Step] = &[Failed(1), TaskStopped(1)];
const CANCELED: &[Step] = &[Cancel, TaskStopped(1)];

pub struct Family<'a> {
    world: &'a World,
    pub org: Org,
    nonces: [String; 3],
    tasks: [Option<String>; 3],
    /// True if last reports say that nothing of the run is alive.
    reports_dead: bool,
}

impl<'a> Family<'a> {
    pub async fn new(world: &'a World) -> Family<'a> {
        let org = world.org(10_000).await;
        Family {
            world,
            org,
            nonces: [const { String::new() }; 3],
            tasks: [const { None }; 3],
            reports_dead: false,
        }
    }

    /// The parent, and its child once there is one.
    async fn orders(&self) -> Vec<WorkOrder> {
        let (filter, store) = (WorkOrderFilter::default(), &self.world.store);
        let listed = store
            .work_orders(&self.org.id, &filter, (10, 0), None)
            .await;
        let mut orders = listed.expect("a list").0.items;
        orders.reverse();
        orders
    }

    pub async fn of(&self, task: usize) -> (WorkOrderId, RunId) {
        let mut orders = self.orders().await;
        let order = orders.swap_remove(task % 2);
        (order.id, order.run_id)
    }

    pub async fn lease(&self, task: usize) -> Option<Lease> {
        let (_, run) = self.of(task).await;
        let lease = self.world.store.lease(&self.org.id, &run).await;
        lease.expect("an answer")
    }

    /// The client token of a task, whether its lease is still there or not.
    async fn token(&self, task: usize) -> String {
        let (_, run) = self.of(task).await;
        match task {
            2 => format!("{run}-resumed"),
            _ => run.to_string(),
        }
    }

    /// What happens before the step.
    async fn prepare(&mut self, step: Step) {
        match step {
            Claim(task) => {
                if let Some(secret) = self.lease(task).await.and_then(|lease| lease.nonce) {
                    let (_, run) = self.of(task).await;
                    self.nonces[task] = format!("{}.{run}.{secret}", self.org.id);
                }
            }
            TaskStopped(task) => {
                let token = self.token(task).await;
                if let Some(arn) = self.world.task_of(&self.org.id, &token) {
                    self.world.stop_task(&arn).await;
                    self.tasks[task] = Some(arn);
                }
            }
            _ => {}
        }
    }

    async fn sends(&self, by: &Functions, task: usize, what: &str, body: &Value) -> bool {
        let (_, run) = self.of(task).await;
        let reply = by.control(&self.org.id, run.as_str(), what, TOKENS[task], body);
        reply.await.status == 200
    }

    async fn finish(&self, by: &Functions, task: usize, outcome: Value) -> bool {
        let usage = json!([{
            "usage": { "model": "gpt-4o", "inputTokens": 1000, "outputTokens": 100 },
            "costUsdNano": 3_500_000,
        }]);
        let body = json!({
            "events": [], "outcome": outcome, "iterations": 1, "usage": usage,
            "nothingAlive": self.reports_dead,
        });
        self.sends(by, task, "finish", &body).await
    }

    /// Does a step once; true if the caller has no reason to come back.
    async fn once(&mut self, step: Step, by: &Functions) -> bool {
        match step {
            Create => {
                let order = json!({
                    "taskPrompt": "fix it", "limits": { "maxCredits": 10 },
                    "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
                });
                by.create(&self.org, &order, Some("the-key")).await.status == 201
            }
            Dispatch => {
                let wake_up = json!({ "orgId": self.org.id }).to_string();
                let answer = by.wake_up(&wake_up).await;
                answer.is_ok_and(|a| a["batchItemFailures"].as_array().is_none_or(Vec::is_empty))
            }
            Claim(task) => by.claim(&self.nonces[task], TOKENS[task]).await.status == 200,
            Begin(task) => {
                let at = "2026-11-20T08:00:00.000Z";
                let event = json!({ "type": "iterationStarted", "iteration": 1 });
                let events = json!([{ "number": 1, "at": at, "event": event }]);
                self.sends(by, task, "report", &json!({ "events": events }))
                    .await
            }
            Ask => {
                let part = json!({ "taskPrompt": "a part", "limits": { "maxCredits": 10 } });
                let body = json!({
                    "iteration": 1, "commit": "c1", "branch": "x", "usage": [], "children": [part],
                });
                self.sends(by, 0, "children", &body).await
            }
            Wait => {
                let commits = json!({
                    "type": "waiting", "base": "b0", "commit": "c1", "branch": "x",
                });
                self.finish(by, 0, commits).await
            }
            Done(task) => {
                let outcome = json!({ "type": "succeeded", "commit": "c2", "branch": "y" });
                self.finish(by, task, outcome).await
            }
            Failed(task) => {
                let outcome =
                    json!({ "type": "failed", "code": "AGENT_FAILED", "message": "test" });
                self.finish(by, task, outcome).await
            }
            TaskStopped(task) => {
                let Some(arn) = self.tasks[task].clone() else {
                    return true;
                };
                let started_by = format!("{}/{}", self.org.id, self.token(task).await);
                by.task_stopped(&arn, &started_by).await.is_ok()
            }
            Cancel => {
                let (id, _) = self.of(0).await;
                let status = by.cancel(&self.org, id.as_str()).await.status;
                [200, 409].contains(&status)
            }
        }
    }

    pub async fn insist(&mut self, step: Step) {
        self.prepare(step).await;
        for _ in 0..INSISTENCE {
            if self.once(step, &self.world.sound).await {
                return;
            }
        }
        panic!("{step:?} does not come to an end: {:#?}", self.dump().await);
    }

    async fn dump(&self) -> Dump {
        self.world.dump(&self.org.id).await
    }

    pub async fn holds(&self, when: &str) -> Dump {
        let dump = self.dump().await;
        let broken = dump.broken_rules(MAX_CONCURRENT);
        assert!(broken.is_empty(), "{when}: {broken:#?}\n{dump:#?}");
        dump
    }

    /// Time and the sweep alone, until everything is at rest.
    pub async fn rests(&self, when: &str) -> Dump {
        let mut dump = self.holds(when).await;
        for _ in 0..MINUTES {
            if dump.is_at_rest() {
                return dump;
            }
            self.world.sweep_after_a_minute().await;
            dump = self.holds(when).await;
        }
        panic!("{when} there is no rest: {dump:#?}");
    }
}

/// Goes through a plot with a fault in one step; false if the fault did not come to be.
async fn go(
    world: &World,
    (plot, at): (&[Step], usize),
    reports_dead: bool,
    (nth, fault): (u32, Fault),
    back: bool,
) -> bool {
    let mut family = Family::new(world).await;
    family.reports_dead = reports_dead;
    for step in &plot[..at] {
        family.insist(*step).await;
    }
    let step = plot[at];
    family.prepare(step).await;
    world.faults.arm(nth, fault);
    world
        .faults
        .clone()
        .until_crash(family.once(step, &world.faulty))
        .await;
    let fired = world.faults.disarm();
    let when = format!("{fault:?} in call {nth} of {step:?}");
    if back {
        for next in &plot[at..] {
            let has_task = match next {
                Claim(task) => family
                    .lease(*task)
                    .await
                    .is_some_and(|l| l.task_arn.is_some()),
                _ => true,
            };
            if !has_task {
                world.sweep_after_a_minute().await;
            }
            family.insist(*next).await;
            family.holds(&format!("{when}, then {next:?}")).await;
        }
    } else {
        world.lose_wake_ups().await;
    }
    let dump = family.rests(&when).await;
    let ends: Vec<&str> = dump
        .work_orders()
        .iter()
        .filter_map(|o| o["status"].as_str())
        .collect();
    if back {
        let wanted = match plot.last() {
            Some(TaskStopped(2)) => ["succeeded", "succeeded"],
            _ if plot.contains(&Cancel) => ["canceled", "canceled"],
            _ => ["failed", "failed"],
        };
        assert_eq!(ends, wanted, "{when}: {dump:#?}");
    }
    let over = |end: &&str| ["succeeded", "failed", "canceled"].contains(end);
    assert!(ends.iter().all(over), "{when}: {dump:#?}");
    world.nothing_lives().await;
    fired
}

/// Every call of the steps of a plot's end, with every fault. With `reports_dead`, slots are returned by
/// last reports, else by the events of tasks.
async fn try_all(end: &[Step], which: &[Step], reports_dead: bool) {
    let plot: Vec<Step> = WAITS.iter().chain(end).copied().collect();
    let mut stage = Stage::default();
    for step in which {
        let at = plot.iter().rposition(|s| s == step).expect("a step");
        let mut points = 0;
        for fault in Fault::ALL {
            for nth in crash_part::calls(fault, MAX_CALLS) {
                let world = stage.world().await;
                let goes = (plot.as_slice(), at);
                if !go(&world, goes, reports_dead, (nth, fault), true).await {
                    break;
                }
                points += 1;
                // To whom nobody comes back, a call that is lost is a crash.
                if matches!(fault, Fault::CrashBefore | Fault::CrashAfter) {
                    go(&world, goes, reports_dead, (nth, fault), false).await;
                    points += 1;
                }
            }
        }
        println!("crash points of {step:?}: {points}");
        assert!(points >= 2, "only {points} points of {step:?}");
    }
}

#[tokio::test]
async fn whatever_call_of_a_request_for_children_goes_wrong_the_rules_hold() {
    try_all(COMES_TOGETHER, &[Ask], false).await;
}

#[tokio::test]
async fn whatever_call_of_a_parents_leave_goes_wrong_the_rules_hold() {
    try_all(COMES_TOGETHER, &[Wait], true).await;
    try_all(COMES_TOGETHER, &[TaskStopped(0)], false).await;
}

#[tokio::test]
async fn whatever_call_of_a_childs_end_goes_wrong_its_parent_goes_on_or_fails() {
    try_all(COMES_TOGETHER, &[Done(1)], true).await;
    try_all(CHILD_FAILS, &[Failed(1)], false).await;
}

#[tokio::test]
async fn whatever_call_of_a_parents_return_goes_wrong_the_rules_hold() {
    try_all(COMES_TOGETHER, &[Dispatch, Claim(2), Done(2)], true).await;
}

#[tokio::test]
async fn whatever_call_of_a_cancel_of_a_family_goes_wrong_the_rules_hold() {
    try_all(CANCELED, &[Cancel], false).await;
}
