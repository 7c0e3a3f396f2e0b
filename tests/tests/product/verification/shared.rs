//! Manual verification where tasks share only a file system, as in the cloud: the verification's
//! task has no disk with the run's workspace.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use awo_cloud::compute::EcsError;
use awo_cloud::definitions::{Derivation, Mount};
use awo_cloud::{Cloud, Environment};
use awo_domain::{OrgId, Timestamp};
use awo_execution::launcher::Launcher;
use awo_local::ecs::Conduct;
use awo_tests::faults::{Fault, Faults};
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{refused, statuses, verified, verify};

const FILE_SYSTEM: &str = "fs-0123456789abcdef0";
const MAKEFILE: (&str, &str) = (
    "Makefile",
    "test:\n\t@test -e done && test -x tool && echo '1 passed in 0.1s'\n",
);
/// What it leaves out of its commit stays in the workspace.
const AGENT: &str = "echo x > done; echo > tool; chmod 755 tool; ln -s /etc/hostname out; \
                     echo hole > .gitignore; truncate -s 1T hole";

async fn service() -> TestService {
    TestService::start(1_000_000, &[("AWO_SHARED_FILE_SYSTEM", FILE_SYSTEM)]).await
}

/// A run that has ended, and whose task's disk has gone with it; its workspace.
async fn ended(service: &TestService, script: &str) -> PathBuf {
    let repository = Repository::with(&[MAKEFILE]);
    let mut order = awo_tests::agents::order(&repository.url(), script);
    order["maxIterations"] = json!(1);
    let made = service.client.post("/v1/work-orders", &order).await;
    let run = service.client.finished_run(&made.body).await;
    let dir = PathBuf::from(run["workDir"].as_str().unwrap());
    std::fs::remove_dir_all(dir.parent().unwrap()).unwrap();
    dir
}

fn stored(service: &TestService) -> PathBuf {
    let files = service.dir.path().join("logs/files").join(FILE_SYSTEM);
    files.join(service.org.as_str())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_is_verified_on_another_disk_as_its_run_has_left_it() {
    let service = service().await;
    let dir = ended(&service, AGENT).await;
    let mode = std::fs::metadata(stored(&service)).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o700, "agents see nothing of it");
    let result = verified(&service, &dir, &json!({})).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
    assert!(
        statuses(&result).contains(&("tests", "passed")),
        "{result:#}"
    );
    assert!(dir.join("out").is_symlink() && dir.join("done").exists());
    assert_eq!(std::fs::metadata(dir.join("hole")).unwrap().len(), 1 << 40);
    for bad in [dir.join("out"), dir.join("../../x"), dir.join("missing")] {
        refused(&verify(&service, &bad, &json!({})).await, "workDir");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_organizations_archived_workspace_does_not_exist() {
    let service = service().await;
    let dir = ended(&service, "echo x > done").await;
    let (_, other) = service.another_org(1_000).await;
    let answer = other.post(super::RUN, &json!({ "workDir": dir })).await;
    refused(&answer, "workDir");
    assert!(!dir.exists());
    let run = dir.parent().unwrap().file_name().unwrap().to_str().unwrap();
    std::fs::remove_file(stored(&service).join(format!("{run}.tar"))).unwrap();
    refused(&verify(&service, &dir, &json!({})).await, "workDir");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_has_one_task_definition_of_its_own_until_a_deployment_brings_another() {
    let service = service().await;
    let repository = Repository::with(&[MAKEFILE]);
    let order = awo_tests::agents::order(&repository.url(), "echo x > done");
    let run = async || {
        let made = service.client.post("/v1/work-orders", &order).await;
        service.client.finished_run(&made.body).await
    };
    let _: (Value, Value) = tokio::join!(run(), run());
    let compute = service.service.cloud.compute().unwrap();
    let family = format!("awo-runner-{}", service.org);
    let store = service.service.cloud.store().unwrap();
    let made = store
        .own_definition(&service.org, None)
        .await
        .unwrap()
        .unwrap();
    let made = made.origin.unwrap();
    let access_point = made.access_point.clone().unwrap();
    assert_eq!(made.file_system.as_deref(), Some(FILE_SYSTEM));
    let newest = compute.task_definition(&family).await.unwrap();
    let volume = newest.volumes()[0].efs_volume_configuration().unwrap();
    let authorization = volume.authorization_config().unwrap();
    assert_eq!(authorization.access_point_id(), Some(access_point.as_str()));
    assert_eq!(volume.transit_encryption().unwrap().as_str(), "ENABLED");
    assert_eq!(authorization.iam().unwrap().as_str(), "ENABLED");
    // Rivals may both have registered one; then nobody does any more.
    let before = newest.revision();
    run().await;
    assert_eq!(
        compute.task_definition(&family).await.unwrap().revision(),
        before
    );

    // What a deployment does; a new process sees it.
    let base = compute.task_definition("awo-runner").await.unwrap();
    let fresh = Launcher::new(&service.service.cloud).unwrap();
    let deployment = Derivation {
        family: "awo-runner",
        mount: Some(Mount {
            file_system: FILE_SYSTEM,
            access_point: &access_point,
        }),
        containers: None,
    };
    compute.register_like(base, &deployment).await.unwrap();
    fresh.launch_for(&service.org).await.unwrap();
    let again = store
        .own_definition(&service.org, None)
        .await
        .unwrap()
        .unwrap();
    let again = again.origin.unwrap();
    assert_eq!(again.access_point, made.access_point);
    assert!(made.base.ends_with("awo-runner:1") && again.base.ends_with("awo-runner:2"));
    let launch = fresh.launch_for(&service.org).await.unwrap();
    assert_eq!(launch.task_definition(), family);
    let revision = compute.task_definition(&family).await.unwrap().revision();
    assert_eq!(revision, before + 1, "made once");
}

/// Launches of a burst, by half as many processes.
const BURST: u128 = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_launches_of_a_burst_share_one_registration_of_their_family() {
    let service = service().await;
    let cloud = &service.service.cloud;
    service.service.ecs.set_conduct(Conduct {
        registers_for: Duration::from_millis(500),
        registers_every: Duration::from_millis(200),
        ..Conduct::default()
    });
    let org = OrgId::new(Timestamp::from_epoch_ms(1), 1);
    let mut launches = JoinSet::new();
    for _ in 0..BURST / 2 {
        let process = Launcher::new(cloud).unwrap();
        for launcher in [process.clone(), process] {
            let org = org.clone();
            launches.spawn(async move { launcher.launch_for(&org).await });
        }
    }
    let family = format!("awo-runner-{org}");
    for launch in launches.join_all().await {
        assert_eq!(launch.unwrap().task_definition(), family);
    }
    let newest = cloud.compute().unwrap().task_definition(&family).await;
    assert_eq!(newest.unwrap().revision(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_that_ecs_does_not_accept_now_is_a_matter_of_capacity() {
    let service = service().await;
    let launcher = Launcher::new(&service.service.cloud).unwrap();
    let [first, second] = [1, 2].map(|nth| OrgId::new(Timestamp::from_epoch_ms(1), nth));
    let hourly = Conduct {
        registers_every: Duration::from_secs(3_600),
        ..Conduct::default()
    };
    service.service.ecs.set_conduct(hourly);
    launcher.launch_for(&first).await.unwrap();
    let refused = launcher.launch_for(&second).await;
    let Err(EcsError::Busy { reason }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(reason, "Rate exceeded");
    service.service.ecs.set_conduct(Conduct::default());
    launcher.launch_for(&second).await.unwrap();
}

/// More calls than the making of a definition takes.
const MOST_CALLS: u32 = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wherever_the_making_of_a_task_definition_goes_wrong_asking_again_goes_on() {
    let service = service().await;
    let settings = service.service.settings.clone();
    let environment = Environment::new(move |name| settings.get(name).cloned());
    let faults = Faults::default();
    let faulty = Cloud::new(environment, faults.client(service.service.http.clone()));
    let sound = &service.service.cloud;
    let (compute, store) = (sound.compute().unwrap(), sound.store().unwrap());
    let points = service.dir.path().join("logs/files/access-points");
    let mut made = 0;
    for fault in Fault::ALL {
        for nth in 1..=MOST_CALLS {
            let org = OrgId::new(Timestamp::from_epoch_ms(1), made as u128 + 1);
            let launcher = Launcher::new(&faulty).unwrap();
            faults.arm(nth, fault);
            faults.until_crash(launcher.launch_for(&org)).await;
            let fired = faults.disarm();
            let launch = Launcher::new(sound).unwrap().launch_for(&org).await;
            let launch = launch.unwrap_or_else(|why| panic!("{fault:?} {nth}: {why:?}"));
            let own = store.own_definition(&org, None).await.unwrap().unwrap();
            let newest = compute.task_definition(launch.task_definition()).await;
            let newest = newest.unwrap();
            let volume = newest.volumes()[0].efs_volume_configuration().unwrap();
            let point = volume.authorization_config().unwrap().access_point_id();
            let origin = own.origin.unwrap();
            assert_eq!(point, origin.access_point.as_deref(), "{fault:?} {nth}");
            made += 1;
            assert_eq!(std::fs::read_dir(&points).unwrap().count(), made);
            if !fired {
                break;
            }
            assert!(nth < MOST_CALLS, "{fault:?} fired at every call");
        }
    }
}
