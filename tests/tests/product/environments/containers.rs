//! Images and services, in the shape of the cloud: tasks have definitions of their own. No container runs
//! here: the runner is a process, and a test listens where a service would.

mod ends;

use std::net::{Ipv4Addr, TcpListener};

use awo_cloud::compute::Compute;
use awo_domain::environment::{Containers, EnvironmentContent};
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use aws_sdk_ecs::types::{ContainerDefinition, TaskDefinition};
use serde_json::{Value, json};

use super::{make, wrong};

const FILE_SYSTEM: &str = "fs-0123456789abcdef0";
const IMAGES: &str = "registry.example/awo/,ghcr.io/acme/";

pub async fn cloud() -> TestService {
    let settings = [
        ("AWO_SHARED_FILE_SYSTEM", FILE_SYSTEM),
        ("AWO_ENVIRONMENT_IMAGES", IMAGES),
    ];
    TestService::start(1_000_000, &settings).await
}

pub fn image(name: &str) -> String {
    format!("registry.example/awo/{name}@sha256:{}", "0".repeat(64))
}

fn with_database(name: &str, port: u16) -> Value {
    json!({
        "name": name,
        "variables": { "DATABASE_PORT": port.to_string() },
        "size": "large",
        "services": [{
            "name": "db", "image": "postgres:17", "port": port,
            "variables": { "POSTGRES_PASSWORD": "test", "POSTGRES_DB": "app" },
            "ready": "pg_isready -U postgres",
        }],
    })
}

/// A project whose test talks to its database.
fn project() -> Repository {
    let makefile = "test:\n\t@test -e done && bash -c 'exec 3<>/dev/tcp/127.0.0.1/'\"$$DATABASE_PORT\" && echo '1 passed in 0.1s'\n";
    Repository::with(&[("Makefile", makefile)])
}

fn order(repository: &Repository, environment: &str) -> Value {
    let mut order = awo_tests::agents::order(&repository.url(), "echo x > done");
    order["environment"] = json!(environment);
    order["maxIterations"] = json!(1);
    order
}

async fn ran(service: &TestService, repository: &Repository, environment: &str) -> Value {
    let order = order(repository, environment);
    let made = service.client.post("/v1/work-orders", &order).await;
    assert_eq!(made.status, 201, "{}", made.text);
    service.client.finished_run(&made.body).await
}

/// The family of the tasks of an environment with this body.
pub fn family(service: &TestService, environment: &Value) -> String {
    let mut body = environment.clone();
    body.as_object_mut().unwrap().remove("name");
    let content: EnvironmentContent = serde_json::from_value(body).unwrap();
    let id = Containers::of(&content).unwrap().id();
    format!("awo-runner-{}-{id}", service.org)
}

fn compute(service: &TestService) -> Compute {
    service.service.cloud.compute().unwrap()
}

/// The definition that the task of a run was started from.
pub async fn definition_of(service: &TestService, run: &Value) -> TaskDefinition {
    let started_by = format!("{}/{}", service.org, run["runId"].as_str().unwrap());
    let task = service.service.ecs.described(&started_by).unwrap();
    let arn = task["taskDefinitionArn"].as_str().unwrap();
    compute(service).task_definition(arn).await.unwrap()
}

fn variables(container: &ContainerDefinition) -> Vec<(&str, &str)> {
    let variables = container.environment().iter();
    variables
        .map(|one| (one.name().unwrap(), one.value().unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_that_needs_a_database_is_worked_on_in_a_task_that_has_it() {
    let service = cloud().await;
    let database = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = database.local_addr().unwrap().port();
    let environment = with_database("pg", port);
    make(&service.client, &environment).await;
    let run = ran(&service, &project(), "pg").await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(run["verified"], true, "{run:#}");

    let made = definition_of(&service, &run).await;
    assert_eq!(made.family(), Some(&*family(&service, &environment)));
    assert_eq!((made.cpu(), made.memory()), (Some("2048"), Some("8192")));
    let base = compute(&service).task_definition("awo-runner").await;
    let base = base.unwrap();
    assert_eq!(made.execution_role_arn(), base.execution_role_arn());
    assert_eq!(made.network_mode(), base.network_mode());
    // What a service could use as well: the role, and what may be mounted with it.
    assert!(base.task_role_arn().is_some() && made.task_role_arn().is_none());
    let volumes = made.volumes().iter();
    assert!(
        volumes
            .clone()
            .all(|one| one.efs_volume_configuration().is_none())
    );

    let [runner, db] = made.container_definitions() else {
        panic!("{made:#?}")
    };
    let known = &base.container_definitions()[0];
    waits_for_the_database(runner, known);
    is_the_database(db, known, port);

    // The audit says what ran, and the environment is shown as it was made.
    let id = run["runId"].as_str().unwrap();
    let audit = service
        .client
        .get(&format!("/api/v1/audit/runs/{id}"))
        .await;
    let recorded = &audit.body["data"]["environment"];
    assert_eq!(recorded["services"], json!({ "db": "postgres:17" }));
    let shown = service.client.get("/v1/environments/pg").await.body;
    assert_eq!(shown["services"], environment["services"]);
}

/// The runner's container, beside the one of the deployment's own definition.
fn waits_for_the_database(runner: &ContainerDefinition, known: &ContainerDefinition) {
    assert_eq!(
        (runner.name(), runner.image()),
        (Some("runner"), known.image())
    );
    assert_eq!(runner.essential(), Some(true));
    assert_eq!(runner.entry_point(), known.entry_point());
    assert_eq!(runner.mount_points(), known.mount_points());
    assert!(
        variables(known)
            .iter()
            .any(|(name, _)| *name == "AWO_SHARED_ROOT")
    );
    assert!(
        variables(runner)
            .iter()
            .all(|(name, _)| *name != "AWO_SHARED_ROOT")
    );
    let [waits] = runner.depends_on() else {
        panic!("{runner:#?}")
    };
    assert_eq!(
        (waits.container_name(), waits.condition().as_str()),
        ("service-db", "HEALTHY")
    );
}

fn is_the_database(db: &ContainerDefinition, known: &ContainerDefinition, port: u16) {
    assert_eq!(
        (db.name(), db.image()),
        (Some("service-db"), Some("postgres:17"))
    );
    assert_eq!((db.essential(), db.memory()), (Some(false), Some(4_096)));
    let wanted = [("POSTGRES_DB", "app"), ("POSTGRES_PASSWORD", "test")];
    assert_eq!(variables(db), wanted);
    let ports = db.port_mappings().iter();
    let ports: Vec<_> = ports.map(|one| one.container_port()).collect();
    assert_eq!(ports, [Some(i32::from(port))]);
    let check = db.health_check().unwrap();
    assert_eq!(check.command(), ["CMD-SHELL", "pg_isready -U postgres"]);
    assert_eq!((check.interval(), check.retries()), (Some(5), Some(10)));
    assert_eq!((check.timeout(), check.start_period()), (Some(5), Some(60)));
    assert_eq!(
        (db.start_timeout(), db.stop_timeout()),
        (Some(120), Some(10))
    );
    assert_eq!(db.log_configuration(), known.log_configuration());
    assert!(db.log_configuration().is_some());
    let capabilities = db.linux_parameters().unwrap().capabilities().unwrap();
    assert!(capabilities.drop().contains(&"NET_RAW".to_owned()));
    assert!(db.mount_points().is_empty() && db.entry_point().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_is_the_runners_in_a_definition_that_two_environments_share() {
    let service = cloud().await;
    let repository = Repository::with(&[(
        "Makefile",
        "test:\n\t@test -e done && echo '1 passed in 0.1s'\n",
    )]);
    for name in ["one", "other"] {
        let environment = json!({ "name": name, "image": image("node") });
        make(&service.client, &environment).await;
        let run = ran(&service, &repository, name).await;
        assert_eq!(run["status"], "succeeded", "{run:#}");
        let made = definition_of(&service, &run).await;
        assert_eq!(made.family(), Some(&*family(&service, &environment)));
        assert_eq!(made.revision(), 1);
        let [runner] = made.container_definitions() else {
            panic!("{made:#?}")
        };
        assert_eq!(
            (runner.image(), runner.user()),
            (Some(&*image("node")), Some("0"))
        );
        // An image is a client's program: with the role it could mount every organization's folder.
        let mut volumes = made.volumes().iter();
        assert!(volumes.all(|one| one.efs_volume_configuration().is_none()));
        assert!(made.task_role_arn().is_none() && runner.depends_on().is_empty());
        assert!(
            !variables(runner)
                .iter()
                .any(|(name, _)| *name == "AWO_SHARED_ROOT")
        );
        let path = format!("/api/v1/audit/runs/{}", run["runId"].as_str().unwrap());
        let audit = service.client.get(&path).await.body;
        assert_eq!(audit["data"]["environment"]["image"], json!(image("node")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_containers_cannot_be_is_400_with_every_path_in_the_cloud_too() {
    let service = cloud().await;
    let ecr = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/other/db:1";
    let one =
        |name: &str, image: &str, port: u32| json!({ "name": name, "image": image, "port": port });
    for (body, wanted) in [
        (
            json!({ "image": "registry.example/awo/node:latest" }),
            &["/image"][..],
        ),
        (
            json!({ "image": format!("elsewhere/x@sha256:{}", "0".repeat(64)) }),
            &["/image"],
        ),
        (
            json!({ "services": [one("a", "redis", 1)], "egress": ["example.com"] }),
            &["/egress"],
        ),
        (
            json!({ "services": [one("DB", "a b", 0), one("b", ecr, 1)] }),
            &["/services/0/image", "/services/0/name", "/services/0/port"],
        ),
        (
            json!({ "services": [one("b", ecr, 1)] }),
            &["/services/0/image"],
        ),
        (
            json!({ "services": [one("a", "redis", 1), one("a", "redis", 1)] }),
            &["/services/1/name", "/services/1/port"],
        ),
        (
            json!({ "services": [one("a", "redis", 1)], "caches": ["node_modules"] }),
            &["/caches"],
        ),
        (
            json!({ "image": image("node"), "caches": ["node_modules"] }),
            &["/caches"],
        ),
    ] {
        let mut body = body;
        body["name"] = json!("e");
        let refused = service.client.post("/v1/environments", &body).await;
        assert_eq!(wrong(&refused), wanted, "{body}");
    }
    let refused = json!({ "name": "e", "image": format!("x@sha256:{}", "0".repeat(64)) });
    let refused = service.client.post("/v1/environments", &refused).await;
    assert!(refused.text.contains("ghcr.io/acme/"), "{}", refused.text);
    assert_eq!(
        service.client.get("/v1/environments").await.body["total"],
        0
    );
}
