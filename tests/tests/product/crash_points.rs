//! Every call to AWS of every step of a run goes wrong in every way, and the rules hold.
//!
//! For each step, each of its calls and each fault there are two stories. In the first one the
//! caller comes back, as real callers do, and the run must come to its end as if nothing had
//! been. In the second one nobody ever comes back and every message is lost: time and the sweep
//! alone must bring everything to rest, with every slot returned and every hold resolved.

use awo_domain::RunId;
use awo_tests::faults::Fault;
use awo_tests::invoke::Reply;
use awo_tests::rules::Dump;
use awo_tests::world::{Functions, Org, World};
use serde_json::{Value, json};

const MAX_CONCURRENT: i64 = 5;
/// More calls than any step makes; the test finds the real number itself.
const MAX_CALLS: u32 = 40;
/// Sweeps after which everything is at rest: the ten minutes of a task's start, and then as many
/// as pass in this test's quick time while a task that was told to stop is really ending.
const MINUTES: u32 = 100;
const TOKEN: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Dispatch,
    Claim,
    Report,
    Finish,
    TaskStopped,
    Sweep,
}

const STEPS: [Step; 7] = [
    Step::Create,
    Step::Dispatch,
    Step::Claim,
    Step::Report,
    Step::Finish,
    Step::TaskStopped,
    Step::Sweep,
];

/// One run's story in one organization.
struct Story<'a> {
    world: &'a World,
    org: Org,
    first_answer: Option<String>,
    /// The task that has ended.
    task: Option<String>,
}

fn order() -> Value {
    json!({
        "taskPrompt": "mend it",
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
        "limits": { "maxCredits": 10 },
    })
}

fn events() -> Value {
    json!([
        { "number": 1, "at": "2026-11-20T08:00:00.000Z", "event": { "type": "workspaceReady", "commit": "c0", "branch": "main", "workDir": "/w" } },
        { "number": 2, "at": "2026-11-20T08:00:01.000Z", "event": { "type": "iterationStarted", "iteration": 1 } },
    ])
}

fn finish() -> Value {
    json!({
        "events": [{ "number": 3, "at": "2026-11-20T08:00:02.000Z", "event": { "type": "deliverySkipped", "reason": "test" } }],
        "outcome": { "type": "succeeded", "commit": "c1" },
        "iterations": 1,
        "usage": [{ "model": "gpt-4o", "inputTokens": 1000, "outputTokens": 100 }],
    })
}

impl Story<'_> {
    async fn dump(&self) -> Dump {
        Dump::of(&self.world.cloud, &self.org.id).await
    }

    async fn run(&self) -> Option<Value> {
        self.dump().await.runs().first().map(|run| (*run).clone())
    }

    async fn run_id(&self) -> String {
        self.run().await.expect("a run")["runId"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    async fn lease(&self) -> Option<Value> {
        self.dump()
            .await
            .leases()
            .first()
            .map(|lease| (*lease).clone())
    }

    async fn nonce(&self) -> String {
        let (run, lease) = (self.run_id().await, self.lease().await.expect("a lease"));
        format!(
            "{}.{run}.{}",
            self.org.id,
            lease["nonce"].as_str().unwrap_or("claimed")
        )
    }

    /// Does a step once. The answer is true if the caller has no reason to come back.
    async fn once(&mut self, step: Step, functions: &Functions, nonce: &str) -> bool {
        let org = self.org.id.clone();
        match step {
            Step::Create => {
                let reply = functions.create(&self.org, &order(), Some("the-key")).await;
                self.note_answer(&reply);
                reply.status == 201
            }
            Step::Dispatch => {
                let answer = functions.bell(&json!({ "orgId": org }).to_string()).await;
                answer.is_ok_and(|a| a["batchItemFailures"].as_array().is_none_or(Vec::is_empty))
            }
            Step::Claim => functions.claim(nonce, TOKEN).await.status == 200,
            Step::Report => {
                let run = self.run_id().await;
                functions
                    .control(&org, &run, "report", TOKEN, &json!({ "events": events() }))
                    .await
                    .status
                    == 200
            }
            Step::Finish => {
                let run = self.run_id().await;
                functions
                    .control(&org, &run, "finish", TOKEN, &finish())
                    .await
                    .status
                    == 200
            }
            Step::TaskStopped => {
                let Some(task) = self.task.clone() else {
                    return true;
                };
                let started_by = format!("{org}/{}", self.run_id().await);
                functions.task_stopped(&task, &started_by).await.is_ok()
            }
            Step::Sweep => functions
                .sweep()
                .await
                .is_ok_and(|swept| swept["failed"] == 0),
        }
    }

    fn note_answer(&mut self, reply: &Reply) {
        if reply.status == 201 {
            let first = self.first_answer.get_or_insert_with(|| reply.text.clone());
            assert_eq!(
                *first, reply.text,
                "a replay is the first answer, byte for byte"
            );
        }
    }

    /// Does a step as a caller does that comes back until it is content.
    async fn insist(&mut self, step: Step, nonce: &str) {
        if step == Step::TaskStopped {
            self.stop_task().await;
        }
        for _ in 0..5 {
            if self.once(step, &self.world.sound, nonce).await {
                return;
            }
        }
        panic!("{step:?} does not come to an end: {:#?}", self.dump().await);
    }

    /// The task ends, as the runner's program would after its finish. ECS knows it, whatever the
    /// product has noted.
    async fn stop_task(&mut self) {
        if let Some(task) = self.living_task().await {
            self.world.stop_task(&task).await;
            self.task = Some(task);
        }
    }

    async fn living_task(&self) -> Option<String> {
        let run = RunId::parse(&self.run_id().await).expect("an id");
        let compute = self.world.cloud.compute().expect("settings");
        let listed = compute.find_task(&self.org.id, &run).await;
        listed.expect("a list")
    }

    /// Checks the rules on what the tables hold, and gives it.
    async fn holds(&self, when: &str) -> Dump {
        let dump = self.dump().await;
        let broken = dump.broken_rules(MAX_CONCURRENT);
        assert!(broken.is_empty(), "{when}: {broken:#?}\n{dump:#?}");
        dump
    }
}

/// The steps before `step`, then `step` with the fault.
async fn begin<'a>(
    world: &'a World,
    step: Step,
    nth: u32,
    fault: Fault,
) -> (Story<'a>, String, bool) {
    let mut story = Story {
        world,
        org: world.org(1_000).await,
        first_answer: None,
        task: None,
    };
    let mut nonce = String::new();
    let before = STEPS.iter().take_while(|before| **before != step);
    for earlier in before {
        if *earlier == Step::Claim {
            nonce = story.nonce().await;
        }
        story.insist(*earlier, &nonce).await;
    }
    if step == Step::Claim {
        nonce = story.nonce().await;
    }
    if step == Step::TaskStopped {
        story.stop_task().await;
    }
    let faults = world.faults.clone();
    faults.arm(nth, fault);
    let faulty = &world.faulty;
    faults.until_crash(story.once(step, faulty, &nonce)).await;
    (story, nonce, faults.disarm())
}

/// The caller comes back, and all that follows follows.
async fn comes_back(mut story: Story<'_>, step: Step, mut nonce: String) {
    let at = STEPS.iter().position(|s| *s == step).expect("a step");
    for next in &STEPS[at..] {
        if *next == Step::Claim && nonce.is_empty() {
            // A runner is there to claim only if there is a task: a crash before `RunTask` is
            // the sweep's to mend.
            if story.living_task().await.is_none() {
                story.world.sweep_after_a_minute().await;
            }
            assert!(
                story.living_task().await.is_some(),
                "nobody asked for the task"
            );
            nonce = story.nonce().await;
        }
        story.insist(*next, &nonce).await;
        story.holds(&format!("after {next:?}")).await;
    }
    let (run, dump) = (story.run().await.expect("a run"), story.dump().await);
    assert_eq!(run["status"], "succeeded", "{dump:#?}");
    assert_eq!(
        dump.work_orders().len(),
        1,
        "one idempotency key made one work order"
    );
    assert!(
        dump.leases().is_empty() && dump.reserved() == 0,
        "after {step:?}: {dump:#?}"
    );
    assert!(
        run["cost"]["creditsMicro"]
            .as_i64()
            .is_some_and(|cost| cost > 0),
        "{run}"
    );
}

/// Nobody comes back; time passes and the sweep goes on, until everything is at rest.
async fn never_comes_back(story: Story<'_>, step: Step) {
    story.world.lose_bells().await;
    let mut dump = story.holds("right after the fault").await;
    for _ in 0..MINUTES {
        if dump.is_at_rest() {
            break;
        }
        story.world.sweep_after_a_minute().await;
        dump = story.holds("while the sweep works").await;
    }
    assert!(dump.is_at_rest(), "after {step:?}: {dump:#?}");
    let ended = |run: &&Value| run["status"] == "succeeded" || run["status"] == "failed";
    assert!(dump.runs().iter().all(ended), "{dump:#?}");
}

/// Every call of a step, with every fault, in both stories.
async fn try_all(step: Step) {
    let world = World::new().await;
    let mut points = 0;
    for fault in Fault::ALL {
        for nth in 1..=MAX_CALLS {
            let (story, nonce, fired) = begin(&world, step, nth, fault).await;
            if !fired {
                never_comes_back(story, step).await;
                break;
            }
            comes_back(story, step, nonce).await;
            let (story, _, _) = begin(&world, step, nth, fault).await;
            never_comes_back(story, step).await;
            points += 2;
        }
    }
    println!("crash points of {step:?}: {points}");
    assert!(points >= 8, "only {points} points");
    assert_eq!(
        world.living_tasks(),
        0,
        "a task of a run that is over lives on"
    );
}

#[tokio::test]
async fn whatever_call_of_a_create_goes_wrong_the_rules_hold() {
    try_all(Step::Create).await;
}

#[tokio::test]
async fn whatever_call_of_a_dispatch_goes_wrong_the_rules_hold() {
    try_all(Step::Dispatch).await;
}

#[tokio::test]
async fn whatever_call_of_a_claim_goes_wrong_the_rules_hold() {
    try_all(Step::Claim).await;
}

#[tokio::test]
async fn whatever_call_of_a_report_goes_wrong_the_rules_hold() {
    try_all(Step::Report).await;
}

#[tokio::test]
async fn whatever_call_of_a_finish_goes_wrong_the_rules_hold() {
    try_all(Step::Finish).await;
}

#[tokio::test]
async fn whatever_call_of_a_task_event_goes_wrong_the_rules_hold() {
    try_all(Step::TaskStopped).await;
}

#[tokio::test]
async fn whatever_call_of_a_sweep_goes_wrong_the_rules_hold() {
    try_all(Step::Sweep).await;
}
