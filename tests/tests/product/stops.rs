//! Runs are stopped in every phase, by a cancel and by a kill: no process of them is left, the slot
//! is returned, the hold is resolved, and the origin is unchanged.

use std::time::Duration;

use awo_domain::control::StopRequest;
use awo_domain::run::{RunErrorCode, RunStatus};
use awo_domain::stop::{Stop, StopKind};
use awo_store::work_orders::cascades::FamilyStop;
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use awo_tests::world::World;
use serde_json::{Value, json};

use crate::story::{Step, Story};

/// To get into the phase that is asked for.
const REACH: Duration = Duration::from_secs(30);
/// From a stop until nothing is left: both graces of a cancel, and some time.
const DEAD: Duration = Duration::from_secs(15);

/// Where a run is when it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    Cloning,
    Agent,
    Verifying,
    Delivering,
}

const PHASES: [Phase; 5] = [
    Phase::Waiting,
    Phase::Cloning,
    Phase::Agent,
    Phase::Verifying,
    Phase::Delivering,
];

impl Phase {
    /// A repository on which a run stays in this phase.
    fn repository(self) -> Repository {
        let test = match self {
            Phase::Verifying => "test:\n\t@sleep 600\n",
            _ => "test:\n\t@true\n",
        };
        let repository = Repository::with(&[("Makefile", test), ("a", "b\n")]);
        match self {
            Phase::Cloning => repository.hang_on_clone(),
            Phase::Delivering => repository.hang_on_push(),
            Phase::Waiting | Phase::Agent | Phase::Verifying => {}
        }
        repository
    }

    fn agent(self) -> &'static str {
        match self {
            Phase::Agent => "sleep 600",
            _ => "echo done > done.txt",
        }
    }

    fn is_reached_by(self, run: &Value) -> bool {
        let phase = run["phase"].as_str();
        match self {
            Phase::Waiting => run["status"] == "queued",
            // Claimed: from then on a kill finds a runner.
            Phase::Cloning => run["status"] == "building",
            Phase::Agent => phase == Some("agent"),
            Phase::Verifying => phase == Some("verifying"),
            Phase::Delivering => phase == Some("delivering"),
        }
    }
}

async fn in_phase(service: &TestService, phase: Phase, repository: &Repository) -> Value {
    let order = json!({
        "taskPrompt": "stop me",
        "workspaceSource": { "type": "git", "repository": repository.url() },
        "agent": { "type": "command", "command": ["sh", "-c", phase.agent()] },
    });
    let made = service.client.post("/v1/work-orders", &order).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/v1/runs/{}", made.body["runId"].as_str().unwrap());
    let reached = |run: &Value| phase.is_reached_by(run);
    service.client.until(&path, REACH, reached).await;
    if phase == Phase::Cloning {
        until_git_works_for(made.body["runId"].as_str().unwrap()).await;
    }
    made.body
}

/// Waits until a process of the run clones.
async fn until_git_works_for(run: &str) {
    let began = std::time::Instant::now();
    while processes_of(run).is_empty() {
        assert!(began.elapsed() < REACH, "nobody clones for {run}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Processes that work in the run's folders, or name them.
fn processes_of(run: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let cwd = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        if cwd.to_string_lossy().contains(run) || command.contains(run) {
            found.push(format!("{} {command}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

async fn settled(service: &TestService, run: &str) -> Value {
    let path = format!("/v1/runs/{run}");
    let over = |run: &Value| run.get("settledAt").is_some();
    service.client.until(&path, DEAD, over).await
}

async fn nothing_is_left(
    service: &TestService,
    phase: Phase,
    order: &Value,
    repository: &Repository,
) -> Value {
    let id = order["runId"].as_str().unwrap();
    let run = settled(service, id).await;
    assert!(run.get("computeStoppedAt").is_some(), "{run:#}");
    assert_eq!(processes_of(id), Vec::<String>::new());
    // A read of a repository that hangs would hang as well.
    if phase != Phase::Cloning {
        assert_eq!(repository.branches(), ["main"], "something was pushed");
    }
    run
}

async fn rules_hold(service: &TestService) {
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(10);
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(dump.is_at_rest(), "{dump:#?}");
}

/// A service, and one without slots for what is to wait.
async fn service_for(phase: Phase) -> TestService {
    let slots = if phase == Phase::Waiting { "0" } else { "10" };
    TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", slots)]).await
}

/// A clone runs no code of the client's.
fn is_paid_from_the_first_process(phase: Phase, run: &Value) {
    let is_free = matches!(phase, Phase::Waiting | Phase::Cloning);
    assert_eq!(run["cost"]["credits"] == 0, is_free, "{phase:?}: {run:#}");
}

async fn canceled_in(phase: Phase) {
    let (service, repository) = (service_for(phase).await, phase.repository());
    let order = in_phase(&service, phase, &repository).await;
    let path = format!("/api/v1/work-orders/{}", order["id"].as_str().unwrap());
    let canceled = service.client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{phase:?}: {}", canceled.text);
    let data = &canceled.body["data"];
    assert_eq!(
        data["wasRunning"],
        phase != Phase::Waiting,
        "{phase:?}: {data}"
    );
    assert_eq!(data["status"], "canceled");
    let again = service.client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(
        (again.status, &again.body["error"]["code"]),
        (409, &json!("CONFLICT"))
    );
    let run = nothing_is_left(&service, phase, &order, &repository).await;
    assert_eq!(run["status"], "canceled", "{phase:?}: {run:#}");
    is_paid_from_the_first_process(phase, &run);
    rules_hold(&service).await;
}

async fn killed_in(phase: Phase) {
    let (service, repository) = (service_for(phase).await, phase.repository());
    let order = in_phase(&service, phase, &repository).await;
    let path = format!("/api/v1/work-orders/{}/kill", order["id"].as_str().unwrap());
    let killed = service
        .client
        .post(&path, &json!({ "immediate": true, "reason": "test" }))
        .await;
    assert_eq!(killed.status, 200, "{phase:?}: {}", killed.text);
    let data = &killed.body["data"];
    assert_eq!(data["success"], true, "{phase:?}: {data}");
    let run = nothing_is_left(&service, phase, &order, &repository).await;
    assert_eq!(run["status"], data["status"], "{phase:?}: {run:#}");
    match phase {
        Phase::Waiting => assert_eq!(
            (&data["status"], &data["forcedKill"], &data["durationMs"]),
            (&json!("canceled"), &json!(false), &json!(0))
        ),
        _ => {
            assert_eq!(
                (&data["status"], &data["forcedKill"]),
                (&json!("failed"), &json!(true))
            );
            assert_eq!(run["error"]["code"], "KILLED", "{phase:?}: {run:#}");
        }
    }
    let again = service.client.post(&path, &json!({})).await;
    let data = &again.body["data"];
    assert_eq!(
        (&data["success"], &data["durationMs"]),
        (&json!(true), &json!(0)),
        "{}",
        again.text
    );
    assert_eq!(data["status"], run["status"]);
    is_paid_from_the_first_process(phase, &run);
    rules_hold(&service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_ends_right_in_every_phase() {
    for phase in PHASES {
        canceled_in(phase).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_of_a_run_stops_its_processes() {
    let phase = Phase::Agent;
    let (service, repository) = (service_for(phase).await, phase.repository());
    let order = in_phase(&service, phase, &repository).await;
    let path = format!("/v1/runs/{}/cancel", order["runId"].as_str().unwrap());
    let canceled = service.client.send("POST", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let run = nothing_is_left(&service, phase, &order, &repository).await;
    assert_eq!(run["status"], "canceled", "{run:#}");
    rules_hold(&service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_ends_right_in_every_phase() {
    for phase in PHASES {
        killed_in(phase).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_replaces_a_waiting_run_and_its_hold_and_keeps_its_place() {
    let service = service_for(Phase::Waiting).await;
    let repository = Phase::Waiting.repository();
    let first = in_phase(&service, Phase::Waiting, &repository).await;
    let second = in_phase(&service, Phase::Waiting, &repository).await;
    let reserved = service.client.get("/v1/credits").await.body["reserved"].clone();
    let path = format!("/api/v1/work-orders/{}/runs", first["id"].as_str().unwrap());
    let started = service.client.send("POST", &path, &[], Vec::new()).await;
    assert_eq!(started.status, 201, "{}", started.text);
    let data = &started.body["data"];
    assert_eq!(data["status"], "queued");
    assert!(
        data["startedAt"].is_string() && data["runId"] != first["runId"],
        "{data}"
    );
    let old = settled(&service, first["runId"].as_str().unwrap()).await;
    assert_eq!(
        (&old["status"], &old["cost"]["credits"]),
        (&json!("canceled"), &json!(0))
    );
    let credits = service.client.get("/v1/credits").await.body;
    assert_eq!(
        credits["reserved"], reserved,
        "one hold took the place of the other"
    );
    for (order, place) in [(&first, 1), (&second, 2)] {
        let path = format!("/api/v1/queue/position/{}", order["id"].as_str().unwrap());
        let position = service.client.get(&path).await;
        assert_eq!(
            position.body["data"]["position"], place,
            "{}",
            position.text
        );
    }
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    assert_eq!(dump.broken_rules(0), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_credits_do_not_cover_is_402_and_changes_nothing() {
    let service = TestService::start(1_500, &[]).await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@false\n")]);
    let order = json!({
        "taskPrompt": "fail",
        "workspaceSource": { "type": "git", "repository": repository.url() },
        "agent": { "type": "command", "command": ["false"] },
        "maxIterations": 1,
    });
    let failed = service.client.post("/v1/work-orders", &order).await.body;
    let run = service.client.finished_run(&failed).await;
    assert_eq!(run["status"], "failed", "{run:#}");
    let mut waits = order.clone();
    waits["agent"]["command"] = json!(["sleep", "600"]);
    assert_eq!(
        service.client.post("/v1/work-orders", &waits).await.status,
        201
    );
    let path = format!(
        "/api/v1/work-orders/{}/runs",
        failed["id"].as_str().unwrap()
    );
    let started = service.client.send("POST", &path, &[], Vec::new()).await;
    assert_eq!(
        (started.status, &started.body["error"]["code"]),
        (402, &json!("FORBIDDEN")),
        "{}",
        started.text
    );
    let order = format!("/v1/work-orders/{}", failed["id"].as_str().unwrap());
    let order = service.client.get(&order).await.body;
    assert_eq!(
        (&order["status"], &order["runId"]),
        (&json!("failed"), &failed["runId"])
    );
}

/// The function that killed it crashed before the wake-up, and its runner does not heed the stop request.
#[tokio::test]
async fn a_kill_that_is_not_confirmed_in_time_is_failed_and_keeps_its_slot_until_the_task_is_gone()
{
    let world = World::new().await;
    let mut story = Story::new(&world).await;
    for step in [Step::Create, Step::Dispatch, Step::Claim, Step::Report] {
        story.insist(step).await;
    }
    let (run, now) = (story.run().await, world.cloud.clock.now());
    let lease = world.store.lease(&story.org.id, &run.run_id).await;
    let lease = lease.unwrap().unwrap();
    let stop_request = StopRequest::Kill {
        grace_period_ms: 5_000,
        immediate: false,
    };
    let stop = Stop {
        kind: StopKind::Kill,
        reason: Some("test".to_owned()),
        requested_at: now,
    };
    let order = story.work_order().await;
    let stopping = FamilyStop {
        stop: &stop,
        children: Some(stop_request),
    };
    let store = &world.store;
    let requested = store.request_kill(&lease, (&order, &run), stop_request, &stopping, now);
    assert!(requested.await.unwrap());
    // Past the grace and the minute in which its death could be confirmed.
    world.cloud.clock.advance(66_000);
    world.sound.sweep().await.unwrap();
    let dump = story.holds("after the kill was given up").await;
    let run = story.run().await;
    let code = run.error.as_ref().map(|error| error.code);
    assert_eq!(
        (run.status, code),
        (RunStatus::Failed, Some(RunErrorCode::Killed))
    );
    assert!(
        run.settled_at.is_none() && dump.leases().len() == 1,
        "{dump:#?}"
    );
    story.insist(Step::TaskStopped).await;
    world.sweep_after_a_minute().await;
    let dump = story.holds("after the task was gone").await;
    assert!(dump.is_at_rest(), "{dump:#?}");
    let cost = story.run().await.cost.map(|cost| cost.credits_micro);
    assert!(
        cost.is_some_and(|cost| cost > 0),
        "it pays for what it used"
    );
}
