//! Every call of every step of a manual verification fails in every way, and its caller never comes back:
//! the sweep alone settles its hold, once, and returns its permits.

use awo_domain::ledger::{Rates, settle};
use awo_domain::manual::{Request, VerificationReport};
use awo_domain::money::{MicroCredits, NanoUsd};
use awo_domain::verification::{CombinedResult, Status};
use awo_domain::{RunId, TransactionId, VerificationId, WorkOrderId};
use awo_store::Store;
use awo_store::capacity::permits::MaxTasks;
use awo_store::runs::lifecycle::settle::Charge;
use awo_store::runs::verifications::Verification;
use awo_tests::crash_part;
use awo_tests::faults::Fault;
use awo_tests::rules::Dump;
use awo_tests::world::{Org, Stage, World};
use serde_json::json;

/// More calls than any step makes.
const MAX_CALLS: u32 = 40;
/// Sweeps after which everything is at rest.
const MINUTES: u32 = 20;
/// Time from the first command to the result.
const TOOK_MS: i64 = 30_000;
const TOKEN_HASH: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const NONCE: &str = "secret";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Begin,
    Claim,
    Begun,
    Finished,
    End,
}

const STEPS: [Step; 5] = [
    Step::Begin,
    Step::Claim,
    Step::Begun,
    Step::Finished,
    Step::End,
];

/// A verification that holds a credit.
struct Scene<'a> {
    world: &'a World,
    org: Org,
    new: Verification,
}

impl<'a> Scene<'a> {
    async fn new(world: &'a World) -> Scene<'a> {
        let org = world.org(10).await;
        let now = world.cloud.clock.now();
        let id = VerificationId::new(now, world.cloud.mint.random(now));
        let request: Request = serde_json::from_value(json!({
            "workDir": "/w", "levels": [], "pluginIds": [], "timeoutMs": 60_000,
        }))
        .unwrap();
        let run = json!({ "runId": RunId::new(now, 1), "workOrderId": WorkOrderId::new(now, 1) });
        let subject = (request, serde_json::from_value(run).unwrap());
        let new = Verification::new(&org.id, &id, subject, NONCE.to_owned(), now);
        let new = new.holding(MicroCredits::from_credits(1));
        Scene { world, org, new }
    }

    /// The verification as it is, if it is under way.
    async fn found(&self) -> Option<Verification> {
        let id = &self.new.verification_id;
        let found = self.world.store.verification(&self.org.id, id).await;
        found.expect("an answer")
    }

    async fn once(&self, step: Step, store: &Store) {
        let now = self.world.cloud.clock.now();
        let stored = self.found().await;
        let (Some(stored), true) = (&stored, step != Step::Begin) else {
            let max = MaxTasks::new(100).unwrap();
            drop(store.begin_verification(self.new.clone(), max, now).await);
            return;
        };
        let report = |report| store.keep_verification(stored, TOKEN_HASH, report, now);
        match step {
            Step::Begin => {}
            Step::Claim => {
                drop(store.claim_verification(stored, NONCE, TOKEN_HASH).await);
            }
            Step::Begun => drop(report(VerificationReport::Begun {}).await),
            Step::Finished => {
                let result = CombinedResult {
                    overall_status: Status::Passed,
                    results: Vec::new(),
                    summary: String::new(),
                    duration_ms: 1,
                };
                drop(report(VerificationReport::Finished { result }).await);
            }
            Step::End => drop(
                store
                    .end_verification(stored, &charge(self.world, stored), now)
                    .await,
            ),
        }
    }

    async fn holds(&self, when: &str) -> Dump {
        let dump = self.world.dump(&self.org.id).await;
        let broken = dump.broken_rules(5);
        assert!(broken.is_empty(), "{when}: {broken:#?}");
        dump
    }

    /// Time passes, and the sweep goes on; what was deducted in the end.
    async fn never_comes_back(&self, step: Step) -> i64 {
        let mut dump = self.holds("right after the fault").await;
        for _ in 0..MINUTES {
            if dump.is_at_rest() {
                break;
            }
            self.world.sweep_after_a_minute().await;
            dump = self.holds("while the sweep works").await;
        }
        assert!(dump.is_at_rest(), "after {step:?}: {dump:#?}");
        let entries = dump.partition("#entry").into_iter();
        let deductions = entries.filter(|entry| entry["type"] == "deduction");
        deductions
            .filter_map(|entry| entry["amountMicro"].as_i64())
            .sum()
    }
}

fn charge(world: &World, of: &Verification) -> Charge {
    let now = world.cloud.clock.now();
    let compute_ms = of.compute_ms(now);
    Charge {
        cost: Rates::default().parts(NanoUsd::ZERO, compute_ms),
        compute_ms,
        is_free: of.executed_at.is_none(),
        transaction_id: TransactionId::new(now, world.cloud.mint.random(now)),
    }
}

/// The steps before this one, then this one with a fault. True if there was one.
async fn go_wrong(scene: &Scene<'_>, step: Step, nth: u32, fault: Fault) -> bool {
    let world = scene.world;
    let at = STEPS.iter().position(|one| *one == step).unwrap();
    for earlier in &STEPS[..at] {
        scene.once(*earlier, &world.store).await;
        if *earlier == Step::Begun {
            world.cloud.clock.advance(TOOK_MS);
        }
    }
    let faulty = world.faulty_store();
    world.faults.arm(nth, fault);
    world.faults.until_crash(scene.once(step, &faulty)).await;
    world.faults.disarm()
}

async fn try_all(step: Step) {
    let hold = MicroCredits::from_credits(1);
    let cost = Rates::default().cost(NanoUsd::ZERO, TOOK_MS);
    // The world's time goes on beside what the test adds.
    let whole = settle(hold, cost).deduction.micro();
    let mut stage = Stage::default();
    let mut points = 0;
    for fault in Fault::ALL {
        for nth in crash_part::calls(fault, MAX_CALLS) {
            let world = stage.world().await;
            let scene = Scene::new(&world).await;
            let fired = go_wrong(&scene, step, nth, fault).await;
            let paid = scene.never_comes_back(step).await;
            // Without a result the task is lost, which is the platform's; with one, it is paid whole.
            let is_sure = step == Step::End || (step == Step::Finished && !fired);
            let is_whole = (whole..hold.micro()).contains(&paid);
            assert!(is_whole || (paid == 0 && !is_sure), "{step:?}: {paid}");
            if !fired {
                break;
            }
            points += 1;
        }
    }
    println!("crash points of {step:?}: {points}");
}

#[tokio::test]
async fn a_verification_whose_begin_crashes_is_released_by_the_sweep() {
    try_all(Step::Begin).await;
}

#[tokio::test]
async fn a_verification_whose_claim_or_report_crashes_is_settled_once() {
    for step in [Step::Claim, Step::Begun, Step::Finished] {
        try_all(step).await;
    }
}

#[tokio::test]
async fn a_verification_whose_end_crashes_is_settled_once() {
    try_all(Step::End).await;
}
