//! Agents that fail, and the resulting endings.

use awo_domain::agent::AgentType;
use awo_domain::control::RunnerEvent as E;
use awo_domain::run::RunErrorCode as Code;

use crate::scene::{Scene, git};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];

#[test]
fn an_exit_code_fails_the_iteration_and_its_output_is_the_next_ones_feedback() {
    let agent = "if [ $AWO_ITERATION = 1 ]; then echo no luck >&2; exit 3; fi; \
                 grep -q 'exit code 3' \"$AWO_PROMPT\" && grep -q 'no luck' \"$AWO_PROMPT\"";
    let ended = Scene::new(FILES, agent).run();
    ended.succeeded();
    let failed = ended.events.iter().any(|event| {
        matches!(
            event,
            E::AgentFinished {
                iteration: 1,
                completed: false,
                exit_code: Some(3),
                ..
            }
        )
    });
    assert!(failed);
}

#[test]
fn an_agent_that_fails_to_the_end_fails_the_run_and_its_usage_counts() {
    let agent = r#"echo x >> x; echo '{"status":"failed","summary":"too hard","usage":[{"model":"m","inputTokens":5,"outputTokens":5}]}' > "$AWO_RESULT""#;
    let mut scene = Scene::new(FILES, agent);
    scene.spec.asked_iterations = Some(2);
    let ended = scene.run();
    let message = ended.failed(Code::AgentFailed);
    assert!(message.contains("too hard"), "{message}");
    let finish = ended.finish.as_ref().unwrap();
    assert_eq!(
        (finish.iterations, finish.usage[0].usage.input_tokens),
        (2, 10)
    );
    let commits = ended
        .events
        .iter()
        .filter(|e| matches!(e, E::Committed { .. }));
    assert_eq!(
        commits.count(),
        2,
        "what a failed iteration changed is a commit, too"
    );
}

#[test]
fn an_agent_that_hangs_is_stopped_with_its_tree_and_the_run_times_out() {
    let mut scene = Scene::new(FILES, "setsid sleep 4321 & sleep 4321").once();
    scene.spec.profile.execution_limits.max_iteration_ms = 300;
    let ended = scene.run();
    assert!(ended.failed(Code::Timeout).contains("300 ms"));
    let run = scene.spec.run_id.as_str();
    assert_eq!(crate::scene::alive(run), Vec::<String>::new());
}

#[test]
fn the_time_of_the_whole_run_is_an_end_even_with_iterations_left() {
    let mut scene = Scene::new(FILES, "sleep 4321");
    scene.spec.max_duration_ms = 600;
    let ended = scene.run();
    assert!(ended.failed(Code::Timeout).contains("maxDurationMs"));
    assert_eq!(ended.finish.unwrap().iterations, 1);
}

#[test]
fn a_flood_of_output_neither_blocks_nor_fills_anything() {
    let agent = "head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo THE END";
    let scene = Scene::new(FILES, agent);
    let ended = scene.run();
    ended.succeeded();
    let log = std::fs::read(ended.run_dir.join("logs/1.log")).unwrap();
    assert_eq!(log.len(), 262_144);
    assert!(log.ends_with(b"x\nTHE END\n"));
}

#[test]
fn an_invalid_result_file_fails_the_iteration_with_the_place_of_the_fault() {
    for (result, word) in [
        ("echo '{\"sumary\":1}' > \"$AWO_RESULT\"", "sumary"),
        ("echo nonsense > \"$AWO_RESULT\"", "line 1"),
        ("head -c 2000000 /dev/zero > \"$AWO_RESULT\"", "larger"),
        ("mkfifo \"$AWO_RESULT\"", "not a regular file"),
        ("mkdir \"$AWO_RESULT\"", "not a regular file"),
        (
            "echo '{}' > real.json; ln -s \"$PWD/real.json\" \"$AWO_RESULT\"",
            "not a regular file",
        ),
    ] {
        let ended = Scene::new(FILES, result).once().run();
        ended.failed(Code::AgentFailed);
        let reason = ended.agent_reason();
        assert!(reason.contains(word), "{result}: {reason}");
    }
}

#[test]
fn an_old_result_file_is_not_taken_for_a_new_one() {
    let agent = "if [ $AWO_ITERATION = 1 ]; then echo '{\"status\":\"failed\"}' > \"$AWO_RESULT\"; \
                 else [ ! -e \"$AWO_RESULT\" ]; fi";
    Scene::new(FILES, agent).run().succeeded();
}

#[test]
fn without_an_agent_the_run_says_so_before_it_begins_an_iteration() {
    let mut scene = Scene::new(FILES, "");
    scene.spec.agent.command = None;
    let ended = scene.run();
    assert!(
        ended
            .failed(Code::AgentNotConfigured)
            .contains(".awo/agent.sh")
    );
    assert_eq!(ended.finish.as_ref().unwrap().iterations, 0);

    for kind in [AgentType::ClaudeCode, AgentType::Codex, AgentType::Opencode] {
        let mut scene = Scene::new(FILES, "");
        scene.spec.agent.kind = kind;
        let ended = scene.run();
        let message = ended.failed(Code::AgentNotConfigured);
        assert!(message.contains(kind.as_str()), "{message}");
        assert_eq!(ended.events, []);
    }
}

#[test]
fn the_repositorys_own_agent_is_used_if_it_is_executable() {
    let script = "#!/bin/sh\necho done > done\n";
    let mut scene = Scene::new(&[(".awo/agent.sh", script)], "");
    scene.spec.agent.command = None;
    assert!(scene.run().succeeded().0.is_some());

    let mut scene = Scene::new(FILES, "");
    scene.spec.agent.command = None;
    std::fs::create_dir(scene.origin().join(".awo")).unwrap();
    std::fs::write(scene.origin().join(".awo/agent.sh"), script).unwrap();
    git(&scene.origin(), &["add", "--all"]);
    git(&scene.origin(), &["commit", "-q", "-m", "agent"]);
    let ended = scene.run();
    assert!(ended.failed(Code::AgentNotConfigured).contains("chmod +x"));
}

#[test]
fn the_patch_agent_applies_the_patch_of_its_iteration() {
    let patch = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-x\n+y\n";
    let plan = "tests: [{run: 'grep -q y README.md'}]\n";
    let files = [
        ("README.md", "x\n"),
        ("verify.yaml", plan),
        (".awo/patches/1.patch", "not a patch\n"),
        (".awo/patches/2.patch", patch),
    ];
    let mut scene = Scene::new(&files, "");
    scene.spec.agent.kind = AgentType::Patch;
    let ended = scene.run();
    assert!(ended.succeeded().0.is_some());
    assert!(
        ended.agent_reason().contains("No valid patches"),
        "{}",
        ended.agent_reason()
    );

    let mut scene = Scene::new(FILES, "");
    scene.spec.agent.kind = AgentType::Patch;
    let ended = scene.run();
    assert!(
        ended
            .failed(Code::AgentNotConfigured)
            .contains(".awo/patches/1.patch")
    );

    let mut scene = Scene::new(
        &[
            ("README.md", "x\n"),
            (".awo/patches/1.patch", patch),
            ("verify.yaml", "tests: [{run: 'false'}]\n"),
        ],
        "",
    );
    scene.spec.agent.kind = AgentType::Patch;
    let ended = scene.run();
    assert!(ended.failed(Code::AgentFailed).contains(".awo/patches/"));
}

#[test]
fn an_agent_that_cannot_be_started_is_distinguished_from_one_that_fails() {
    let mut scene = Scene::new(FILES, "");
    scene.spec.agent.command = Some(vec!["/no/such/agent".to_owned()]);
    let ended = scene.run();
    assert!(
        ended
            .failed(Code::AgentFailed)
            .contains("could not be started")
    );
    let tried = ended.finish.unwrap().iterations;
    assert_eq!(tried, 1, "another iteration cannot start it either");
}

#[test]
fn iterations_that_never_pass_end_with_the_names_of_the_failing_checks() {
    let plan = "tests: [{name: unit tests, run: 'echo broken; exit 1'}]\n";
    let mut scene = Scene::new(&[("verify.yaml", plan)], "echo x >> x");
    scene.spec.asked_iterations = Some(2);
    let ended = scene.run();
    let message = ended.failed(Code::MaxIterationsReached);
    assert!(message.contains("unit tests"), "{message}");
    assert!(ended.check("unit tests").message.contains("broken"));
}
