//! Keys of a profile whose effect only a whole run shows.

use awo_domain::control::RunnerEvent as E;
use awo_domain::profile::resolve_built_in;
use awo_domain::run::RunErrorCode as Code;

use crate::scene::{EndedRunner, Scene};

/// One check fails less with each iteration, until the fourth.
const BETTER_EACH_TIME: &str = "tests: [{name: a, run: 'test $(cat n) -ge 2'}, \
     {name: b, run: 'test $(cat n) -ge 3'}, {name: c, run: 'test $(cat n) -ge 4'}]\n";
const NEVER: &str = "tests: [{name: unit, run: 'false'}]\n";

fn begun(ended: &EndedRunner) -> usize {
    let starts = |event: &&E| matches!(event, E::IterationStarted { .. });
    ended.events.iter().filter(starts).count()
}

fn scene(plan: &str, agent: &str) -> Scene {
    Scene::new(&[("verify.yaml", plan)], agent)
}

#[test]
fn bonus_iterations_are_tried_while_fewer_checks_fail() {
    let mut better = scene(BETTER_EACH_TIME, "echo $AWO_ITERATION > n");
    let strategy = &mut better.spec.profile.loop_strategy;
    (strategy.base_iterations, strategy.bonus_iterations) = (1, 3);
    let ended = better.run();
    ended.succeeded();
    assert_eq!(begun(&ended), 4);

    let mut same = scene(NEVER, "date > x");
    let strategy = &mut same.spec.profile.loop_strategy;
    (strategy.base_iterations, strategy.bonus_iterations) = (2, 3);
    let ended = same.run();
    ended.failed(Code::MaxIterationsReached);
    assert_eq!(begun(&ended), 2);
}

#[test]
fn the_limit_of_iterations_counts_whatever_the_strategy_says() {
    let mut scene = scene(NEVER, "date > x");
    scene.spec.profile.loop_strategy.base_iterations = 9;
    scene.spec.profile.execution_limits.max_iterations = 2;
    let ended = scene.run();
    ended.failed(Code::MaxIterationsReached);
    assert_eq!(begun(&ended), 2);
}

#[test]
fn outputs_converge_by_the_window_and_the_threshold_of_the_profile() {
    // Of ten words nine are the same each time.
    let agent = "date > x; echo one two three four five six seven eight nine $AWO_ITERATION";
    for (window, threshold, iterations) in [(2, 0.5, 2), (4, 0.5, 4), (2, 1.0, 5)] {
        let mut scene = scene(NEVER, agent);
        scene.spec.profile = resolve_built_in("ralph-style").unwrap();
        scene.spec.profile.execution_limits.max_iterations = 5;
        let strategy = &mut scene.spec.profile.loop_strategy;
        strategy.window_size = window;
        strategy.convergence_threshold = threshold;
        let ended = scene.run();
        ended.failed(Code::MaxIterationsReached);
        assert_eq!(begun(&ended), iterations, "{window} {threshold}");
    }
}

#[test]
fn the_branch_begins_as_the_profile_says() {
    let mut scene = Scene::new(&[("README.md", "x\n")], "date > x");
    scene.spec.profile.git_ops.branch_prefix = "bots/".to_owned();
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    assert!(branch.unwrap().starts_with("bots/run_"), "{branch:?}");
}
