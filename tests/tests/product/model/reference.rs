//! The small model: the expected state of every work order, in a few lines per step.

use awo_domain::queue::{WaitingEntry, fair_order};
use awo_domain::run::RunStatus;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Timestamp, WorkOrderId};

use super::budgets::{BudgetModel, Cover};
pub use super::runs::{RunModel, Task};

pub const MAX_CONCURRENT: usize = 2;
pub const MAX_QUEUE: usize = 4;
/// A minute and a bit: past every deadline but the first word's.
pub const SWEEP_MS: i64 = 61_000;
/// The pause before the second sweep that repairs after a failed one.
pub const SECOND_SWEEP_MS: i64 = 31_000;
/// How long a task may take to its first word.
const START_MS: i64 = 600_000;
/// What the runner of these tests has to say.
pub const SCRIPT: u64 = 4;
/// The event by which a run is running.
pub const STARTED: u64 = 2;

#[derive(Debug, Clone)]
pub struct OrderModel {
    pub status: WorkOrderStatus,
    pub tenant: u8,
    pub runs: Vec<RunModel>,
    pub enqueued: i64,
}

impl OrderModel {
    pub fn run(&self) -> &RunModel {
        self.runs.last().expect("a run")
    }

    pub fn run_mut(&mut self) -> &mut RunModel {
        self.runs.last_mut().expect("a run")
    }

    fn end(&mut self, order: WorkOrderStatus, run: RunStatus, settled: bool) {
        self.status = order;
        self.run_mut().end(run, settled);
    }

    fn is_over(&self) -> bool {
        self.status.is_terminal()
    }
}

#[derive(Debug, Clone, Default)]
pub struct Model {
    pub orders: Vec<OrderModel>,
    pub budgets: Vec<BudgetModel>,
    /// Indexes of the orders that wait.
    pub queue: Vec<usize>,
    pub last_served: Option<u8>,
    clock: i64,
    came: i64,
}

pub fn tenant_name(tenant: u8) -> Option<String> {
    (tenant > 0).then(|| format!("t{tenant}"))
}

/// Status, slot, settled, waits for a budget.
pub type RunState = (RunStatus, bool, bool, bool);

impl Model {
    /// What can be seen of all work orders.
    pub fn states(&self) -> Vec<(WorkOrderStatus, Vec<RunState>)> {
        let waits = |run: &RunModel| run.status == RunStatus::Queued && !run.held;
        let state = |run: &RunModel| (run.status, run.lease, run.settled, waits(run));
        self.orders
            .iter()
            .map(|order| (order.status, order.runs.iter().map(state).collect()))
            .collect()
    }

    fn slots(&self) -> usize {
        let runs = self.orders.iter().flat_map(|order| &order.runs);
        runs.filter(|run| run.lease).count()
    }

    /// The order whose turn it is; `with` takes part, whether it waits already or not.
    fn first(&self, with: Option<usize>) -> Option<usize> {
        let late = with.filter(|i| !self.queue.contains(i));
        let entries: Vec<(usize, WaitingEntry)> = self
            .queue
            .iter()
            .filter(|i| with == Some(**i) || !self.waits_for_budget(**i))
            .chain(&late)
            .map(|i| {
                let order = &self.orders[*i];
                let came = if late == Some(*i) {
                    i64::MAX / 2
                } else {
                    order.enqueued
                };
                let waiting = WaitingEntry {
                    waits_for_budget: false,
                    work_order_id: WorkOrderId::new(Timestamp::from_epoch_ms(1), *i as u128),
                    tenant: tenant_name(order.tenant).unwrap_or_default(),
                    enqueued_at: Timestamp::from_epoch_ms(came),
                };
                (*i, waiting)
            })
            .collect();
        let waiting: Vec<WaitingEntry> = entries.iter().map(|(_, w)| w.clone()).collect();
        let last = self.last_served.map(|t| tenant_name(t).unwrap_or_default());
        let first = fair_order(&waiting, last.as_deref())
            .first()
            .copied()?
            .clone();
        entries.iter().find(|(_, w)| *w == first).map(|(i, _)| *i)
    }

    fn take_slot(&mut self, i: usize) {
        self.queue.retain(|waiting| *waiting != i);
        self.last_served = Some(self.orders[i].tenant);
        let clock = self.clock;
        let order = &mut self.orders[i];
        order.status = WorkOrderStatus::Running;
        let run = order.run_mut();
        run.status = RunStatus::Building;
        run.lease = true;
        run.task = Task::Alive;
        run.leased_at = clock;
    }

    pub fn fill(&mut self, before: Option<usize>) {
        self.fund();
        while self.slots() < MAX_CONCURRENT {
            match self.first(before) {
                Some(i) if before != Some(i) => self.take_slot(i),
                _ => return,
            }
        }
    }

    fn enqueue(&mut self, i: usize) {
        self.came += 1;
        self.orders[i].enqueued = self.came;
        self.queue.push(i);
    }

    pub fn create(&mut self, tenant: u8) {
        let cover = self.cover(tenant);
        if self.queue.len() >= MAX_QUEUE || cover == Cover::Refused {
            return;
        }
        self.orders.push(OrderModel {
            status: WorkOrderStatus::Queued,
            tenant,
            runs: vec![RunModel::waiting(cover)],
            enqueued: 0,
        });
        self.enqueue(self.orders.len() - 1);
    }

    pub fn start(&mut self, i: usize) {
        let waits = match self.orders[i].status {
            WorkOrderStatus::Queued => true,
            WorkOrderStatus::Failed => false,
            _ => return,
        };
        if self.slots() < MAX_CONCURRENT && self.first(Some(i)) != Some(i) {
            self.fill(Some(i));
        }
        // What waits has its hold replaced, if it has one.
        let cover = if waits && self.orders[i].run().held {
            Cover::Held
        } else {
            self.cover(self.orders[i].tenant)
        };
        let is_next = self.slots() < MAX_CONCURRENT && self.first(Some(i)) == Some(i);
        let at_once = is_next && cover == Cover::Held;
        let is_full = !at_once && !waits && self.queue.len() >= MAX_QUEUE;
        if is_full || cover == Cover::Refused {
            return;
        }
        if waits {
            self.orders[i].run_mut().end(RunStatus::Canceled, true);
        } else if !at_once {
            self.enqueue(i);
        }
        self.orders[i].runs.push(RunModel::waiting(cover));
        self.orders[i].status = WorkOrderStatus::Queued;
        if at_once {
            self.take_slot(i);
        }
    }

    pub fn claim(&mut self, i: usize) {
        let order = &mut self.orders[i];
        let open = !order.is_over();
        let run = order.run_mut();
        run.claimed |= run.lease && open;
    }

    /// Says so many events that are new.
    pub fn report(&mut self, i: usize, more: u64) {
        let order = &mut self.orders[i];
        let open = !order.is_over();
        let run = order.run_mut();
        let reported = (run.reported + more).min(SCRIPT);
        if run.claimed && run.lease && (open || run.stopped_by_client) {
            run.executed |= reported >= STARTED;
        }
        if run.claimed && run.lease && open {
            run.suspected_at = None;
            run.reported = reported;
            if run.reported >= STARTED {
                run.status = RunStatus::Running;
            }
        }
    }

    /// The runner's last report; with `dead`, it returns the slot.
    pub fn finish(&mut self, i: usize, success: bool, dead: bool) {
        let order = &mut self.orders[i];
        let (run, open) = (order.run(), !order.is_over());
        if !run.claimed || !run.lease {
            return;
        }
        let counts = if open {
            !success || run.status == RunStatus::Running
        } else {
            run.stopped_by_client && !run.has_reported_last
        };
        if !counts {
            return;
        }
        if open {
            let ends = if success {
                (WorkOrderStatus::Succeeded, RunStatus::Succeeded)
            } else {
                (WorkOrderStatus::Failed, RunStatus::Failed)
            };
            order.end(ends.0, ends.1, true);
        }
        let run = order.run_mut();
        run.executed = true;
        run.has_reported_last = !open;
        if dead {
            run.settled = true;
            run.lease = false;
            run.stop();
        }
    }

    pub fn cancel(&mut self, i: usize) {
        let order = &mut self.orders[i];
        if order.is_over() {
            return;
        }
        let waits = order.status == WorkOrderStatus::Queued;
        order.end(WorkOrderStatus::Canceled, RunStatus::Canceled, waits);
        let run = order.run_mut();
        run.stopped_by_client = true;
        run.stop();
        self.queue.retain(|waiting| *waiting != i);
    }

    pub fn kill(&mut self, i: usize, immediate: bool) {
        let order = &mut self.orders[i];
        if order.is_over() {
            let run = order.run_mut();
            if run.stopped_by_client && run.lease {
                run.stop();
            }
            return;
        }
        if !order.run().claimed {
            return self.cancel(i);
        }
        if immediate {
            order.end(WorkOrderStatus::Failed, RunStatus::Failed, true)
        } else {
            order.end(WorkOrderStatus::Canceled, RunStatus::Canceled, true)
        }
        let run = order.run_mut();
        run.stopped_by_client = true;
        run.stop();
        run.lease = false;
    }

    pub fn task_dies(&mut self, i: usize) {
        self.orders[i].run_mut().stop();
    }

    pub fn task_event(&mut self, i: usize) {
        let order = &mut self.orders[i];
        let run = order.run();
        if run.lease && run.task == Task::Dead {
            if !order.is_over() {
                order.end(WorkOrderStatus::Failed, RunStatus::Failed, true);
            }
            let run = order.run_mut();
            run.settled = true;
            run.lease = false;
        }
    }

    /// Time passes, and the sweep handles what is due; with `beats`, living runners reported
    /// right before it.
    pub fn sweep(&mut self, ms: i64, beats: bool) {
        self.clock += ms;
        for i in 0..self.orders.len() {
            let (clock, order) = (self.clock, &mut self.orders[i]);
            let (open, newest) = (!order.is_over(), order.runs.len() - 1);
            for (at, run) in order.runs.iter_mut().enumerate() {
                let open = open && at == newest;
                let due = match (open, run.claimed) {
                    (false, _) => true,
                    (true, true) => !beats,
                    (true, false) => clock - run.leased_at >= START_MS,
                };
                if open && run.claimed && beats {
                    run.suspected_at = None;
                }
                if !run.lease || !due {
                    continue;
                }
                if open && run.claimed && run.may_be_silent(clock) {
                    continue;
                }
                if open {
                    order.status = WorkOrderStatus::Failed;
                    run.end(RunStatus::Failed, true);
                }
                if run.task == Task::Dead {
                    run.settled = true;
                    run.lease = false;
                }
                run.stop();
            }
        }
        self.fill(None);
    }
}
