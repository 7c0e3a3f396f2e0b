//! Reports of tests, linters and coverage; retried tests; files that commands leave behind.

use awo_domain::run::RunErrorCode as Code;
use awo_domain::verification::Status;

use crate::scene::{EndedRunner, Scene};

/// A run of one iteration of an agent that changes something.
fn once(files: &[(&str, &str)]) -> EndedRunner {
    Scene::new(files, "echo x > x").once().run()
}

/// A plan with one test, `unit`, that writes the file `given` as its report.
fn reported(format: &str, given: &str, exit: u8) -> EndedRunner {
    let plan = format!(
        "tests: [{{name: unit, run: 'cp given out; exit {exit}', report: {{format: {format}, path: out}}}}]\n"
    );
    once(&[("verify.yaml", &plan), ("given", given)])
}

fn says(ended: &EndedRunner, name: &str, status: Status, word: &str) {
    let check = ended.check(name);
    assert_eq!(check.status, status, "{check:?}");
    assert!(check.message.contains(word), "{check:?}");
}

const JUNIT: &str = "<testsuites><testsuite tests='0'><testcase classname='calc' name='adds'/>\
    <testcase classname='calc' name='divides'><failure message='by zero'>calc.py:5</failure></testcase>\
    <testcase name='net'><skipped/></testcase></testsuite></testsuites>";
const SARIF: &str = r#"{"runs":[{"results":[
    {"ruleId":"E1","level":"error","message":{"text":"bad"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.js"},"region":{"startLine":3}}}]},
    {"ruleId":"W1","level":"warning","message":{"text":"odd"}}]}]}"#;

#[test]
fn failing_tests_and_findings_of_reports_are_checks_with_names_and_reach_the_agent() {
    let ended = reported("junit", JUNIT, 1);
    says(
        &ended,
        "unit",
        Status::Failed,
        "1 failed, 1 passed, 1 skipped; exit code 1",
    );
    says(
        &ended,
        "unit: calc.divides",
        Status::Failed,
        "by zero\ncalc.py:5",
    );
    says(&ended, "unit: net", Status::Skipped, "skipped");
    assert_eq!(ended.results()[1].checks.len(), 3);
    let ended = reported("tap", "1..2\nok 1 - a\nnot ok 2 - b\n", 1);
    says(&ended, "unit: b", Status::Failed, "");
    let ended = reported("sarif", SARIF, 1);
    says(&ended, "unit: E1 a.js:3", Status::Failed, "bad");
    says(&ended, "unit: W1", Status::Warning, "odd");

    let plan = "tests: [{name: unit, run: 'cp given out; test -e noted', report: {format: junit, path: out}}]\n";
    let good = "<testsuite><testcase name='a'/></testsuite>";
    let agent = "test $AWO_ITERATION = 1 || { grep -q 'unit: calc.divides' \"$AWO_PROMPT\" && cp good given && touch noted; }; echo $AWO_ITERATION > x";
    let files = [("verify.yaml", plan), ("given", JUNIT), ("good", good)];
    Scene::new(&files, agent).run().succeeded();
}

#[test]
fn a_report_and_an_exit_code_must_agree_that_all_is_well() {
    let ended = reported("junit", JUNIT, 0);
    ended.failed(Code::MaxIterationsReached);
    says(&ended, "unit", Status::Failed, "exit code 0");
    says(&ended, "unit: calc.divides", Status::Failed, "by zero");
    let good = "<testsuite><testcase name='a'/></testsuite>";
    let ended = reported("junit", good, 1);
    ended.failed(Code::MaxIterationsReached);
    says(&ended, "unit", Status::Failed, "though out names 1 passed");
    let ended = reported("sarif", SARIF, 0);
    says(&ended, "unit", Status::Failed, "1 failed");
    let ended = reported("junit", good, 0);
    ended.succeeded();
    says(&ended, "unit", Status::Passed, "1 passed");
    let skipped = "<testsuite><testcase name='a'><skipped/></testcase></testsuite>";
    let ended = reported("junit", skipped, 0);
    ended.succeeded();
    says(&ended, "unit", Status::Warning, "no tests ran");
    for (format, none) in [("junit", "<testsuite/>"), ("tap", "1..0\n")] {
        let ended = reported(format, none, 0);
        ended.succeeded();
        says(&ended, "unit", Status::Warning, "no tests ran");
        says(&ended, "no tests ran", Status::Warning, "unit");
    }
}

#[test]
fn a_report_that_cannot_be_relied_on_is_an_error_of_a_command_that_passed() {
    for (format, given, why) in [
        ("junit", "", "is empty"),
        ("junit", "<testsuite><testcase>", "ends in the middle"),
        ("tap", "ok 1\n", "no plan"),
        ("sarif", "{\"runs\":[]}", "no run"),
        ("sarif", "not json", "not SARIF"),
    ] {
        let ended = reported(format, given, 0);
        ended.failed(Code::MaxIterationsReached);
        says(&ended, "unit", Status::Error, why);
    }
    for (run, why) in [
        ("true", "does not exist"),
        ("mkdir out", "is not a regular file"),
        ("mkfifo out", "is not a regular file"),
        ("ln -s /etc/hosts out", "outside"),
        ("head -c 20000000 /dev/zero > out", "is larger than"),
    ] {
        let plan =
            format!("tests: [{{name: unit, run: '{run}', report: {{format: tap, path: out}}}}]\n");
        let ended = once(&[("verify.yaml", &plan)]);
        ended.failed(Code::MaxIterationsReached);
        says(&ended, "unit", Status::Error, why);
    }
    let ended = reported("junit", "<testsuite/>", 3);
    says(&ended, "unit", Status::Failed, "names nothing");
}

#[test]
fn a_report_that_an_agent_commits_is_not_the_report_of_the_tests() {
    let plan = "tests: [{name: unit, run: 'true', report: {format: junit, path: out.xml}}]\n";
    let forge = "echo \"<testsuite><testcase name='a'/></testsuite>\" > out.xml";
    let ended = Scene::new(&[("verify.yaml", plan)], forge).once().run();
    ended.failed(Code::MaxIterationsReached);
    says(&ended, "unit", Status::Error, "existed before");

    let plan = "tests: [{run: 'true'}]\nsanity: {coverage: {format: lcov, path: lcov.info, minimum: 0.8}}\n";
    let forge = "printf 'SF:a\\nDA:1,1\\nend_of_record\\n' > lcov.info";
    let ended = Scene::new(&[("verify.yaml", plan)], forge).once().run();
    ended.failed(Code::MaxIterationsReached);
    says(&ended, "coverage", Status::Error, "part of the commit");
}

#[test]
fn coverage_is_read_from_cobertura_and_a_report_that_is_missing_is_an_error() {
    let report = "<coverage><class filename='a'><lines><line number='1' hits='1'/><line number='2' hits='0'/></lines></class></coverage>";
    let plan = |run: &str, minimum: &str| {
        format!(
            "tests: [{{run: '{run}'}}]\nsanity: {{coverage: {{format: cobertura, path: c.xml, minimum: {minimum}}}}}\n"
        )
    };
    for (run, minimum, status, word) in [
        (
            "cp given c.xml",
            "0.5",
            Status::Passed,
            "1 of 2 lines are covered, 50.0 %",
        ),
        ("cp given c.xml", "0.51", Status::Failed, "at least 51.0 %"),
        ("true", "0", Status::Error, "was not written"),
        (
            "echo \"<coverage/>\" > c.xml",
            "0",
            Status::Error,
            "names no lines",
        ),
        (
            "echo \"<coverage>\" > c.xml",
            "0",
            Status::Error,
            "ends in the middle",
        ),
    ] {
        let plan = plan(run, minimum);
        let ended = once(&[("verify.yaml", &plan), ("given", report)]);
        says(&ended, "coverage", status, word);
    }
}

/// A test that fails as often as `fails` says, counted outside of the checkout's files.
fn flaky(fails: u32, retries: u32) -> EndedRunner {
    let run = format!(
        "echo x >> $TMPDIR/n; test $(wc -l < $TMPDIR/n) -gt {fails} && cp good out || {{ cp given out; exit 1; }}"
    );
    let plan = format!(
        "tests:\n  - {{name: unit, run: '{run}', report: {{format: junit, path: out}}}}\n  - {{name: other, run: 'true'}}\n"
    );
    let good = "<testsuite><testcase name='a'/></testsuite>";
    let files = [
        ("verify.yaml", plan.as_str()),
        ("given", JUNIT),
        ("good", good),
    ];
    let mut scene = Scene::new(&files, "echo x > x").once();
    scene.spec.profile.verification.retry_flaky = retries;
    scene.run()
}

#[test]
fn a_test_that_passes_when_it_is_tried_again_is_a_warning_that_names_it_flaky() {
    let ended = flaky(2, 2);
    ended.succeeded();
    says(
        &ended,
        "unit",
        Status::Warning,
        "flaky: passed when its command was run again, in try 3",
    );
    says(&ended, "unit: calc.divides", Status::Warning, "by zero");
    says(&ended, "other", Status::Passed, "");
    let ended = flaky(3, 2);
    ended.failed(Code::MaxIterationsReached);
    says(&ended, "unit", Status::Failed, "failed 3 times");
    says(&ended, "unit: calc.divides", Status::Failed, "by zero");
    let ended = flaky(1, 0);
    ended.failed(Code::MaxIterationsReached);
    says(&ended, "unit", Status::Failed, "exit code 1");
    assert!(!ended.check("unit").message.contains("times"));
}

#[test]
fn only_tests_are_tried_again_and_not_one_that_ran_out_of_time() {
    let count = "echo x >> $TMPDIR/n; test $(wc -l < $TMPDIR/n) -gt 1";
    let lint = format!("contracts: {{commands: [{{name: lint, run: '{count}'}}]}}\n");
    let slow = format!("tests: [{{name: slow, run: '{count} || sleep 4321', timeoutMs: 200}}]\n");
    for (plan, name, status) in [
        (lint, "lint", Status::Failed),
        (slow, "slow", Status::Error),
    ] {
        let mut scene = Scene::new(&[("verify.yaml", &plan)], "echo x > x").once();
        scene.spec.profile.verification.retry_flaky = 3;
        let ended = scene.run();
        ended.failed(Code::MaxIterationsReached);
        assert_eq!(ended.check(name).status, status, "{plan}");
    }
}

#[test]
fn what_the_commands_leave_behind_is_a_warning() {
    let run = "cp given out; mkdir -p built new a/__pycache__; touch built/x new/y a/__pycache__/x; echo z >> old; rm gone";
    let plan =
        format!("tests: [{{name: unit, run: '{run}', report: {{format: junit, path: out}}}}]\n");
    let good = "<testsuite><testcase name='a'/></testsuite>";
    let files = [
        ("verify.yaml", plan.as_str()),
        (".gitignore", "built\n"),
        ("given", good),
        ("old", "z\n"),
        ("gone", "z\n"),
        ("same", "z\n"),
    ];
    let ended = once(&files);
    ended.succeeded();
    says(
        &ended,
        "clean tree",
        Status::Warning,
        "changed gone, new/y, old:",
    );
    let ended = once(&[("verify.yaml", "tests: [{run: 'test -e x'}]\n")]);
    ended.succeeded();
    says(&ended, "clean tree", Status::Passed, "nothing");
}

#[test]
fn what_verification_itself_puts_back_is_not_left_behind() {
    let files = [("Makefile", "test:\n\ttrue\n"), ("tests/a_test.py", "")];
    let agent = "printf 'test:\\n\\tfalse\\n' > Makefile";
    let ended = Scene::new(&files, agent).once().run();
    ended.succeeded();
    says(&ended, "clean tree", Status::Passed, "nothing");
    let plan = "protected: ['tests/**']\ntests: [{run: 'test ! -e tests/b'}]\n";
    let files = [("verify.yaml", plan), ("tests/a", "")];
    let ended = Scene::new(&files, "touch tests/b; echo x > tests/a")
        .once()
        .run();
    ended.succeeded();
    says(&ended, "clean tree", Status::Passed, "nothing");
}
