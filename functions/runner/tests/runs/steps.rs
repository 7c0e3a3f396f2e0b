//! Steps of a verification: installation, needs, and programs that are missing.

use awo_domain::control::RunnerEvent as E;
use awo_domain::run::RunErrorCode as Code;
use awo_domain::verification::{Level, Status};

use crate::scene::Scene;

/// A run of one iteration whose agent is `agent`.
fn once(files: &[(&str, &str)], agent: &str) -> crate::scene::EndedRunner {
    let scene = Scene::new(files, agent).once();
    scene.run()
}

#[test]
fn a_test_that_needs_a_command_is_run_only_if_that_passed() {
    let plan = "contracts: {commands: [{name: build, run: 'test -e built'}]}\n\
                tests: [{name: unit, run: 'true', needs: [build]}, {name: other, run: 'true'}]\n";
    let ended = once(&[("verify.yaml", plan)], "echo x > x");
    let unit = ended.check("unit");
    assert_eq!(unit.status, Status::Skipped);
    assert!(unit.message.contains("\"build\""), "{}", unit.message);
    assert_eq!(ended.check("other").status, Status::Passed);
    once(&[("verify.yaml", plan)], "touch built").succeeded();
    // Without the level of the contracts the command is run for the test that needs it.
    let mut scene = Scene::new(&[("verify.yaml", plan)], "echo x > x").once();
    scene.spec.profile.verification.skip_levels = vec![Level::L0];
    let ended = scene.run();
    assert_eq!(ended.check("build").status, Status::Failed);
    assert_eq!(ended.check("unit").status, Status::Skipped);

    let plan = "tests: [{name: unit, run: 'true', needs: [lint]}]\n";
    let ended = once(&[("verify.yaml", plan)], "echo x > x");
    let why = ended.failed(Code::WorkspaceFailed);
    assert!(why.contains("tests[0].needs"), "{why}");
}

#[test]
fn a_set_up_that_does_not_pass_leaves_the_tests_out() {
    let plan = "setup: [{name: deps, run: 'false'}]\ncontracts: {commands: [{name: lint, run: 'true'}]}\n\
                tests: [{name: unit, run: 'true'}]\n";
    let ended = once(&[("verify.yaml", plan)], "echo x > x");
    assert_eq!(ended.check("setup: deps").status, Status::Failed);
    for name in ["lint", "unit"] {
        assert_eq!(ended.check(name).status, Status::Skipped, "{name}");
    }
}

#[test]
fn commands_of_a_verification_have_ci_set_and_nothing_to_read() {
    let plan = "tests: [{name: unit, run: 'test \"$CI\" = true && test -z \"$(cat)\"'}]\n";
    once(&[("verify.yaml", plan)], "echo x > x").succeeded();
}

#[test]
fn what_a_makefile_names_and_the_machine_lacks_ends_the_run_before_its_agent() {
    let files = [(
        "Makefile",
        "lint:\n\tno-such-linter-here run\ntest:\n\ttrue\n",
    )];
    let ended = once(&files, "echo x > x");
    let why = ended.failed(Code::WorkspaceFailed);
    assert!(why.contains("no-such-linter-here"), "{why}");
    let finish = ended.finish.unwrap();
    assert_eq!((finish.iterations, finish.executed), (0, false));
}

#[test]
fn a_program_that_only_the_agent_names_is_a_failure_and_no_fault_of_the_machine() {
    let lint = "lint: tools\n\tno-such-linter-here run\ntools:\n\ttrue\ntest:\n\tsh tests/t.sh\n";
    // Nothing can be known before: another target may install it.
    let ended = once(
        &[("Makefile", lint), ("tests/t.sh", "true\n")],
        "echo x > x",
    );
    ended.failed(Code::WorkspaceFailed);
    assert_eq!(ended.check("make lint").status, Status::Error);
    assert_eq!(ended.check("make test").status, Status::Warning, "no count");
    let files = [
        ("Makefile", "test:\n\tsh tests/t.sh\n"),
        ("tests/t.sh", "true\n"),
    ];
    let ended = once(&files, "echo no-such-tool-here > tests/t.sh");
    ended.failed(Code::MaxIterationsReached);
    assert_eq!(ended.check("make test").status, Status::Failed);
}

#[test]
fn packages_are_installed_before_the_agent_and_in_each_checkout() {
    let package = r#"{"name": "p", "version": "1.0.0", "scripts": {"test": "node t.js", "lint": "exit 1"},
        "dependencies": {"dep": "file:dep"}}"#;
    let files = [
        ("package.json", package),
        ("dep/package.json", r#"{"name": "dep", "version": "1.0.0"}"#),
        ("dep/index.js", "module.exports = 5;\n"),
        (
            "t.js",
            "if (require('dep') !== 5) process.exit(1); console.log('# tests 1\\n# pass 1\\n# fail 0');\n",
        ),
    ];
    let ended = once(&files, "test -e node_modules/dep || exit 3; echo x > x");
    assert_eq!(ended.check("install").status, Status::Passed);
    let results = ended.results();
    let mut levels = results.iter();
    let contracts = levels.find(|result| result.level == Level::L0).unwrap();
    assert!(contracts.checks.iter().any(|check| check.name == "install"));
    assert_eq!(ended.check("npm run lint").status, Status::Failed);
    assert_eq!(ended.check("npm test").status, Status::Passed);
    let changed = ended.events.iter().find_map(|event| match event {
        E::Committed { files_changed, .. } => Some(*files_changed),
        _ => None,
    });
    assert_eq!(changed, Some(1), "what was installed is no change");
}

#[test]
fn a_module_without_packages_or_tests_is_nothing_to_verify_and_not_red() {
    let files = [
        vec![("go.mod", "module a\n\ngo 1.20\n")],
        vec![("go.mod", "module a\n\ngo 1.20\n"), ("a.go", "package a\n")],
        vec![
            ("go.mod", "module a\n\ngo 1.20\n"),
            ("testdata/a.go", "package a\n"),
        ],
    ];
    for files in files {
        let mut scene = Scene::new(&files, "date > x").once();
        scene.other_user = false;
        if std::process::Command::new("go")
            .arg("version")
            .output()
            .is_err()
        {
            println!("skipped: go is not installed");
            return;
        }
        let ended = scene.run();
        ended.succeeded();
        assert!(!crate::green::verified(&ended).0, "{files:?}");
    }
}
