//! The real system that the model is compared with: functions, tables, queue and tasks.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use awo_domain::ledger::Rates;
use awo_domain::money::MicroCredits;
use awo_domain::run::RunStatus;
use awo_domain::statement::Month;
use awo_domain::time::DAY_MS;
use awo_domain::usage::PricedUsage;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{RunId, WorkOrderId};
use awo_execution::launcher::Launcher;
use awo_store::runs::{Run, RunFilter};
use awo_store::work_orders::WorkOrderFilter;
use awo_tests::faults::Fault;
use awo_tests::world::{Org, Stage, World};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::budgets::BudgetModel;
use super::reference::{
    MAX_CONCURRENT, MAX_QUEUE, Model, RunModel, RunState, SECOND_SWEEP_MS, SWEEP_MS, Task,
};
use super::{Move, Step};

/// All rules are checked after so many steps, and at the end.
const CHECK_EVERY: u32 = 5;
/// How often a caller comes back after a fault.
const INSISTENCE: u32 = 5;
/// Prices of the model's deployment.
const RATES: Rates = Rates {
    credits_per_usd: MicroCredits::from_micro(100_000_000),
    credits_per_minute: MicroCredits::from_micro(10_000),
};
pub(super) const TOKEN: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

thread_local! {
    /// One of a thread's own: what goes wrong in a world goes wrong for all who are in it.
    /// Compute costs next to nothing, so that a sequence spends less than half of a hold.
    static STAGE: RefCell<Stage> =
        RefCell::new(Stage::with(&[("AWO_CREDITS_PER_MINUTE", "0.01".to_owned())]));
}

/// One organization of its own in a world that some sequences of a thread share.
pub struct System {
    pub(super) world: Arc<World>,
    pub(super) org: Org,
    pub(super) orders: Vec<WorkOrderId>,
    /// Ids of budgets with the bodies that they were created with.
    pub(super) budgets: Vec<(String, Value)>,
    /// Their limits, as the model says after the step.
    pub(super) limits: Vec<i64>,
    /// Nonces by run, as they were seen before they were claimed.
    pub(super) nonces: HashMap<RunId, String>,
    /// Runs whose tasks are known to have ended.
    dead: HashSet<RunId>,
    /// The report that is being made.
    pub(super) report_body: Value,
    pub(super) steps: u32,
}

impl System {
    pub fn new() -> System {
        let world = STAGE.with_borrow_mut(|stage| RUNTIME.block_on(stage.world()));
        let clock = &world.cloud.clock;
        let left_ms = Month::of(clock.now()).end().ms_since(clock.now());
        if left_ms < DAY_MS {
            // No budget's month turns in a sequence.
            clock.advance(left_ms);
        }
        let org = RUNTIME.block_on(async {
            let org = world.org(100_000).await;
            let (slots, queue) = (MAX_CONCURRENT as u32, MAX_QUEUE as u32);
            let limited = world
                .store
                .set_limits(&org.id, Some(slots), Some(queue))
                .await;
            limited.expect("limits");
            org
        });
        System {
            world,
            org,
            orders: Vec::new(),
            budgets: Vec::new(),
            limits: Vec::new(),
            nonces: HashMap::new(),
            dead: HashSet::new(),
            report_body: Value::Null,
            steps: 0,
        }
    }

    /// Does a step, with its fault, and whatever callers do after one.
    pub fn apply(&mut self, step: &Step, model: &Model) {
        self.steps += 1;
        self.limits = model.budgets.iter().map(BudgetModel::limit).collect();
        RUNTIME.block_on(async {
            self.pass_time(step).await;
            self.prepare_report(step).await;
            let fired = match step.fault {
                None => true,
                Some((nth, fault)) => self.go_wrong(step, nth, fault).await,
            };
            if fired {
                self.insist(step).await;
            }
            if let (Move::Sweep { .. }, Some(_)) = (step.what, step.fault) {
                self.sweep_again(model).await;
            }
            self.settle_tasks(model, step.fault.is_some()).await;
            // A kill that crashed once the run was over leaves its slot to the task's event.
            if let (Move::Kill { order, .. }, Some(_)) = (step.what, step.fault)
                && !model.orders[order].run().lease
            {
                let world = Arc::clone(&self.world);
                assert!(
                    self.task_event(order, &world.sound).await,
                    "a task event fails"
                );
            }
            self.learn().await;
        });
    }

    async fn pass_time(&self, step: &Step) {
        if let Move::Sweep { beats } = step.what {
            self.world.cloud.clock.advance(SWEEP_MS);
            if beats {
                self.beat().await;
            }
        }
        if let Move::TaskDies { order } = step.what
            && let Some(task) = self.task(&self.newest(order).await.run_id).await
        {
            self.world.stop_task(&task).await;
        }
    }

    /// Runners that live say so.
    async fn beat(&self) {
        for run in self.runs().await {
            let body = json!({ "events": [] });
            let control = &self.world.sound;
            drop(
                control
                    .control(&self.org.id, run.run_id.as_str(), "report", TOKEN, &body)
                    .await,
            );
        }
    }

    /// True if something went wrong.
    async fn go_wrong(&mut self, step: &Step, nth: u32, fault: Fault) -> bool {
        let (world, faults) = (Arc::clone(&self.world), self.world.faults.clone());
        faults.arm(nth, fault);
        faults.until_crash(self.once(step, &world.faulty)).await;
        faults.disarm()
    }

    async fn insist(&mut self, step: &Step) {
        let world = Arc::clone(&self.world);
        for _ in 0..INSISTENCE {
            if self.once(step, &world.sound).await {
                return;
            }
        }
        panic!("{step:?} does not come to an end");
    }

    /// What a sweep that went wrong has left half done.
    async fn sweep_again(&mut self, model: &Model) {
        self.settle_closed().await;
        self.world.cloud.clock.advance(SECOND_SWEEP_MS);
        self.beat().await;
        let swept = self.world.sound.sweep().await.expect("a sweep");
        assert_eq!(swept["failed"], 0, "{swept} {model:?}");
        self.world.deliver_wake_ups(&self.world.sound).await;
    }

    pub(super) async fn runs(&self) -> Vec<Run> {
        let (store, filter) = (&self.world.store, RunFilter::default());
        let listed = store.runs(&self.org.id, &filter, (100, 0), None).await;
        let mut runs = listed.expect("a list").0.items;
        runs.reverse();
        runs
    }

    pub(super) async fn newest(&self, order: usize) -> Run {
        let store = &self.world.store;
        let order = store.work_order(&self.org.id, &self.orders[order]).await;
        let run = order.expect("an answer").expect("a work order").run_id;
        let run = store.run(&self.org.id, &run).await;
        run.expect("an answer").expect("a run")
    }

    /// The task of a run, dead or alive.
    pub(super) async fn task(&self, run: &RunId) -> Option<String> {
        self.world.task_of(&self.org.id, run.as_str())
    }

    /// Sees that tasks are as the model says. Without a fault the product has seen to that; after
    /// one, a sweep would, in time.
    async fn settle_tasks(&mut self, model: &Model, after_a_fault: bool) {
        let compute = &self.world.compute;
        let launcher = Launcher::new(&self.world.cloud).expect("settings");
        let all = self.runs().await;
        for (id, order) in self.orders.iter().zip(&model.orders) {
            let runs = all.iter().filter(|run| run.work_order_id == *id);
            for (run, expected) in runs.zip(&order.runs) {
                if expected.task == Task::None || self.dead.contains(&run.run_id) {
                    continue;
                }
                let task = self.task(&run.run_id).await;
                match (task, expected.task) {
                    (Some(task), Task::Dead) if after_a_fault => self.world.stop_task(&task).await,
                    (Some(task), Task::Dead) => self.world.task_ends(&task).await,
                    // Not asked for, or not noted: asking again is asking for the same task.
                    (found, Task::Alive) if after_a_fault => {
                        let lease = self.world.store.lease(&self.org.id, &run.run_id).await;
                        let lease = lease.expect("an answer").expect("a lease");
                        if found.is_some() && lease.task_arn.is_some() {
                            continue;
                        }
                        let now = self.world.cloud.clock.now();
                        let start = awo_execution::start_task::start_task;
                        start(&self.world.store, compute, &launcher, &lease, now)
                            .await
                            .expect("a task");
                    }
                    (Some(_), Task::Alive) | (None, Task::Dead) => {}
                    other => panic!("{}: the task is {other:?}", run.run_id),
                }
                if expected.task == Task::Dead {
                    self.dead.insert(run.run_id.clone());
                }
            }
        }
    }

    /// The tasks of runs that are over end.
    async fn settle_closed(&self) {
        for run in self.runs().await {
            if run.status.is_terminal()
                && let Some(task) = self.task(&run.run_id).await
            {
                self.world.stop_task(&task).await;
            }
        }
    }

    /// Reads nonces before they are claimed.
    async fn learn(&mut self) {
        let leases = self.world.store.leases(&self.org.id, 100).await;
        for lease in leases.expect("a list").items {
            if let Some(secret) = &lease.nonce {
                let nonce = format!("{}.{}.{secret}", self.org.id, lease.run_id);
                self.nonces.insert(lease.run_id, nonce);
            }
        }
    }

    /// Compares what there is with the model; now and then, all rules are checked as well.
    pub fn check(&self, model: &Model) {
        RUNTIME.block_on(async {
            let (store, org) = (&self.world.store, &self.org.id);
            let filter = WorkOrderFilter::default();
            let (orders, leases, runs) = tokio::join!(
                store.work_orders(org, &filter, (100, 0), None),
                store.leases(org, 100),
                self.runs(),
            );
            let mut orders = orders.expect("a list").0.items;
            orders.reverse();
            let leases = leases.expect("a list").items;
            let leased = |run: &Run| leases.iter().any(|lease| lease.run_id == run.run_id);
            let seen: Vec<(WorkOrderStatus, Vec<RunState>)> = orders
                .iter()
                .map(|order| {
                    let of_order = runs.iter().filter(|run| run.work_order_id == order.id);
                    let states = of_order.map(|run| {
                        let waits = run.status == RunStatus::Queued && run.waits_for_budget;
                        (run.status, leased(run), run.settled_at.is_some(), waits)
                    });
                    (order.status, states.collect())
                })
                .collect();
            if seen != model.states() {
                let dump = self.world.dump(org).await;
                panic!("{seen:?}\nis not\n{:?}\n{dump:#?}", model.states());
            }
            for (id, order) in self.orders.iter().zip(&model.orders) {
                let of_order = runs.iter().filter(|run| run.work_order_id == *id);
                for (run, expected) in of_order.zip(&order.runs) {
                    is_paid_once_client_code_ran(run, expected);
                }
            }
            if self.steps.is_multiple_of(CHECK_EVERY) {
                self.check_rules().await;
            }
        });
    }

    /// The end of a sequence.
    pub fn check_at_the_end(&self) {
        RUNTIME.block_on(self.check_rules());
    }

    async fn check_rules(&self) {
        let dump = self.world.dump(&self.org.id).await;
        let broken = dump.broken_rules(MAX_CONCURRENT as i64);
        assert!(broken.is_empty(), "{broken:#?}\n{dump:#?}");
    }
}

/// However a run ends: nothing before the first process of client code, and all that it used after that, but
/// for what it waited and what its hold does not cover.
fn is_paid_once_client_code_ran(run: &Run, expected: &RunModel) {
    let is_paid = (run.cost.as_ref()).is_some_and(|cost| cost.credits_micro > 0);
    assert!(!is_paid || expected.executed, "{run:#?} {expected:#?}");
    let is_lost = (run.error.as_ref()).is_some_and(|error| error.code.is_free_of_charge());
    let is_owed = run.settled_at.is_some() && !run.usage.is_empty() && !is_lost;
    assert!(is_paid || !is_owed, "{run:#?} {expected:#?}");
    let completed_at = run.completed_at.filter(|_| is_owed);
    let used = completed_at.map_or(MicroCredits::ZERO, |end| {
        let models = PricedUsage::total(&run.usage);
        RATES
            .sized(run.size)
            .cost(models, run.compute_ms_until(end))
    });
    let paid = run.cost.as_ref().map_or(0, |cost| cost.credits_micro);
    assert!(paid >= used.micro().min(run.hold_micro), "{run:#?}");
}

impl Drop for System {
    /// Every sequence leaves the world without tasks.
    fn drop(&mut self) {
        RUNTIME.block_on(async {
            let compute = &self.world.compute;
            for run in self.runs().await {
                if let Some(task) = self.task(&run.run_id).await {
                    drop(compute.stop_task(&task, "the test is over").await);
                }
            }
        });
    }
}
