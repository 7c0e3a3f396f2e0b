//! The number of iterations, by the profile.

use awo_domain::control::{Configuration, RunnerEvent as E};
use awo_domain::profile::{Profile, resolve_built_in};
use awo_domain::run::RunErrorCode;

use crate::scene::{EndedRunner, Scene};

const NEVER: &[(&str, &str)] = &[("verify.yaml", "tests: [{name: unit, run: 'false'}]\n")];

fn with(profile: Profile, files: &[(&str, &str)], agent: &str) -> EndedRunner {
    let mut scene = Scene::new(files, agent);
    scene.spec.profile = profile;
    scene.run()
}

fn begun(ended: &EndedRunner) -> usize {
    let starts = |event: &&E| matches!(event, E::IterationStarted { .. });
    ended.events.iter().filter(starts).count()
}

fn ralph() -> Profile {
    resolve_built_in("ralph-style").unwrap()
}

#[test]
fn a_fixed_strategy_tries_as_often_as_it_says() {
    let ended = with(
        resolve_built_in("rapid-iteration").unwrap(),
        NEVER,
        "date > x",
    );
    ended.failed(RunErrorCode::MaxIterationsReached);
    assert_eq!(begun(&ended), 2);
}

#[test]
fn ralph_stops_when_the_agent_says_nothing_new() {
    let ended = with(
        ralph(),
        NEVER,
        "echo I am stuck at the same place; date > x",
    );
    let message = ended.failed(RunErrorCode::MaxIterationsReached);
    assert!(message.contains("last 3 outputs are the same"), "{message}");
    assert_eq!(begun(&ended), 3);
}

#[test]
fn ralph_goes_on_while_the_agent_says_something_new_and_stops_when_it_passes() {
    let files = &[("verify.yaml", "tests: [{run: 'test $(cat n) -ge 4'}]\n")];
    let agent = "echo $AWO_ITERATION > n; echo try $AWO_ITERATION $(od -An -N8 -tx8 /dev/urandom)";
    let ended = with(ralph(), files, agent);
    ended.succeeded();
    assert_eq!(begun(&ended), 4);
}

#[test]
fn ralph_has_its_least_iterations_unless_the_agent_says_that_it_is_done() {
    let files = &[("README.md", "x\n")];
    let mut profile = ralph();
    profile.loop_strategy.min_iterations = 3;
    profile.loop_strategy.completion_signals = vec!["ALL DONE".to_owned()];
    let silent = with(profile.clone(), files, "echo not ALL DONE; date > x");
    silent.succeeded();
    assert_eq!(begun(&silent), 3);
    let done = with(
        profile,
        files,
        "[ $AWO_ITERATION = 1 ] || echo ' ALL DONE '; date > x",
    );
    done.succeeded();
    assert_eq!(begun(&done), 2);
}

#[test]
fn a_run_ends_when_the_tokens_of_its_profile_are_used() {
    let mut profile = Profile::default_profile();
    profile.execution_limits.max_total_tokens = Some(25);
    let agent = r#"date > x; echo '{"usage":[{"model":"m","inputTokens":10,"outputTokens":3}]}' > "$AWO_RESULT""#;
    let ended = with(profile, NEVER, agent);
    let message = ended.failed(RunErrorCode::BudgetExceeded);
    assert!(message.contains("26 tokens"), "{message}");
    assert_eq!(begun(&ended), 2);
}

#[test]
fn what_the_service_says_at_its_start_counts_for_an_iteration() {
    let agent = "cp \"$AWO_REQUEST\" request-$AWO_ITERATION.json";
    let scene = Scene::new(NEVER, agent);
    let running = scene.start();
    let mut profile = Profile::default_profile();
    profile.loop_strategy.base_iterations = 1;
    profile.loop_strategy.bonus_iterations = 0;
    profile.git_ops.commit_message_prefix = "fix: ".to_owned();
    running.control.seen().configuration = Some(Configuration {
        profile,
        max_duration_ms: 50_000,
    });
    let ended = running.end(scene.dir.path());
    ended.failed(RunErrorCode::MaxIterationsReached);
    // The answer may come too late for the first one.
    assert!(begun(&ended) <= 2, "{:#?}", ended.events);
}

#[test]
fn only_the_plugins_that_the_profile_names_run() {
    let plan = "tests: [{name: unit, run: 'false'}]\ncontracts: {requiredFiles: [README.md]}\n";
    let mut scene = Scene::new(&[("verify.yaml", plan), ("README.md", "x\n")], "date > x");
    scene.spec.profile.verification.plugin_ids = vec!["built-in:contracts".to_owned()];
    let ended = scene.run();
    ended.succeeded();
    let ran: Vec<String> = (ended.results().iter())
        .map(|result| result.plugin_id.to_string())
        .collect();
    assert_eq!(ran, ["built-in:contracts"]);
}
