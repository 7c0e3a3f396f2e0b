//! The service is killed during all kinds of work, and restarted with its data: nothing is lost,
//! nothing is charged twice, no slot stays taken, and no process of an agent survives.

use std::time::{Duration, Instant};

use awo_tests::agents::{escaping, submit, until_ready};
use awo_tests::client::{Answer, Client};
use awo_tests::processes::{runner_and_supervisor, signal};
use serde_json::{Value, json};

use crate::house::{
    House, REST_LIMIT, at_rest, create, ended, is_lost, is_lost_and_paid, path_of, replays,
    succeeds_again,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_work_order_that_was_accepted_runs_though_the_service_was_killed_at_once() {
    let house = House::new("1");
    house.calm_down();
    let local = house.start();
    let order = house.order("", "0");
    let mut firsts = Vec::new();
    for key in ["a", "b", "c"] {
        firsts.push((key, create(&local.client, key, &order).await.unwrap()));
    }
    let local = house.restart(local).await;
    let began = Instant::now();
    for (key, first) in &firsts {
        assert_eq!(first.status, 201, "{}", first.text);
        replays(&local.client, key, &order, first).await;
        let run = ended(&local.client, &first.body).await;
        if run["status"] != "succeeded" {
            is_lost(&run);
            assert_eq!(*key, "a", "only one slot: the others waited");
            succeeds_again(&local.client, &first.body).await;
        }
    }
    println!("all have run {:?} after the restart", began.elapsed());
    assert_eq!(at_rest(&house, &local).await.work_orders().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_runs_are_dispatched_as_soon_as_the_service_is_back() {
    let mut house = House::new("0");
    house.calm_down();
    let local = house.start();
    // Nothing has a slot, so no end of a task will send a wake-up.
    let order = submit(&local.client, &house.order("", "0")).await;
    house.slots = "1";
    let local = house.restart(local).await;
    let began = Instant::now();
    let run = ended(&local.client, &order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    println!("has run {:?} after the restart", began.elapsed());
    at_rest(&house, &local).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_whose_agents_escape_end_with_the_service_and_can_be_started_again() {
    let house = House::new("3");
    let local = house.start();
    let order = house.order(&escaping("0.05"), "0");
    let mut orders = Vec::new();
    for _ in 0..5 {
        orders.push(submit(&local.client, &order).await);
    }
    for order in &orders[..3] {
        let run = until_ready(&local.client, order).await;
        let (runner, supervisor) = runner_and_supervisor(&run);
        if order == &orders[0] {
            // So that they do not see the service die.
            signal(runner, "-STOP");
            signal(supervisor, "-STOP");
        }
    }
    house.calm_down();
    let local = house.restart(local).await;
    let began = Instant::now();
    for lost in &orders[..3] {
        is_lost_and_paid(&ended(&local.client, lost).await);
    }
    println!(
        "lost runs are settled {:?} after the restart",
        began.elapsed()
    );
    for waiting in &orders[3..] {
        let run = ended(&local.client, waiting).await;
        assert_eq!(run["status"], "succeeded", "{run:#}");
    }
    println!(
        "waiting runs have run {:?} after the restart",
        began.elapsed()
    );
    for lost in &orders[..3] {
        succeeds_again(&local.client, lost).await;
    }
    assert_eq!(at_rest(&house, &local).await.runs().len(), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_lost_with_the_service_while_verified_pays_its_compute_and_starts_again() {
    let house = House::new("1");
    let local = house.start();
    let order = submit(&local.client, &house.order("echo > done", "0")).await;
    let run = format!("/v1/runs/{}", order["runId"].as_str().unwrap());
    let verifying = |run: &Value| run["phase"] == "verifying";
    local.client.until(&run, REST_LIMIT, verifying).await;
    house.calm_down();
    let local = house.restart(local).await;
    is_lost_and_paid(&ended(&local.client, &order).await);
    succeeds_again(&local.client, &order).await;
    at_rest(&house, &local).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canceled_run_is_settled_once_though_the_service_was_killed_after_the_answer() {
    let house = House::new("1");
    let local = house.start();
    let order = submit(&local.client, &house.order(&escaping("0.05"), "0")).await;
    until_ready(&local.client, &order).await;
    let path = format!("/api{}", path_of(&order));
    let canceled = local.client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let local = house.restart(local).await;
    let run = ended(&local.client, &order).await;
    assert_eq!(run["status"], "canceled", "{run:#}");
    assert!(run["settledAt"].is_string(), "{run:#}");
    assert!(run["cost"]["credits"].as_f64().unwrap() > 0.0, "{run:#}");
    let again = local.client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(again.status, 409, "{}", again.text);
    let entries = local.client.get("/v1/credits/usage").await.body;
    assert_eq!(
        entries["total"],
        json!(2),
        "what was given, and one deduction"
    );
    at_rest(&house, &local).await;
}

/// Draws numbers, the same for the same seed.
struct Dice(u64);

impl Dice {
    /// A seed of the environment, or of the time.
    fn new() -> Dice {
        let given = std::env::var("AWO_TEST_SEED").ok();
        let seed = given.map_or_else(
            || {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                u64::try_from(now.unwrap().as_nanos() & u128::from(u32::MAX)).unwrap()
            },
            |seed| seed.parse().expect("AWO_TEST_SEED is a number"),
        );
        println!("AWO_TEST_SEED={seed}");
        Dice(seed)
    }

    /// Below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % limit
    }
}

/// What a client knows of a work order that it asked for.
struct RequestedOrder {
    key: String,
    order: Value,
    created: Option<Answer>,
    /// True if a cancel was answered.
    canceled: bool,
}

/// Creates a work order, and cancels every fifth, as far as the service lives to answer.
async fn ask(client: Client, key: String, order: Value, cancels: bool) -> RequestedOrder {
    let created = create(&client, &key, &order).await.ok();
    let mut canceled = false;
    if let Some(created) = created.as_ref().filter(|_| cancels) {
        let path = format!("/api{}", path_of(&created.body));
        let answer = client.try_send("DELETE", &path, &[], Vec::new()).await;
        canceled = answer.is_ok_and(|answer| answer.status == 200);
    }
    RequestedOrder {
        key,
        order,
        created,
        canceled,
    }
}

const LOAD: u64 = 20;
/// A kill in each round, before this: while the load comes, while it works, while it ends.
const LATEST_KILLS_MS: [u64; 3] = [200, 1_000, 3_000];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whenever_the_service_is_killed_under_load_everything_that_was_accepted_ends_well() {
    let mut dice = Dice::new();
    let house = House::new("4");
    house.calm_down();
    let mut local = house.start();
    let mut known = 0;
    for (round, latest) in LATEST_KILLS_MS.into_iter().enumerate() {
        let began = Instant::now();
        let asking: Vec<_> = (0..LOAD)
            .map(|i| {
                let key = format!("round-{round}-{i}");
                let body = house.order("", if i % 2 == 0 { "0" } else { "0.3" });
                tokio::spawn(ask(local.client.clone(), key, body, i % 5 == 4))
            })
            .collect();
        let moment = Duration::from_millis(dice.below(latest));
        tokio::time::sleep(moment.saturating_sub(began.elapsed())).await;
        let killed_after = began.elapsed();
        local = house.restart(local).await;
        let began = Instant::now();
        let (mut accepted, mut lost) = (0, 0);
        for asked in asking {
            let asked = asked.await.unwrap();
            if let Some(first) = &asked.created {
                assert_eq!(first.status, 201, "{}", first.text);
                replays(&local.client, &asked.key, &asked.order, first).await;
                accepted += 1;
            }
            lost += u32::from(ends_well(&local.client, &asked).await);
        }
        known += LOAD;
        let dump = at_rest(&house, &local).await;
        assert_eq!(u64::try_from(dump.work_orders().len()).unwrap(), known);
        println!(
            "round {round}: killed after {killed_after:?} with {accepted} accepted; {lost} were \
             lost and started again; all over {:?} after the restart",
            began.elapsed()
        );
    }
}

/// True if its run was lost and had to be started again.
async fn ends_well(client: &Client, asked: &RequestedOrder) -> bool {
    // One that was not answered may be there or not; asking again makes it one.
    let made = create(client, &asked.key, &asked.order).await.unwrap();
    assert_eq!(made.status, 201, "{}", made.text);
    let run = ended(client, &made.body).await;
    match run["status"].as_str().unwrap() {
        "canceled" => false,
        _ if asked.canceled => panic!("the answer reported a cancel: {run:#}"),
        "succeeded" => false,
        _ => {
            is_lost(&run);
            succeeds_again(client, &made.body).await;
            true
        }
    }
}
