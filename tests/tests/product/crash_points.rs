//! Every AWS call of every step of a run fails in every way, and the rules hold.
//!
//! For each step, each of its calls and each fault there are two stories. In the first one the
//! caller retries, as real callers do, and the run must reach its end as without the fault. In the
//! second one no caller retries and every message is lost: time and the sweep alone must bring
//! everything to rest, with every slot returned and every hold resolved.

use awo_tests::crash_part;
use awo_tests::faults::Fault;
use awo_tests::world::{Stage, World};
use serde_json::Value;

use crate::story::Step::{
    self, Cancel, Claim, Create, Dispatch, Fail, Finish, FinishDead, Kill, Report, StaleEvent,
    Start, Stopped, StoppedDead, Sweep, TaskStopped, TaskStoppedAgain,
};
use crate::story::Story;

/// More calls than any step makes; the test finds the real number itself.
const MAX_CALLS: u32 = 90;
/// Sweeps after which everything is at rest: the ten minutes of a task's start, and then as many
/// as pass in this test's quick time while a task that was asked to stop is really ending.
const MINUTES: u32 = 100;

/// What happens, and how the newest run ends by it.
struct Plot {
    steps: &'static [Step],
    ends: &'static str,
    /// True if it costs something.
    costs: bool,
}

const SUCCESS: Plot = Plot {
    steps: &[
        Create,
        Dispatch,
        Claim,
        Report,
        StaleEvent,
        Finish,
        TaskStopped,
        TaskStoppedAgain,
        Sweep,
    ],
    ends: "succeeded",
    costs: true,
};
/// The runner's last report is what its slot is returned by: it makes the calls of any other, and then some.
const REPORTED_DEAD: Plot = Plot {
    steps: &[Create, Dispatch, Claim, Report, FinishDead, TaskStopped],
    ends: "succeeded",
    costs: true,
};
/// The wake-up is lost.
const WOKEN_BY_THE_SWEEP: Plot = Plot {
    steps: &[Create, Sweep, Dispatch, Claim, Report, Finish, TaskStopped],
    ends: "succeeded",
    costs: true,
};
/// The runner stops reporting while its task is running.
const SILENT: Plot = Plot {
    steps: &[
        Create,
        Dispatch,
        Claim,
        Report,
        Sweep,
        Sweep,
        Sweep,
        Sweep,
        TaskStopped,
    ],
    ends: "failed",
    costs: true,
};
/// No task event comes.
const CANCELED_AND_SWEPT: Plot = Plot {
    steps: &[Create, Dispatch, Claim, Report, Cancel, Stopped, Sweep],
    ends: "canceled",
    costs: true,
};
const CANCELED_WAITING: Plot = Plot {
    steps: &[Create, Cancel],
    ends: "canceled",
    costs: false,
};
const CANCELED_BEFORE_ITS_RUNNER: Plot = Plot {
    steps: &[Create, Dispatch, Cancel, TaskStopped],
    ends: "canceled",
    costs: false,
};
const CANCELED: Plot = Plot {
    steps: &[
        Create,
        Dispatch,
        Claim,
        Report,
        Cancel,
        Stopped,
        TaskStopped,
        TaskStoppedAgain,
    ],
    ends: "canceled",
    costs: true,
};
/// As [`REPORTED_DEAD`].
const CANCELED_AND_REPORTED_DEAD: Plot = Plot {
    steps: &[
        Create,
        Dispatch,
        Claim,
        Report,
        Cancel,
        StoppedDead,
        TaskStopped,
    ],
    ends: "canceled",
    costs: true,
};
/// The task of these tests ends by SIGTERM, and says nothing.
const KILLED: Plot = Plot {
    steps: &[Create, Dispatch, Claim, Report, Kill, TaskStopped],
    ends: "canceled",
    costs: true,
};
const STARTED_AGAIN: Plot = Plot {
    steps: &[
        Create,
        Dispatch,
        Claim,
        Fail,
        TaskStopped,
        Start,
        Claim,
        Report,
        Finish,
        TaskStopped,
    ],
    ends: "succeeded",
    costs: true,
};
const REPLACED: Plot = Plot {
    steps: &[Create, Start, Claim, Report, Finish, TaskStopped],
    ends: "succeeded",
    costs: true,
};

/// The steps before the one at `at`, then that one with the fault.
async fn begin<'a>(
    world: &'a World,
    plot: &Plot,
    at: usize,
    nth: u32,
    fault: Fault,
) -> (Story<'a>, bool) {
    // The events of earlier stories are delivered: a sweep has this story's notifications alone to send.
    while world.deliver_notifications(&world.sound).await {}
    let mut story = Story::new(world).await;
    for earlier in &plot.steps[..at] {
        story.insist(*earlier).await;
    }
    let step = plot.steps[at];
    story.prepare(step).await;
    let faults = world.faults.clone();
    faults.arm(nth, fault);
    let faulty = &world.faulty;
    faults.until_crash(story.once(step, faulty)).await;
    (story, faults.disarm())
}

/// The caller comes back, and all that follows follows.
async fn comes_back(mut story: Story<'_>, plot: &Plot, at: usize) {
    for (i, next) in plot.steps.iter().enumerate().skip(at) {
        // A runner is there to claim only if there is a task: a crash before `RunTask` is the
        // sweep's to handle.
        if *next == Claim && i > at && story.living_task().await.is_none() {
            story.world.sweep_after_a_minute().await;
            assert!(
                story.living_task().await.is_some(),
                "nobody asked for the task"
            );
        }
        story.insist(*next).await;
        story.holds(&format!("after {next:?}")).await;
    }
    // What a crash has left is the sweep's; without one there is nothing to be left.
    for _ in 0..MINUTES {
        if story.dump().await.is_at_rest() {
            break;
        }
        story.world.sweep_after_a_minute().await;
    }
    let (dump, run) = (story.holds("at the end").await, story.run().await);
    assert_eq!(run.status.as_str(), plot.ends, "{dump:#?}");
    assert_eq!(
        dump.work_orders().len(),
        1,
        "one idempotency key made one work order"
    );
    let starts = plot.steps.iter().filter(|step| **step == Start).count();
    assert_eq!(
        dump.runs().len(),
        1 + starts,
        "one idempotency key started one run"
    );
    assert!(
        dump.is_at_rest(),
        "after {plot_step:?}: {dump:#?}",
        plot_step = plot.steps[at]
    );
    let cost = run.cost.map(|cost| cost.credits_micro);
    assert_eq!(cost.is_some_and(|cost| cost > 0), plot.costs, "{dump:#?}");
    story.world.nothing_lives().await;
}

/// Nobody comes back; time passes and the sweep goes on, until everything is at rest.
async fn never_comes_back(story: Story<'_>, step: Step) {
    story.world.lose_wake_ups().await;
    let mut dump = story.holds("right after the fault").await;
    for _ in 0..MINUTES {
        if dump.is_at_rest() {
            break;
        }
        story.world.sweep_after_a_minute().await;
        dump = story.holds("while the sweep works").await;
    }
    assert!(dump.is_at_rest(), "after {step:?}: {dump:#?}");
    let ended = |run: &&Value| {
        ["succeeded", "failed", "canceled"].contains(&run["status"].as_str().unwrap_or_default())
    };
    assert!(dump.runs().iter().all(ended), "{dump:#?}");
    story.world.nothing_lives().await;
}

/// Every call of a step that this run tries, with every fault, in both stories.
async fn try_all(plot: &Plot, step: Step) {
    let at = plot.steps.iter().rposition(|s| *s == step).expect("a step");
    let mut stage = Stage::default();
    let mut points = 0;
    for fault in Fault::ALL {
        for nth in crash_part::calls(fault, MAX_CALLS) {
            let world = stage.world().await;
            let (story, fired) = Box::pin(begin(&world, plot, at, nth, fault)).await;
            if !fired {
                Box::pin(never_comes_back(story, step)).await;
                break;
            }
            Box::pin(comes_back(story, plot, at)).await;
            let (story, _) = Box::pin(begin(&world, plot, at, nth, fault)).await;
            Box::pin(never_comes_back(story, step)).await;
            points += 2;
        }
    }
    println!("crash points of {step:?}: {points}");
    assert!(points >= 2, "only {points} points");
}

#[test]
fn a_run_of_the_tests_raises_each_fault_and_one_in_each_call() {
    if crash_part::part().is_none() {
        return;
    }
    let all = 4 * crash_part::PARTS;
    let meets = |fault: Fault| crash_part::calls(fault, all).count();
    assert!(Fault::ALL.into_iter().all(|fault| meets(fault) == 4));
    for nth in 1..=all {
        let raised = Fault::ALL
            .into_iter()
            .filter(|fault| crash_part::calls(*fault, all).any(|call| call == nth));
        assert_eq!(raised.count(), 1, "call {nth}");
    }
}

#[tokio::test]
async fn whatever_call_of_a_create_goes_wrong_the_rules_hold() {
    try_all(&SUCCESS, Create).await;
}

#[tokio::test]
async fn whatever_call_of_a_dispatch_goes_wrong_the_rules_hold() {
    try_all(&SUCCESS, Dispatch).await;
}

#[tokio::test]
async fn whatever_call_of_a_claim_goes_wrong_the_rules_hold() {
    try_all(&SUCCESS, Claim).await;
}

#[tokio::test]
async fn whatever_call_of_a_report_goes_wrong_the_rules_hold() {
    try_all(&SUCCESS, Report).await;
}

#[tokio::test]
async fn whatever_call_of_a_finish_goes_wrong_the_rules_hold() {
    try_all(&REPORTED_DEAD, FinishDead).await;
}

#[tokio::test]
async fn whatever_call_of_a_task_event_goes_wrong_the_rules_hold() {
    try_all(&SUCCESS, StaleEvent).await;
    try_all(&SUCCESS, TaskStopped).await;
    try_all(&SUCCESS, TaskStoppedAgain).await;
}

#[tokio::test]
async fn whatever_call_of_a_sweep_goes_wrong_the_rules_hold() {
    try_all(&WOKEN_BY_THE_SWEEP, Sweep).await;
    try_all(&SILENT, Sweep).await;
    try_all(&CANCELED_AND_SWEPT, Sweep).await;
}

#[tokio::test]
async fn whatever_call_of_a_cancel_goes_wrong_the_rules_hold() {
    try_all(&CANCELED_WAITING, Cancel).await;
    try_all(&CANCELED_BEFORE_ITS_RUNNER, Cancel).await;
    try_all(&CANCELED, Cancel).await;
}

#[tokio::test]
async fn whatever_call_of_a_canceled_runs_last_report_goes_wrong_the_rules_hold() {
    try_all(&CANCELED_AND_REPORTED_DEAD, StoppedDead).await;
}

#[tokio::test]
async fn whatever_call_of_a_canceled_runs_task_event_goes_wrong_the_rules_hold() {
    try_all(&CANCELED, TaskStopped).await;
}

#[tokio::test]
async fn whatever_call_of_a_kill_goes_wrong_the_rules_hold() {
    try_all(&KILLED, Kill).await;
}

#[tokio::test]
async fn whatever_call_of_a_start_goes_wrong_the_rules_hold() {
    try_all(&STARTED_AGAIN, Start).await;
    try_all(&REPLACED, Start).await;
}
