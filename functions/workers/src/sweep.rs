//! The sweep, once a minute: repairs whatever is past its deadline. It makes lost messages, lost
//! responses and crashes harmless. It has parts, which do not wait for one another.

mod bounds;
mod costs;
mod definitions;
mod inboxes;
mod items;
mod leases;
mod ledgers;
mod notifications;
mod outcomes;
mod part;
mod purges;
mod reports;
mod schedules;

use std::sync::Arc;

use awo_cloud::compute::Compute;
use awo_cloud::notifications::NotificationQueue;
use awo_cloud::queue::{RunQueue, WakeUp};
use awo_cloud::{Clock, Cloud, SetupError, settings};
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId};
use awo_execution::endings::Endings;
use awo_execution::inboxes::DeliveryProcessor;
use awo_execution::launcher::Launcher;
use awo_execution::outcomes::PullRequestWatch;
use awo_execution::reports::ReportSender;
use awo_execution::scheduler::Scheduler;
use awo_execution::stopper::Stopper;
use awo_execution::verifier::Verifier;
use awo_store::Store;
use serde::{Deserialize, Serialize};

use self::bounds::Bounds;
pub use self::part::{Part, ShardGroup};
use crate::{Worker, worker};

/// The state of the function.
#[derive(Debug, Clone)]
pub struct State {
    store: Store,
    compute: Compute,
    launcher: Launcher,
    queue: RunQueue,
    notifications: NotificationQueue,
    clock: Clock,
    endings: Endings,
    verifier: Verifier,
    stopper: Stopper,
    scheduler: Arc<Scheduler>,
    processor: Arc<DeliveryProcessor>,
    pull_requests: PullRequestWatch,
    reports: ReportSender,
    credits_per_usd: MicroCredits,
}

/// The schedule's event.
#[derive(Debug, Default, Deserialize)]
pub struct Tick {
    /// The part to sweep; without one, all parts, one after another.
    #[serde(default)]
    pub part: Option<Part>,
}

/// The counts of a sweep.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SweepReport {
    /// Items that were due.
    pub due: u32,
    /// Of these, how many could not be handled; the next sweep tries again.
    pub failed: u32,
    /// True if it could not be read what is due.
    #[serde(skip)]
    unread: bool,
}

/// The function `sweep`.
///
/// # Errors
/// When a setting is missing or does not read.
pub fn function(cloud: &Cloud) -> Result<Worker, SetupError> {
    Ok(worker(cloud, state(cloud)?, handle))
}

/// The state of `sweep`.
///
/// # Errors
/// When a setting is missing.
pub fn state(cloud: &Cloud) -> Result<State, SetupError> {
    Ok(State {
        store: cloud.store()?,
        compute: cloud.compute()?,
        launcher: Launcher::new(cloud)?,
        queue: cloud.run_queue()?,
        notifications: cloud.notification_queue()?,
        clock: cloud.clock.clone(),
        endings: Endings::new(cloud)?,
        verifier: Verifier::new(cloud)?,
        stopper: Stopper::new(cloud)?,
        scheduler: Arc::new(Scheduler::new(cloud)?),
        processor: Arc::new(DeliveryProcessor::new(cloud)?),
        pull_requests: PullRequestWatch::new(cloud)?,
        reports: ReportSender::new(cloud)?,
        credits_per_usd: settings::rates(&cloud.environment)?.credits_per_usd,
    })
}

impl State {
    async fn wake(&self, org: &OrgId) -> Result<(), Error> {
        self.queue.wake(&WakeUp::of(org)).await
    }
}

/// Sweeps a part, or everything, once. One item that fails does not keep the others from being handled.
///
/// # Errors
/// Fails if the due items cannot be read; the other parts have been swept.
pub async fn handle(state: Arc<State>, tick: Tick) -> Result<SweepReport, lambda_runtime::Error> {
    let mut swept = SweepReport::default();
    match tick.part {
        // Boxed: the calls below are deep, and the compiler lays out futures whole.
        Some(part) => Box::pin(sweep(&state, part, Bounds::begin(true), &mut swept)).await,
        None => {
            for part in Part::ALL {
                Box::pin(sweep(&state, part, Bounds::begin(false), &mut swept)).await;
            }
        }
    }
    tracing::info!(
        event = "swept",
        part = ?tick.part,
        due = swept.due,
        failed = swept.failed,
        "swept"
    );
    if swept.unread {
        return Err("the sweep cannot see what is due".into());
    }
    Ok(swept)
}

async fn sweep(state: &State, part: Part, bounds: Bounds, swept: &mut SweepReport) {
    match part {
        Part::Items(group) => Box::pin(items::handle_due(state, group, bounds, swept)).await,
        Part::Notifications(group) => {
            Box::pin(notifications::send_again(state, group, bounds, swept)).await;
        }
        Part::Purges => Box::pin(purges::erase(state, bounds, swept)).await,
        Part::Definitions => Box::pin(definitions::check_due(state, bounds, swept)).await,
        Part::Costs => {
            costs::note_price(state, swept).await;
            Box::pin(costs::add(state, bounds, swept)).await;
        }
        Part::Ledgers => Box::pin(ledgers::check(state, bounds, swept)).await,
        Part::Schedules => Box::pin(schedules::fire_due(state, bounds, swept)).await,
        Part::Outcomes => Box::pin(outcomes::ask_due(state, bounds, swept)).await,
        Part::Reports => Box::pin(reports::send_due(state, bounds, swept)).await,
        Part::Inboxes => Box::pin(inboxes::process_due(state, bounds, swept)).await,
    }
}
