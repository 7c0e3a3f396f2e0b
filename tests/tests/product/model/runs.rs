//! The expected state of a run.

use awo_domain::run::RunStatus;

use super::budgets::Cover;

/// Time for which a silent runner is only suspected while its task lives.
const SUSPECTED_MS: i64 = 180_000;
/// Known state of a run's task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    None,
    Alive,
    Dead,
}

#[derive(Debug, Clone)]
pub struct RunModel {
    pub status: RunStatus,
    pub lease: bool,
    pub settled: bool,
    /// False while it waits for a budget.
    pub held: bool,
    pub claimed: bool,
    pub reported: u64,
    /// True once client code is known to have started: nothing is paid before.
    pub executed: bool,
    pub task: Task,
    pub stopped_by_client: bool,
    /// True once the runner of a run that a client stopped has sent its last report.
    pub has_reported_last: bool,
    pub leased_at: i64,
    /// When it was first found silent, until it says something.
    pub suspected_at: Option<i64>,
}

impl RunModel {
    pub fn waiting(cover: Cover) -> RunModel {
        RunModel {
            status: RunStatus::Queued,
            lease: false,
            settled: false,
            held: cover == Cover::Held,
            claimed: false,
            reported: 0,
            executed: false,
            task: Task::None,
            stopped_by_client: false,
            has_reported_last: false,
            leased_at: 0,
            suspected_at: None,
        }
    }

    /// True if its runner, which is silent while its task lives, has more time.
    pub fn may_be_silent(&mut self, clock: i64) -> bool {
        let since = *self.suspected_at.get_or_insert(clock);
        self.task == Task::Alive && clock - since < SUSPECTED_MS
    }

    pub fn end(&mut self, status: RunStatus, settled: bool) {
        self.status = status;
        self.settled = settled;
    }

    /// The task is asked to stop.
    pub fn stop(&mut self) {
        if self.task == Task::Alive {
            self.task = Task::Dead;
        }
    }
}
