//! Concurrent writers of an organization's tally and balance, on a database that locks the items of
//! a transaction as the cloud's does.

use std::collections::BTreeSet;
use std::time::Duration;

use awo_tests::functions::Functions;
use awo_tests::invoke::Reply;
use awo_tests::world::{Org, World};
use futures::future::join_all;
use serde_json::json;

const RIVALS: usize = 64;
/// Functions are called in so many processes, as in the cloud.
const PROCESSES: usize = 8;

/// Work orders that are created at once.
async fn create_at_once(world: &World, org: &Org) -> Vec<Reply> {
    let mut processes: Vec<Functions> = Vec::new();
    for _ in 0..PROCESSES {
        processes.push(world.process());
    }
    let body = json!({
        "taskPrompt": "fix it",
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
        "limits": { "maxCredits": 1 },
    });
    let creates = (0..RIVALS).map(|nth| {
        let (process, body) = (&processes[nth % PROCESSES], body.clone());
        async move {
            process
                .create(org, &body, Some(&format!("rival-{nth}")))
                .await
        }
    });
    join_all(creates).await
}

/// Every rival has its work order, or nothing and the word to come again. Answers how many have.
async fn are_there_once(world: &World, org: &Org, replies: &[Reply]) -> usize {
    let mut accepted = BTreeSet::new();
    for reply in replies {
        if reply.status == 201 {
            let id = reply.body["id"].as_str().expect("an id").to_owned();
            assert!(accepted.insert(id), "each has its own: {}", reply.text);
            continue;
        }
        assert_eq!(reply.status, 429, "{}", reply.text);
        assert_eq!(
            reply.body["error"]["code"], "RATE_LIMITED",
            "{}",
            reply.text
        );
        let again = reply.headers["retry-after"][0].as_str();
        let again = again.and_then(|seconds| seconds.parse::<u32>().ok());
        assert!(again.is_some_and(|seconds| seconds > 0), "{again:?}");
    }
    let dump = world.dump(&org.id).await;
    assert_eq!(dump.broken_rules(5), Vec::<String>::new());
    let there = dump.work_orders().into_iter();
    let there: BTreeSet<String> = there
        .map(|order| order["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(there, accepted);
    accepted.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_create_of_many_rivals_is_there_once_or_not_at_all_and_none_is_our_fault() {
    let world = World::with_locks(&[], Duration::from_millis(5)).await;
    let org = world.org(10_000).await;
    let replies = create_at_once(&world, &org).await;
    assert!(world.faults.refused() > 0, "they met");
    let accepted = are_there_once(&world, &org, &replies).await;
    assert!(accepted > 0, "none of {RIVALS}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_that_does_not_get_its_turn_in_time_is_429_and_writes_nothing() {
    // Longer than there is time for all.
    let world = World::with_locks(&[], Duration::from_millis(500)).await;
    let org = world.org(10_000).await;
    let replies = create_at_once(&world, &org).await;
    let accepted = are_there_once(&world, &org, &replies).await;
    assert!(accepted > 0 && accepted < RIVALS, "{accepted} of {RIVALS}");
}
