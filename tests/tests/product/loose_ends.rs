//! The next call repairs what an interrupted one left undone.

use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{RunId, WorkOrderId};
use awo_store::work_orders::WorkOrder;
use awo_tests::faults::Fault;
use awo_tests::functions::Functions;
use awo_tests::invoke::Reply;
use awo_tests::world::{Org, World};
use serde_json::{Value, json};

/// More calls than any step makes.
const MAX_CALLS: u32 = 40;
const TOKENS: [&str; 2] = [
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddee01",
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddee02",
];
/// What is held for each work order.
const HOLD: i64 = 10;

struct Scene {
    world: World,
    org: Org,
}

impl Scene {
    async fn new(credits: i64) -> Scene {
        let world = World::new().await;
        let org = world.org(credits).await;
        Scene { world, org }
    }

    async fn create(&self) -> WorkOrderId {
        let order = json!({
            "taskPrompt": "fix it", "limits": { "maxCredits": HOLD },
            "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
        });
        let made = self.world.sound.create(&self.org, &order, None).await;
        assert_eq!(made.status, 201, "{}", made.text);
        WorkOrderId::parse(made.body["id"].as_str().unwrap()).unwrap()
    }

    async fn order(&self, id: &WorkOrderId) -> WorkOrder {
        let order = self.world.store.work_order(&self.org.id, id).await;
        order.unwrap().unwrap()
    }

    async fn run(&self, id: &WorkOrderId) -> RunId {
        self.order(id).await.run_id
    }

    async fn orders(&self) -> usize {
        self.world.dump(&self.org.id).await.work_orders().len()
    }

    async fn waiting(&self) -> usize {
        let queue = self.world.store.queue(&self.org.id).await.unwrap();
        queue.entries.len()
    }

    async fn slots(&self, most: u32) {
        let limited = self.world.store.set_limits(&self.org.id, Some(most), None);
        limited.await.unwrap();
    }

    async fn queue_of(&self, most: u32) {
        let limited = self.world.store.set_limits(&self.org.id, None, Some(most));
        limited.await.unwrap();
    }

    fn wake_up(&self) -> String {
        json!({ "orgId": self.org.id }).to_string()
    }

    async fn dispatch(&self) {
        self.world.sound.wake_up(&self.wake_up()).await.unwrap();
    }

    async fn sends(&self, by: &Functions, run: &RunId, token: &str, say: (&str, Value)) -> Reply {
        by.control(&self.org.id, run.as_str(), say.0, token, &say.1)
            .await
    }

    /// Its runner comes and begins.
    async fn begins(&self, id: &WorkOrderId, token: &str) {
        let (run, sound) = (self.run(id).await, &self.world.sound);
        let lease = self.world.store.lease(&self.org.id, &run).await;
        let secret = lease.unwrap().unwrap().nonce.unwrap();
        let nonce = format!("{}.{run}.{secret}", self.org.id);
        assert_eq!(sound.claim(&nonce, token).await.status, 200);
        let event = json!({
            "number": 1, "at": "2026-11-20T08:00:00.000Z",
            "event": { "type": "iterationStarted", "iteration": 1 },
        });
        let report = ("report", json!({ "events": [event] }));
        let begun = self.sends(sound, &run, token, report).await;
        assert_eq!(begun.status, 200, "{}", begun.text);
    }

    /// A parent whose agent has begun.
    async fn parent(&self) -> WorkOrderId {
        let id = self.create().await;
        self.dispatch().await;
        self.begins(&id, TOKENS[0]).await;
        id
    }

    async fn asks(&self, by: &Functions, parent: &WorkOrderId, children: usize) -> Reply {
        let part = json!({ "taskPrompt": "a part", "limits": { "maxCredits": HOLD } });
        let body = json!({
            "iteration": 1, "commit": "c1", "branch": "x", "usage": [], "children": vec![part; children],
        });
        let run = self.run(parent).await;
        self.sends(by, &run, TOKENS[0], ("children", body)).await
    }

    async fn finishes(&self, by: &Functions, id: &WorkOrderId, token: &str, outcome: Value) {
        let body = json!({ "events": [], "outcome": outcome, "iterations": 1, "usage": [] });
        let run = self.run(id).await;
        self.sends(by, &run, token, ("finish", body)).await;
    }

    /// Its runner goes, and its task with it.
    async fn leaves(&self, id: &WorkOrderId) {
        let outcome = json!({ "type": "waiting", "base": "b0", "commit": "c1", "branch": "x" });
        let (world, run) = (&self.world, self.run(id).await);
        self.finishes(&world.sound, id, TOKENS[0], outcome).await;
        let task = world.task_of(&self.org.id, run.as_str()).unwrap();
        world.stop_task(&task).await;
        let started_by = format!("{}/{run}", self.org.id);
        let reported = world.sound.task_stopped(&task, &started_by).await;
        reported.unwrap();
    }
}

#[tokio::test]
async fn a_cancel_that_comes_too_late_for_a_child_lets_its_parent_go_on() {
    let scene = Scene::new(1_000).await;
    let (world, parent) = (&scene.world, scene.parent().await);
    let opened = scene.asks(&world.sound, &parent, 1).await;
    let child = opened.body["opened"][0].as_str();
    let child = WorkOrderId::parse(child.unwrap()).unwrap();
    scene.leaves(&parent).await;
    scene.dispatch().await;
    scene.begins(&child, TOKENS[1]).await;
    // The function that records its end is gone before it examines the parent.
    for nth in 1..=MAX_CALLS {
        let outcome = json!({ "type": "succeeded", "commit": "c2", "branch": "y" });
        let end = scene.finishes(&world.faulty, &child, TOKENS[1], outcome);
        world.faults.arm(nth, Fault::CrashAfter);
        world.faults.clone().until_crash(end).await;
        world.faults.disarm();
        if scene.order(&child).await.status == WorkOrderStatus::Succeeded {
            break;
        }
    }
    let status = scene.order(&parent).await.status;
    assert_eq!(status, WorkOrderStatus::WaitingForChildren);
    assert_eq!(scene.waiting().await, 0);
    let late = world.sound.cancel(&scene.org, child.as_str()).await;
    assert_eq!(late.status, 409, "{}", late.text);
    assert_eq!(scene.waiting().await, 1, "the parent");
}

#[tokio::test]
async fn children_that_have_slots_before_they_are_taken_back_are_stopped() {
    let scene = Scene::new(1_000).await;
    let (world, parent) = (&scene.world, scene.parent().await);
    scene.queue_of(2).await;
    for nth in 1..=MAX_CALLS {
        world.faults.arm(nth, Fault::CrashAfter);
        let asking = scene.asks(&world.faulty, &parent, 3);
        world.faults.clone().until_crash(asking).await;
        world.faults.disarm();
        if scene.orders().await == 3 {
            break;
        }
    }
    // One has a task; the dispatcher of the other is gone before it asks for one.
    scene.slots(2).await;
    scene.dispatch().await;
    scene.slots(3).await;
    for nth in 1..=MAX_CALLS {
        world.faults.arm(nth, Fault::CrashBefore);
        let wake_up = scene.wake_up();
        let dispatching = world.faulty.wake_up(&wake_up);
        world.faults.clone().until_crash(dispatching).await;
        let seen = world.faults.seen();
        world.faults.disarm();
        if seen.last().is_some_and(|call| call.ends_with("RunTask")) {
            break;
        }
    }
    let leases = world.store.leases(&scene.org.id, 10).await.unwrap().items;
    let children = leases.iter().filter(|lease| lease.work_order_id != parent);
    let tasks: Vec<Option<String>> = children.map(|lease| lease.task_arn.clone()).collect();
    let known: Vec<&String> = tasks.iter().flatten().collect();
    assert_eq!((tasks.len(), known.len()), (2, 1), "{tasks:?}");

    // There is no place for the third.
    scene.queue_of(0).await;
    let answer = scene.asks(&world.sound, &parent, 3).await;
    assert_eq!(answer.body["opened"], json!([]), "{}", answer.text);
    world.task_ends(known[0]).await;
    let dump = world.dump(&scene.org.id).await;
    let canceled = |order: &&&Value| order["status"] == "canceled";
    assert_eq!(dump.work_orders().iter().filter(canceled).count(), 2);
    let broken = dump.broken_rules(3);
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test]
async fn a_dispatcher_that_has_given_many_slots_rings_for_the_rest() {
    /// One more than a wake-up is for.
    const ORDERS: usize = 26;
    let scene = Scene::new(1_000).await;
    for _ in 0..ORDERS {
        scene.create().await;
    }
    scene.world.lose_wake_ups().await;
    scene.slots(30).await;
    scene.dispatch().await;
    assert_eq!(scene.waiting().await, 1);
    let sound = &scene.world.sound;
    scene.world.deliver_wake_ups(sound).await;
    assert_eq!(scene.waiting().await, 0);
}
