//! Runners and supervisors that were stopped with SIGSTOP, as an agent of the same user can do:
//! this is detected, waiting callers get a response, and no process is left.

use std::time::{Duration, Instant};

use awo_store::runs::lifecycle::lease::SILENCE_MS;
use awo_tests::agents::{escaping, order, submit, until_ready};
use awo_tests::processes::{Watch, runner_and_supervisor, signal};
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

/// Who has been stopped is gone as soon as somebody wants it to be, long before the 55 s after
/// which a task is given up.
const GONE_LIMIT: Duration = Duration::from_secs(20);

/// Whom the test stops.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Runner,
    Supervisor,
    Both,
}

const VICTIMS: [Victim; 3] = [Victim::Runner, Victim::Supervisor, Victim::Both];

struct Scene {
    service: TestService,
    order: Value,
    run: String,
    _repository: Repository,
}

impl Scene {
    /// An agent works, and somebody is stopped.
    async fn stopped(victim: Victim) -> Scene {
        let service = TestService::start(1_000_000, &[]).await;
        let repository = Repository::with(&[("Makefile", "test:\n\t@true\n")]);
        let body = order(&repository.url(), &escaping("0.05"));
        let order = submit(&service.client, &body).await;
        let run = until_ready(&service.client, &order).await;
        let (runner, supervisor) = runner_and_supervisor(&run);
        if victim != Victim::Supervisor {
            signal(runner, "-STOP");
        }
        if victim != Victim::Runner {
            signal(supervisor, "-STOP");
        }
        Scene {
            service,
            order,
            run,
            _repository: repository,
        }
    }

    /// The run, once its compute is gone; then nothing of it is left.
    async fn gone(&self) -> Value {
        let run = self.service.client.finished_run(&self.order).await;
        Watch::of(&self.run).until_none(GONE_LIMIT).await;
        let dump = Dump::of(&self.service.service.cloud, &self.service.org).await;
        let broken = dump.broken_rules(5);
        assert!(broken.is_empty(), "{broken:#?}");
        assert!(dump.is_at_rest(), "{dump:#?}");
        run
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_stops_reporting_is_suspected_for_three_minutes_and_charged() {
    for victim in [Victim::Runner, Victim::Both] {
        let scene = Scene::stopped(victim).await;
        let began = Instant::now();
        let cloud = &scene.service.service.cloud;
        let path = format!("/v1/runs/{}", scene.run);
        // Its task runs: for three minutes it is only suspected.
        for wait_ms in [SILENCE_MS + 1, 60_001, 60_001] {
            cloud.clock.advance(wait_ms);
            scene.service.service.sweep().await.unwrap();
            let run = scene.service.client.get(&path).await.body;
            assert_eq!(run["status"], "running", "{run:#}");
        }
        cloud.clock.advance(60_001);
        scene.service.service.sweep().await.unwrap();
        let run = scene.service.client.get(&path).await.body;
        assert_eq!(run["error"]["code"], "RUNNER_FAILED", "{run:#}");
        let run = scene.gone().await;
        assert!(run["cost"]["credits"].as_f64().unwrap() > 0.0, "{run:#}");
        println!(
            "{victim:?} stopped: gone {:?} after the sweep",
            began.elapsed()
        );
        assert!(began.elapsed() < GONE_LIMIT, "{:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_whose_supervisor_was_stopped_works_on() {
    let scene = Scene::stopped(Victim::Supervisor).await;
    scene.service.service.cloud.clock.advance(SILENCE_MS / 2);
    scene.service.service.sweep().await.unwrap();
    let run = format!("/v1/runs/{}", scene.run);
    let run = scene.service.client.get(&run).await.body;
    assert_eq!(run["status"], "running", "{run:#}");
    scene.service.service.stop().await;
    Watch::of(&scene.run).until_none(GONE_LIMIT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_reaches_a_run_whose_agent_has_stopped_its_runner() {
    for victim in VICTIMS {
        let scene = Scene::stopped(victim).await;
        let began = Instant::now();
        let id = scene.order["id"].as_str().unwrap();
        let path = format!("/api/v1/work-orders/{id}/kill");
        let body = json!({ "immediate": true });
        let killed = scene.service.client.post(&path, &body).await;
        let killed = &killed.body["data"];
        assert_eq!(killed["success"], true, "{killed}");
        assert_eq!(killed["status"], "failed", "{killed}");
        assert_eq!(killed["forcedKill"], true, "{killed}");
        println!("{victim:?} stopped: killed after {:?}", began.elapsed());
        let run = scene.gone().await;
        assert_eq!(run["error"]["code"], "KILLED", "{run:#}");
        assert!(began.elapsed() < GONE_LIMIT, "{:?}", began.elapsed());
    }
}
