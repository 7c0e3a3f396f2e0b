//! An operator's commands for organizations, keys and the dispatcher of a real local service.

use std::time::{Duration, Instant};

use awo_domain::OrgId;
use awo_store::settings::task_definitions::Origin;
use serde_json::Value;

use crate::admin::{World, text};

const FILE_SYSTEM: &str = "fs-0123456789abcdef0";
const LIMIT: Duration = Duration::from_secs(60);
const SUBMIT: [&str; 5] = ["submit", "--repo", "https://example.com/a", "--prompt", "p"];

async fn status(world: &World, org: &str) -> Value {
    world.admin(&["show-org", "--org", org]).await.json()["status"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_organization_is_refused_until_it_is_reinstated() {
    let world = World::start().await;
    let (org, key, _) = world.org_with_key().await;
    let (other, others_key, _) = world.org_with_key().await;
    assert_eq!(world.client(&key, &["credits"]).await.code, 0);
    let suspended = world.admin(&["suspend-org", "--org", &org]).await.json();
    assert_eq!(suspended["status"], "suspended");
    let refused = world.client(&key, &["credits"]).await;
    assert!(refused.err.contains("UNAUTHORIZED"), "{refused:?}");
    assert_eq!(world.client(&others_key, &["credits"]).await.code, 0);
    let made = world
        .admin(&["create-key", "--org", &org, "--scopes", "*"])
        .await;
    assert_eq!(made.code, 3, "no new key opens it: {made:?}");
    let list = world.admin(&["list-orgs"]).await.json();
    let states: Vec<(&str, &str)> = list["organizations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["orgId"].as_str().unwrap(),
                one["status"].as_str().unwrap(),
            )
        })
        .collect();
    assert!(states.contains(&(org.as_str(), "suspended")), "{list}");
    assert!(states.contains(&(other.as_str(), "active")), "{list}");
    world.admin(&["reinstate-org", "--org", &org]).await.json();
    assert_eq!(world.client(&key, &["credits"]).await.code, 0);
    let renamed = world
        .admin(&["rename-org", "--org", &org, "--name", "Team B"])
        .await;
    assert_eq!(renamed.json()["name"], "Team B");
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_have_a_name_an_end_and_a_last_use_and_are_rotated() {
    let world = World::start().await;
    let (org, _, _) = world.org_with_key().await;
    let create = [
        "create-key",
        "--org",
        &org,
        "--scopes",
        "credits:read",
        "--name",
        "CI",
    ];
    let ends = world
        .admin(&[&create[..], &["--expires-in", "1ms"]].concat())
        .await
        .json();
    let refused = world.client(&text(&ends, "apiKey"), &["credits"]).await;
    assert!(refused.err.contains("UNAUTHORIZED"), "{refused:?}");

    let old = world
        .admin(&[&create[..], &["--expires-in", "90d"]].concat())
        .await
        .json();
    assert_eq!(
        world.client(&text(&old, "apiKey"), &["credits"]).await.code,
        0
    );
    let list = world.admin(&["list-keys", "--org", &org]).await.json();
    let keys = list["keys"].as_array().unwrap();
    let listed = keys
        .iter()
        .find(|key| key["keyId"] == old["keyId"])
        .unwrap();
    assert_eq!(listed["name"], "CI");
    assert!(
        listed["lastUsedAt"].is_string() && listed["expiresAt"].is_string(),
        "{listed}"
    );

    let id = text(&old, "keyId");
    let new = world.admin(&["rotate-key", "--key-id", &id]).await.json();
    for key in [&old, &new] {
        assert_eq!(
            world.client(&text(key, "apiKey"), &["credits"]).await.code,
            0
        );
    }
    let rotate = ["rotate-key", "--key-id", &id, "--overlap", "1ms"];
    let last = world.admin(&rotate).await.json();
    let refused = world.client(&text(&old, "apiKey"), &["credits"]).await;
    assert!(refused.err.contains("UNAUTHORIZED"), "{refused:?}");
    let narrow = world.client(&text(&last, "apiKey"), &["list"]).await;
    assert!(
        narrow.err.contains("FORBIDDEN"),
        "it has the scopes of the old one: {narrow:?}"
    );
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_run_begins_while_the_dispatcher_is_paused() {
    let world = World::start().await;
    let (org, key, _) = world.org_with_key().await;
    world
        .admin(&["grant", "--org", &org, "--credits", "10000"])
        .await
        .json();
    let drained = world.admin(&["drain"]).await.json();
    assert_eq!(drained["running"], 0);
    assert_eq!(status(&world, &org).await, "paused");
    let first = world.client(&key, &SUBMIT).await.json();
    let queues = world.admin(&["queue"]).await.json();
    let queue = queues["queues"]
        .as_array()
        .unwrap()
        .iter()
        .find(|q| q["orgId"] == org)
        .unwrap();
    assert_eq!(
        (&queue["waiting"], &queue["running"]),
        (&1.into(), &0.into()),
        "{queues}"
    );
    let health = world.client(&key, &["queue"]).await.json();
    assert_eq!(health["data"]["indicators"]["canStartImmediately"], false);

    world.admin(&["resume"]).await.json();
    world.client(&key, &SUBMIT).await.json();
    let begun = Instant::now();
    let wait = ["get", first["runId"].as_str().unwrap()];
    while world.client(&key, &wait).await.json()["status"] == "queued" {
        assert!(begun.elapsed() < LIMIT, "it does not begin");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let late = world.admin(&["drain", "--timeout", "1ms"]).await;
    assert_eq!(late.code, 3, "{late:?}");
    assert!(late.err.contains("still active"), "{late:?}");
    let runs = world.admin(&["runs"]).await.json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2, "{runs}");
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_organization_leaves_its_ledger_alone() {
    let world = World::start().await;
    let (org, key, _) = world.org_with_key().await;
    world
        .admin(&["grant", "--org", &org, "--credits", "10000"])
        .await
        .json();
    world.admin(&["pause", "--org", &org]).await.json();
    world.client(&key, &SUBMIT).await.json();
    let secret = ["set-secret", "--org", &org, "--name", "githubcom"];
    assert_eq!(
        world.admin(&secret).await.code,
        2,
        "nothing reads a secret of that name"
    );
    let delete = ["delete-org", "--org", &org, "--yes"];
    let early = world.admin(&delete).await;
    assert!(early.err.contains("not suspended"), "{early:?}");
    world.admin(&["suspend-org", "--org", &org]).await.json();
    let busy = world.admin(&delete).await;
    assert!(
        busy.err.contains("1 work orders that are not over"),
        "{busy:?}"
    );

    world.admin(&["reinstate-org", "--org", &org]).await.json();
    let order = world.client(&key, &["list"]).await.json()["workOrders"][0]["id"].clone();
    world
        .client(&key, &["cancel", order.as_str().unwrap()])
        .await
        .json();
    world.admin(&["suspend-org", "--org", &org]).await.json();
    assert_eq!(
        world.admin(&delete[..3]).await.code,
        2,
        "without --yes nothing is deleted"
    );
    assert_eq!(world.admin(&delete).await.json()["status"], "deleted");
    let left = world.admin(&["show-org", "--org", &org]).await.json();
    for (name, value) in [
        ("name", "".into()),
        ("keys", 0.into()),
        ("workOrders", 0.into()),
    ] {
        assert_eq!(left[name], Value::clone(&value), "{left}");
    }
    assert_eq!(left["balance"], 10_000, "{left}");
    let ledger = world.admin(&["check-ledger", "--org", &org]).await.json();
    assert_eq!(ledger["ledgers"][0]["status"], "sound");
    assert_eq!(world.admin(&["reinstate-org", "--org", &org]).await.code, 3);
    let refused = world.client(&key, &["credits"]).await;
    assert!(refused.err.contains("UNAUTHORIZED"), "{refused:?}");
    world.service.stop().await;
}

/// How many access points the file system of tasks has.
fn access_points(world: &World) -> usize {
    let points = world.dir.path().join("files/access-points");
    std::fs::read_dir(points).unwrap().count()
}

/// What the start of a task leaves behind for an organization, where tasks share a file system.
async fn own_definition(world: &World, org: &OrgId) {
    let files = world.service.cloud.file_system(FILE_SYSTEM.to_owned());
    let access_point = files.access_point(org).await.unwrap().unwrap();
    let origin = Origin {
        base: "arn:aws:ecs:us-east-1:1:task-definition/awo-runner:1".to_owned(),
        file_system: Some(FILE_SYSTEM.to_owned()),
        access_point: Some(access_point),
    };
    let (family, now) = (format!("awo-runner-{org}"), world.service.cloud.clock.now());
    let definition = format!("arn:aws:ecs:us-east-1:1:task-definition/{family}:1");
    let store = world.service.cloud.store().unwrap();
    let begun = store.begin_own_definition(org, None, &family, now);
    begun.await.unwrap();
    let noted = store.note_own_definition(org, None, None, (&definition, &origin));
    noted.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_organization_has_no_access_point_to_the_file_system_and_no_environments() {
    let world = World::start().await;
    let (org, key, _) = world.org_with_key().await;
    let (id, store) = (
        OrgId::parse(&org).unwrap(),
        world.service.cloud.store().unwrap(),
    );
    let setup = world.dir.path().join("environment.json");
    std::fs::write(&setup, r#"{"variables":{"MODE":"test"}}"#).unwrap();
    let create = ["environments", "create", "node", setup.to_str().unwrap()];
    assert_eq!(world.client(&key, &create).await.code, 0);
    own_definition(&world, &id).await;
    let (stranger, _, _) = world.org_with_key().await;
    own_definition(&world, &OrgId::parse(&stranger).unwrap()).await;
    assert_eq!(access_points(&world), 2);

    world.admin(&["suspend-org", "--org", &org]).await.json();
    let delete = ["delete-org", "--org", &org, "--yes"];
    assert_eq!(world.admin(&delete).await.json()["status"], "deleted");
    assert_eq!(access_points(&world), 1, "the stranger's");
    let named = async || {
        let family = store.own_definition(&id, None).await.unwrap();
        let family = family.expect("until the sweep has deregistered it");
        assert!(family.retired);
        let point = family.access_point();
        point.map(|(files, point)| (files.to_owned(), point.to_owned()))
    };
    assert_eq!(named().await, None);
    assert_eq!(store.environments(&id).await.unwrap().len(), 0);

    // A deletion that was cut off after the access point was deleted: the sweep keeps its name.
    let origin = Origin {
        base: String::new(),
        file_system: Some(FILE_SYSTEM.to_owned()),
        access_point: Some("fsap-0123456789abcdef0".to_owned()),
    };
    let family = store.own_definition(&id, None).await.unwrap().unwrap();
    let before = family.definition.as_deref();
    let noted = store.note_own_definition(&id, None, before, ("another", &origin));
    noted.await.unwrap();
    world.service.sweep().await.unwrap();
    assert!(named().await.is_some());
    assert_eq!(world.admin(&delete).await.json()["status"], "deleted");
    assert_eq!(named().await, None);
    assert_eq!(access_points(&world), 1, "the stranger's");
    world.service.stop().await;
}
