//! Every AWS call by which an environment's task definition is made and taken out of use fails in every
//! way, as in `crash_points`: no revision is active that no record names, a run gets its task from its
//! environment's image, and in the end nothing is left of what no environment asks for.

use awo_cloud::{Cloud, Environment};
use awo_domain::environment::{
    Containers, ContainersId, Environment as Declared, EnvironmentContent, EnvironmentName,
};
use awo_execution::definitions;
use awo_store::work_orders::WorkOrderFilter;
use awo_tests::crash_part;
use awo_tests::faults::Fault;
use awo_tests::world::{Org, World};
use serde_json::json;

use crate::story::MAX_CONCURRENT;

/// More calls than any of the steps makes; the tests find the real number themselves.
const MAX_CALLS: u32 = 60;
/// Sweeps after which everything is at rest, and days after which no definition is superfluous.
const MINUTES: u32 = 100;
const DAYS: u32 = 4;
const DAY_MS: i64 = 24 * 3_600_000 + 1_000;
const FAMILY: &str = "runner";

/// An organization whose work order waits, in an environment with an image.
struct Scene<'a> {
    world: &'a World,
    org: Org,
    containers: ContainersId,
}

fn name() -> EnvironmentName {
    EnvironmentName::parse("e").unwrap()
}

fn image(which: &str) -> String {
    format!("registry.example/awo/{which}@sha256:{}", "0".repeat(64))
}

fn content(which: &str) -> EnvironmentContent {
    serde_json::from_value(json!({ "image": image(which) })).unwrap()
}

async fn world() -> World {
    World::with(&[("AWO_ENVIRONMENT_IMAGES", "*".to_owned())]).await
}

/// The product's view over the client that may go wrong.
fn faulty(world: &World) -> Cloud {
    let settings = world.settings.clone();
    let environment = Environment::new(move |name| settings.get(name).cloned());
    let mut cloud = Cloud::new(environment, world.faults.client(world.http.clone()));
    cloud.clock = world.cloud.clock.clone();
    cloud
}

impl<'a> Scene<'a> {
    async fn new(world: &'a World) -> Scene<'a> {
        let org = world.org_without_webhooks(1_000).await;
        let declared = Declared {
            name: name(),
            content: content("old"),
            created_at: world.cloud.clock.now(),
            updated_at: None,
            set_secrets: std::collections::BTreeMap::new(),
        };
        let made = world.store.create_environment(&org.id, &declared, None);
        made.await.unwrap();
        let order = json!({
            "taskPrompt": "fix it", "environment": "e",
            "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
            "limits": { "maxCredits": 10 },
        });
        let made = world.sound.create(&org, &order, None).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let containers = Containers::of(&content("old")).unwrap().id();
        Scene {
            world,
            org,
            containers,
        }
    }

    fn family(&self) -> String {
        format!("{FAMILY}-{}-{}", self.org.id, self.containers)
    }

    async fn active(&self) -> Vec<String> {
        let listed = self.world.compute.active_definitions(&self.family()).await;
        listed.unwrap().0
    }

    /// The revision that the family's record names; none without a record.
    async fn recorded(&self) -> Option<Option<String>> {
        let id = Some(&self.containers);
        let known = self.world.store.own_definition(&self.org.id, id).await;
        known.unwrap().map(|known| known.definition)
    }

    /// What is registered is known to the sweep.
    async fn no_revision_is_lost(&self, when: &str) {
        let (active, recorded) = (self.active().await, self.recorded().await);
        assert!(
            active.is_empty() || recorded.is_some(),
            "{when}: {active:?} are active, and no record has their family"
        );
    }

    async fn has_task(&self) -> bool {
        let filter = WorkOrderFilter::default();
        let listed = self
            .world
            .store
            .work_orders(&self.org.id, &filter, (1, 0), None);
        let order = listed.await.unwrap().0.items.pop().unwrap();
        let task = self.world.task_of(&self.org.id, order.run_id.as_str());
        task.is_some()
    }

    /// Time passes until the run has its task, which is of the environment's image.
    async fn gets_its_task(&self, when: &str) {
        for _ in 0..MINUTES {
            self.world.deliver_wake_ups(&self.world.sound).await;
            if self.has_task().await {
                break;
            }
            self.world.sweep_after_a_minute().await;
        }
        assert!(self.has_task().await, "{when}: nobody asked for the task");
        let recorded = self
            .recorded()
            .await
            .flatten()
            .expect("a recorded revision");
        assert!(self.active().await.contains(&recorded), "{when}");
        let made = self.world.compute.task_definition(&self.family()).await;
        let made = made.unwrap();
        let wanted = image("old");
        assert_eq!(
            made.container_definitions()[0].image(),
            Some(&*wanted),
            "{when}"
        );
    }

    /// The run is canceled, and everything comes to rest.
    async fn ends(&self, when: &str) {
        let filter = WorkOrderFilter::default();
        let listed = self
            .world
            .store
            .work_orders(&self.org.id, &filter, (1, 0), None);
        let order = listed.await.unwrap().0.items.pop().unwrap();
        let canceled = self.world.sound.cancel(&self.org, order.id.as_str()).await;
        assert_eq!(canceled.status, 200, "{when}: {}", canceled.text);
        for _ in 0..MINUTES {
            if self.world.dump(&self.org.id).await.is_at_rest() {
                break;
            }
            self.world.sweep_after_a_minute().await;
        }
        let dump = self.world.dump(&self.org.id).await;
        let broken = dump.broken_rules(MAX_CONCURRENT);
        assert!(
            broken.is_empty() && dump.is_at_rest(),
            "{when}: {broken:#?}\n{dump:#?}"
        );
    }

    /// The environment names another image from now on.
    async fn changes_its_image(&self) {
        let store = &self.world.store;
        let known = store.environment(&self.org.id, &name()).await;
        let known = known.unwrap().unwrap();
        let new = Declared {
            content: content("new"),
            updated_at: Some(self.world.cloud.clock.now()),
            ..known.environment.clone()
        };
        let changed = store.replace_environment(&self.org.id, &known, &new).await;
        assert!(changed.unwrap());
    }

    /// Days pass, and nothing of the family is left.
    async fn nothing_is_left(&self, when: &str) {
        for _ in 0..DAYS {
            self.world.cloud.clock.advance(DAY_MS);
            self.world.sweep_after_a_minute().await;
            if self.recorded().await.is_none() {
                break;
            }
        }
        assert_eq!(self.recorded().await, None, "{when}");
        assert_eq!(self.active().await, Vec::<String>::new(), "{when}");
    }
}

/// What happens while an environment's definition is made or taken out of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Dispatch,
    LookAfter,
    DeleteOrganization,
}

/// The story up to a step.
async fn before<'a>(world: &'a World, step: Step) -> Scene<'a> {
    let scene = Scene::new(world).await;
    if step != Step::Dispatch {
        scene.gets_its_task("before").await;
        scene.ends("before").await;
    }
    if step == Step::DeleteOrganization {
        let now = world.cloud.clock.now();
        assert!(world.store.suspend(&scene.org.id, now).await.unwrap());
    }
    if step == Step::LookAfter {
        scene.changes_its_image().await;
        world.cloud.clock.advance(DAY_MS);
    }
    scene
}

/// A step, once.
async fn once(scene: &Scene<'_>, step: Step, by: &Cloud) {
    let (world, org) = (scene.world, &scene.org.id);
    let now = world.cloud.clock.now();
    match step {
        Step::Dispatch => {
            let process = world.process();
            for wake_up in world.take_wake_ups().await {
                drop(process.wake_up(&wake_up).await);
            }
        }
        Step::LookAfter => {
            let (store, compute) = (by.store().unwrap(), by.compute().unwrap());
            let due = world.store.own_definitions(org).await.unwrap();
            for family in due.iter().filter(|family| family.due_at <= now.epoch_ms()) {
                drop(definitions::check(&store, &compute, family, now).await);
            }
        }
        Step::DeleteOrganization => {
            drop(by.store().unwrap().delete_organization(org, now).await);
        }
    }
}

async fn try_all(step: Step, least: u32) {
    let world = world().await;
    let cloud = faulty(&world);
    let mut points = 0;
    for fault in Fault::ALL {
        for nth in crash_part::calls(fault, MAX_CALLS) {
            let when = format!("{fault:?} of call {nth} of {step:?}");
            let scene = before(&world, step).await;
            world.faults.arm(nth, fault);
            world.faults.until_crash(once(&scene, step, &cloud)).await;
            let fired = world.faults.disarm();
            scene.no_revision_is_lost(&when).await;
            match step {
                Step::Dispatch => {
                    scene.gets_its_task(&when).await;
                    scene.no_revision_is_lost(&when).await;
                    scene.ends(&when).await;
                    scene.changes_its_image().await;
                }
                Step::LookAfter => {}
                // An operator comes back.
                Step::DeleteOrganization => {
                    let now = world.cloud.clock.now();
                    let deleted = world.store.delete_organization(&scene.org.id, now);
                    deleted
                        .await
                        .unwrap_or_else(|why| panic!("{when}: {why:?}"));
                }
            }
            scene.nothing_is_left(&when).await;
            points += 1;
            if !fired {
                break;
            }
        }
    }
    println!("crash points of definitions, {step:?}: {points}");
    assert!(points >= least, "only {points} points");
    world.nothing_lives().await;
}

#[tokio::test]
async fn whatever_call_of_the_making_of_an_environments_definition_goes_wrong_its_run_gets_its_task()
 {
    try_all(Step::Dispatch, 8).await;
}

#[tokio::test]
async fn whatever_call_of_the_sweep_of_definitions_goes_wrong_none_is_left() {
    try_all(Step::LookAfter, 4).await;
}

#[tokio::test]
async fn whatever_call_of_an_organizations_deletion_goes_wrong_its_definitions_go() {
    try_all(Step::DeleteOrganization, 4).await;
}
