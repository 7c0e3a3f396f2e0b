//! The ends of manual verifications: by their deadline, by the end of their task, by the sweep; and
//! their limit of two at once.

use std::path::Path;
use std::time::{Duration, Instant};

use awo_domain::VerificationId;
use awo_domain::manual::{Request, run_named_by};
use awo_domain::money::MicroCredits;
use awo_store::capacity::permits::MaxTasks;
use awo_store::runs::verifications::Verification;
use awo_store::runs::verified_run::VerifiedRun;
use awo_tests::processes::{Watch, runner_and_supervisor, signal};
use awo_tests::service::TestService;
use serde_json::json;

use super::{RUN, statuses, verify, workspace, workspace_of};
use crate::http_api::quiet_service;

const SOON: Duration = Duration::from_secs(20);
/// A plan that says when it is at work, and goes on for ever.
const AT_WORK: &str = "tests: [{run: 'touch started; sleep 4321'}]\n";

/// Waits until a command has made a file.
pub(super) async fn until_at_work(file: &Path) {
    let began = Instant::now();
    while !file.exists() {
        assert!(began.elapsed() < SOON, "{} is not there", file.display());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The run of a workspace.
async fn verified_run(service: &TestService, dir: &Path) -> VerifiedRun {
    let store = service.service.cloud.store().unwrap();
    let run = run_named_by(&service.org, dir.to_str().unwrap()).unwrap();
    let run = store.run(&service.org, &run).await.unwrap().unwrap();
    let order = store.work_order(&service.org, &run.work_order_id).await;
    VerifiedRun::of(&run, &order.unwrap().unwrap())
}

/// Both places are free.
async fn are_free(service: &TestService) -> bool {
    let empty = workspace(service, &[("a", ""), ("b", ""), ("c", "")]).await;
    let nothing = json!({});
    let both = tokio::join!(
        verify(service, &empty, &nothing),
        verify(service, &empty, &nothing)
    );
    [both.0, both.1].iter().all(|answer| answer.status == 200)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verification_ends_by_its_time_with_what_it_has_found_until_then() {
    let service = quiet_service().await;
    let plan = "contracts: {commands: [{name: quick, run: 'true'}]}\n\
                tests: [{name: endless, run: 'setsid sleep 4321 & sleep 4321'}, {name: late, run: 'true'}]\n";
    let dir = workspace(&service, &[("verify.yaml", plan)]).await;
    let began = Instant::now();
    let answer = verify(&service, &dir, &json!({ "timeoutMs": 6_000 })).await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(answer.status, 200);
    assert!(
        answer.text.starts_with('\n'),
        "it was late: {}",
        answer.text
    );
    let result = &answer.body["data"];
    assert_eq!(result["overallStatus"], "error", "{result:#}");
    let wanted = [
        ("contracts", "passed"),
        ("tests", "error"),
        ("blackbox", "skipped"),
        ("sanity", "skipped"),
    ];
    assert_eq!(statuses(result), wanted);
    let checks = &result["results"][1]["checks"];
    assert!(
        checks[0]["message"].as_str().unwrap().contains("6000 ms"),
        "{checks:#}"
    );
    assert_eq!(checks[1]["status"], "error", "{checks:#}");
    let left = Watch::of(&format!(
        "{}/ver_",
        dir.ancestors().nth(2).unwrap().display()
    ));
    left.until_none(SOON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_and_a_killed_task_is_reported_and_gives_its_place_back() {
    let service = quiet_service().await;
    let plan = ("verify.yaml", AT_WORK);
    let first = workspace(&service, &[plan]).await;
    let second = workspace(&service, &[plan, ("a", "")]).await;
    let long = json!({ "timeoutMs": 600_000 });
    let killed = async {
        let began = Instant::now();
        let answers = tokio::join!(
            verify(&service, &first, &long),
            verify(&service, &second, &long)
        );
        (began.elapsed(), answers.0, answers.1)
    };
    let meanwhile = async {
        for dir in [&first, &second] {
            until_at_work(&dir.join("started")).await;
        }
        let third = verify(&service, &second, &json!({})).await;
        let got = (third.status, third.body["error"]["code"].as_str());
        assert_eq!(got, (429, Some("RATE_LIMITED")), "{}", third.text);
        assert!(third.header("retry-after").parse::<u32>().unwrap() > 0);
        let (other, stranger) = service.another_org(2).await;
        let theirs = workspace_of(&service, (&other, &stranger), &[("README.md", "")]).await;
        let free = stranger.post(RUN, &json!({ "workDir": theirs })).await;
        assert_eq!(free.status, 200, "{}", free.text);
        for dir in [&first, &second] {
            let (runner, _) = runner_and_supervisor(dir.to_str().unwrap());
            signal(runner, "-9");
        }
    };
    let ((took, first, second), ()) = tokio::join!(killed, meanwhile);
    assert!(took < SOON, "{took:?}");
    for answer in [first, second] {
        assert_eq!(
            answer.body["error"]["code"], "INTERNAL_ERROR",
            "{}",
            answer.text
        );
        assert_eq!(answer.body["success"], false);
    }
    assert!(are_free(&service).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_ends_is_ended_by_the_sweep_and_gives_its_place_back() {
    let service = quiet_service().await;
    let cloud = &service.service.cloud;
    let dir = workspace(&service, &[("verify.yaml", AT_WORK)]).await;
    let started = dir.join("started");
    // A function that took a place and died before it asked for a task.
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let request: Request = serde_json::from_value(json!({
        "workDir": dir, "levels": [], "pluginIds": [], "timeoutMs": 1_000,
    }))
    .unwrap();
    let id = VerificationId::new(now, cloud.mint.random(now));
    let verified = verified_run(&service, &dir).await;
    let subject = (request, verified);
    let forgotten = Verification::new(&service.org, &id, subject, cloud.mint.secret(), now);
    let forgotten = forgotten.holding(MicroCredits::from_credits(1));
    let forgotten = store
        .begin_verification(forgotten, MaxTasks::new(100).unwrap(), now)
        .await
        .unwrap();
    let long = json!({ "timeoutMs": 60_000 });
    let alive = verify(&service, &dir, &long);
    let swept = async {
        until_at_work(&started).await;
        let full = verify(&service, &dir, &json!({})).await;
        assert_eq!(full.status, 429, "{}", full.text);
        service.service.sweep().await.unwrap();
        assert!(
            store.as_it_stands(&forgotten).await.unwrap().is_some(),
            "it is fresh"
        );
        cloud.clock.advance(61_000);
        service.service.sweep().await.unwrap();
        assert!(store.as_it_stands(&forgotten).await.unwrap().is_none());
        let at_work = Watch::of(dir.to_str().unwrap());
        assert!(!at_work.alive().is_empty(), "one that has time goes on");
        // Past all that the other one may take, with its task still at work.
        cloud.clock.advance(600_000);
        service.service.sweep().await.unwrap();
        at_work.until_none(SOON).await;
    };
    let (answer, ()) = tokio::join!(alive, swept);
    let code = answer.body["error"]["code"].as_str();
    assert_eq!(code, Some("INTERNAL_ERROR"), "{}", answer.text);
    assert!(are_free(&service).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_leaves_a_verification_that_ends_by_its_own_time() {
    let service = quiet_service().await;
    let dir = workspace(&service, &[("verify.yaml", AT_WORK)]).await;
    let started = dir.join("started");
    let body = json!({ "workDir": dir, "timeoutMs": 2_000 });
    let client = service.client.clone();
    let request = tokio::spawn(async move { client.post(RUN, &body).await });
    until_at_work(&started).await;
    request.abort();
    Watch::of(dir.to_str().unwrap()).until_none(SOON).await;
    let began = Instant::now();
    while !are_free(&service).await {
        assert!(began.elapsed() < SOON, "its place stays taken");
    }
}
