//! A dispatcher has less time than a batch of wake-ups can take: it ends in time, and sends wake-ups for
//! what is left. The tasks of one wake-up are requested in parallel.

use std::sync::Arc;
use std::time::Duration;

use awo_cloud::queue::WakeUp;
use awo_execution::dispatcher::{Dispatcher, FILLING};
use awo_tests::gate::gated;
use awo_tests::world::{Org, World};
use awo_workers::dispatch_runs;
use serde_json::{Value, json};

use crate::template::template;

/// Work orders of an organization, which has as many slots.
const ORDERS: usize = 6;
/// What a transaction takes at least.
const SLOW: Duration = Duration::from_millis(40);
/// As much as two transactions may begin in.
const HURRY: Duration = Duration::from_millis(60);
/// Longest wait for calls that wait for each other.
const PATIENCE: Duration = Duration::from_secs(60);

/// An organization whose work orders wait, since their wake-ups were lost.
async fn waiting(world: &World) -> Org {
    let org = world.org_without_webhooks(1_000).await;
    let slots = u32::try_from(ORDERS).ok();
    let limits = world.store.set_limits(&org.id, slots, None).await;
    limits.expect("limits");
    let body = json!({
        "taskPrompt": "fix it",
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
        "limits": { "maxCredits": 10 },
    });
    for _ in 0..ORDERS {
        let made = world.sound.create(&org, &body, None).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    world.lose_wake_ups().await;
    org
}

/// Messages of the run queue, as Lambda brings them.
fn batch(bodies: &[String]) -> Value {
    let record = |(nth, body): (usize, &String)| json!({ "messageId": nth.to_string(), "body": body, "eventSource": "aws:sqs" });
    let records: Vec<Value> = bodies.iter().enumerate().map(record).collect();
    json!({ "Records": records })
}

async fn dispatch(dispatcher: &Arc<Dispatcher>, bodies: &[String]) {
    let event = serde_json::from_value(batch(bodies)).expect("an event");
    let answer = dispatch_runs::handle(Arc::clone(dispatcher), event).await;
    let failures = answer.expect("an answer").batch_item_failures;
    assert!(failures.is_empty(), "{failures:?}");
}

/// Ends the tasks of organizations, so that none outlives its test.
async fn end_tasks(world: &World, orgs: &[&Org]) {
    for org in orgs {
        let leases = world.store.leases(&org.id, 100).await.expect("leases");
        for task in leases.items.into_iter().filter_map(|lease| lease.task_arn) {
            world.stop_task(&task).await;
        }
    }
    world.nothing_lives().await;
}

fn sorted(mut bodies: Vec<String>) -> Vec<String> {
    bodies.sort();
    bodies
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_would_outlast_its_function_ends_in_time_and_wakes_the_dispatcher_again() {
    let world = World::with_locks(&[], SLOW).await;
    let (one, other) = (waiting(&world).await, waiting(&world).await);
    let dispatcher = Arc::new(Dispatcher {
        filling: HURRY,
        ..Dispatcher::new(&world.cloud).expect("settings")
    });
    let wake_ups = [&one, &other].map(|org| {
        let wake_up = WakeUp::of(&org.id);
        serde_json::to_string(&wake_up).expect("a message")
    });
    let mut messages = wake_ups.to_vec();
    dispatch(&dispatcher, &messages).await;
    // The first organization was cut off, and the second one was not looked at.
    assert!(world.living_tasks() <= 2, "{}", world.living_tasks());
    messages = world.take_wake_ups().await;
    assert_eq!(sorted(messages.clone()), sorted(wake_ups.to_vec()));
    // They bring each other on, however often that takes, and end when nothing waits.
    let mut calls = 1;
    while !messages.is_empty() {
        dispatch(&dispatcher, &messages).await;
        messages = world.take_wake_ups().await;
        calls += 1;
        assert!(calls < 100, "the wake-ups do not end");
    }
    assert_eq!(world.living_tasks(), 2 * ORDERS);
    end_tasks(&world, &[&one, &other]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tasks_of_one_wake_up_are_requested_in_parallel() {
    let world = World::new().await;
    let org = waiting(&world).await;
    let client = gated(world.http.clone(), "RunTask", ORDERS);
    let functions = world.functions(client);
    let wake_up = serde_json::to_string(&WakeUp::of(&org.id)).expect("a message");
    let dispatched = functions.wake_up(&wake_up);
    let dispatched = tokio::time::timeout(PATIENCE, dispatched).await;
    let answer = dispatched.expect("no request waits for the answer to another one");
    assert_eq!(answer.expect("an answer")["batchItemFailures"], json!([]));
    assert_eq!(world.living_tasks(), ORDERS);
    end_tasks(&world, &[&org]).await;
}

#[test]
fn a_dispatcher_has_twice_the_time_that_a_batch_takes() {
    let properties = &template()["Resources"]["DispatchRuns"]["Properties"];
    let seconds = properties["Timeout"].as_u64().expect("a timeout");
    assert!(seconds >= 2 * FILLING.as_secs(), "{seconds} s");
}
