//! A profile's machine limits: memory, disk and processes of agents, hooks and verifiers.

use awo_domain::profile::ExecutionLimits;
use awo_domain::run::RunErrorCode as Code;
use awo_domain::verification::Status;

use crate::scene::{EndedRunner, Scene, alive};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];
/// Three ways to take too much, with the message of each.
const GREEDY: [(&str, &str); 3] = [
    (
        "head -c 200000000 /dev/zero | tail -c 200000000 | sleep 300",
        "executionLimits.maxMemoryMb is 64",
    ),
    (
        "head -c 90000000 /dev/urandom > \"$TMPDIR/big\"; sleep 300",
        "executionLimits.maxDiskMb is 64",
    ),
    (
        "while :; do sleep 300 & done",
        "executionLimits.maxProcesses is 16",
    ),
];

fn grant(limits: &mut ExecutionLimits) {
    limits.max_memory_mb = Some(64);
    limits.max_disk_mb = Some(64);
    limits.max_processes = Some(16);
}

fn run(files: &[(&str, &str)], agent: &str, more: impl Fn(&mut Scene)) -> EndedRunner {
    let mut scene = Scene::new(files, agent).once();
    grant(&mut scene.spec.profile.execution_limits);
    more(&mut scene);
    let ended = scene.run();
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
    ended
}

#[test]
fn an_agent_that_takes_more_of_the_machine_than_its_profile_grants_is_ended_with_the_reason() {
    for (greedy, reported) in GREEDY {
        let agent = format!(
            "[ $AWO_ITERATION = 1 ] || {{ grep -qF '{reported}' \"$AWO_PROMPT\" && date > x; exit; }}; {greedy}"
        );
        let ended = run(FILES, &agent, |scene| {
            scene.spec.asked_iterations = Some(2);
        });
        ended.succeeded();
        let reason = ended.agent_reason();
        assert!(
            reason.contains("the agent was ended: it took") && reason.contains(reported),
            "{reason}"
        );
        assert_eq!(ended.finish.unwrap().iterations, 2);
    }
}

#[test]
fn an_agent_that_works_within_its_limits_is_left_alone() {
    let agent = "for i in 1 2 3 4 5; do sleep 0.4 & done; wait; \
                 head -c 20000000 /dev/urandom > \"$TMPDIR/some\"; date > x";
    run(FILES, agent, |_| {}).succeeded();
}

#[test]
fn a_verifier_that_takes_more_of_the_machine_than_the_profile_grants_fails_its_check() {
    for (greedy, reported) in GREEDY {
        let greedy = greedy.replace('"', "\\\"");
        let plan = format!("tests: [{{name: unit, run: \"{greedy}\"}}]\n");
        let ended = run(&[("verify.yaml", &plan)], "date > x", |_| {});
        ended.failed(Code::MaxIterationsReached);
        let check = ended.check("unit");
        assert_eq!(check.status, Status::Failed);
        assert!(check.message.contains(reported), "{}", check.message);
    }
}

#[test]
fn a_hook_that_takes_more_of_the_machine_than_the_profile_grants_fails_the_run() {
    let (greedy, reported) = GREEDY[2];
    let ended = run(FILES, "date > x", |scene| {
        scene.spec.hooks.post_create = vec![greedy.to_owned()];
    });
    let message = ended.failed(Code::WorkspaceFailed);
    assert!(message.contains(reported), "{message}");
}

#[test]
fn what_an_attempt_left_on_the_disk_may_be_put_in_order_by_the_next() {
    let agent = "case $AWO_ITERATION in
        1) head -c 90000000 /dev/urandom > \"$HOME/big\"; sleep 300;;
        *) sleep 0.5; rm \"$HOME/big\"; date > x;; esac";
    let ended = run(FILES, agent, |scene| scene.spec.asked_iterations = Some(2));
    ended.succeeded();
}
