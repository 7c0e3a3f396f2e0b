//! Evidence of a verdict: counted tests, exit codes, or none; and reports by patterns.

use awo_domain::control::RunnerEvent as E;
use awo_domain::profile::EvidenceRequirement;
use awo_domain::run::RunErrorCode as Code;
use awo_domain::verification::{Evidence, Status, TestSource};

use crate::green::verified;
use crate::scene::{EndedRunner, Scene};

fn once(files: &[(&str, &str)], agent: &str) -> Scene {
    Scene::new(files, agent).once()
}

/// Evidence and counted tests of the last verification.
fn evidence(ended: &EndedRunner) -> (Evidence, [u64; 3]) {
    let last = ended.events.iter().rev().find_map(|event| match event {
        E::VerificationFinished {
            evidence, tests, ..
        } => Some((*evidence, [tests.passed, tests.failed, tests.skipped])),
        _ => None,
    });
    last.unwrap()
}

#[test]
fn a_run_shows_counted_tests_or_that_exit_codes_are_its_evidence() {
    let jest = "> jest\\n\\nTests:       3 passed, 3 total\\n\\n> jest --passWithNoTests\\n\\nNo tests found, exiting with code 0\\n";
    for (tests, expected, is_verified) in [
        (
            format!("[{{name: unit, run: \"printf '{jest}'\"}}]"),
            (Evidence::Counted, [3, 0, 0]),
            true,
        ),
        (
            "[{name: unit, run: 'true'}]".to_owned(),
            (Evidence::ExitCode, [0; 3]),
            true,
        ),
        (
            "[{name: unit, run: \"echo 'No tests were found!!!'\"}]".to_owned(),
            (Evidence::None, [0; 3]),
            false,
        ),
    ] {
        let plan = format!("tests: {tests}\n");
        let ended = once(&[("verify.yaml", plan.as_str())], "date > x").run();
        ended.succeeded();
        assert_eq!(evidence(&ended), expected, "{tests}");
        assert_eq!(verified(&ended).0, is_verified, "{tests}");
    }
    let lint = "contracts: {commands: [{name: lint, run: 'true'}]}\nsetup: [{run: 'true'}]\n";
    let ended = once(&[("verify.yaml", lint)], "date > x").run();
    assert_eq!(evidence(&ended).0, Evidence::None, "a linter is no test");
}

#[test]
fn a_detected_command_without_a_count_is_a_warning_and_no_evidence() {
    let ended = once(&[("Makefile", "test:\n\t@true\n")], "date > x").run();
    ended.succeeded();
    let check = ended.check("make test");
    assert_eq!(check.status, Status::Warning, "{}", check.message);
    let source = check.tests.map(|tests| tests.source);
    assert_eq!(source, Some(TestSource::ExitCode));
    assert_eq!(evidence(&ended), (Evidence::None, [0; 3]));
    let counted = "test:\n\t@echo '3 passed, 1 skipped in 0.05s'\n";
    let ended = once(&[("Makefile", counted)], "date > x").run();
    assert_eq!(evidence(&ended), (Evidence::Counted, [3, 0, 1]));
    assert!(verified(&ended).0);
}

#[test]
fn a_profile_may_want_counted_tests() {
    let counted = "tests: [{name: unit, run: \"echo '3 passed in 0.05s'\"}]\n";
    for (plan, fails) in [
        ("tests: [{name: unit, run: 'true'}]\n", true),
        (counted, false),
    ] {
        let mut scene = once(&[("verify.yaml", plan)], "date > x");
        scene.spec.profile.verification.required = EvidenceRequirement::Counted;
        let ended = scene.run();
        if fails {
            let why = ended.failed(Code::NotVerified);
            assert!(why.contains("counted"), "{why}");
        } else {
            ended.succeeded();
        }
    }
}

#[test]
fn reports_of_a_pattern_are_added_and_read_in_their_encoding() {
    let plan = "tests:\n  - name: many\n    run: \"mkdir -p out; printf '<testsuite><testcase name=\\\"good\\\"/></testsuite>' > out/TEST-a.xml; printf '<?xml version=\\\"1.0\\\" encoding=\\\"ISO-8859-1\\\"?><testsuite><testcase classname=\\\"c\\\" name=\\\"gr\\\\366\\\\337e\\\"><failure>x</failure></testcase></testsuite>' > out/TEST-b.xml; exit 1\"\n    report: {format: junit, path: 'out/TEST-*.xml'}\n";
    let ended = once(&[("verify.yaml", plan)], "date > x").run();
    ended.failed(Code::MaxIterationsReached);
    assert_eq!(ended.check("many: c.größe").status, Status::Failed);
    let tests = ended.check("many").tests.unwrap();
    assert_eq!((tests.passed, tests.failed), (1, 1));
    assert_eq!(tests.source, TestSource::Report);
}

#[test]
fn a_command_that_succeeds_although_its_own_summary_names_failures_fails() {
    for (output, failed) in [
        ("==== 1 failed, 2 passed in 0.10s ====", 1),
        ("Tests:       2 failed, 3 passed, 5 total", 2),
        (
            "test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out",
            3,
        ),
        ("Tests run: 4, Failures: 1, Errors: 0, Skipped: 0", 1),
        ("3 examples, 1 failure", 1),
        ("50% tests passed, 1 tests failed out of 2", 1),
    ] {
        for (ending, status) in [
            ("", Status::Failed),
            ("; exit 0", Status::Failed),
            (" || true", Status::Warning),
        ] {
            let plan = format!("tests: [{{name: unit, run: \"echo '{output}'{ending}\"}}]\n");
            let ended = once(&[("verify.yaml", plan.as_str())], "date > x").run();
            let unit = ended.check("unit");
            assert_eq!(unit.status, status, "{output}{ending}: {}", unit.message);
            assert!(unit.message.contains("names failures"), "{}", unit.message);
            assert_eq!(unit.tests.unwrap().failed, failed, "{output}");
            assert_eq!(evidence(&ended).0, Evidence::None, "{output}{ending}");
        }
    }
}

#[test]
fn a_report_without_a_format_is_read_by_its_content() {
    let reports = [
        "<testsuite><testcase name=\\\"a\\\"/><testcase name=\\\"b\\\"><failure/></testcase></testsuite>",
        "1..2\\nok 1 - a\\nnot ok 2 - b\\n",
        "{\\\"testResults\\\": [{\\\"assertionResults\\\": [{\\\"fullName\\\": \\\"a\\\", \\\"status\\\": \\\"passed\\\"}, {\\\"fullName\\\": \\\"b\\\", \\\"status\\\": \\\"failed\\\"}]}]}",
        "{\\\"Action\\\":\\\"pass\\\",\\\"Package\\\":\\\"p\\\",\\\"Test\\\":\\\"a\\\"}\\n{\\\"Action\\\":\\\"fail\\\",\\\"Package\\\":\\\"p\\\",\\\"Test\\\":\\\"b\\\"}\\n",
    ];
    for report in reports {
        for format in ["", "format: json, "] {
            if report.starts_with(['<', '1']) && !format.is_empty() {
                continue;
            }
            let plan = format!(
                "tests: [{{name: unit, run: \"printf '{report}' > r; exit 1\", report: {{{format}path: r}}}}]\n"
            );
            let ended = once(&[("verify.yaml", plan.as_str())], "date > x").run();
            let tests = ended.check("unit").tests.unwrap();
            assert_eq!((tests.passed, tests.failed), (1, 1), "{report}");
            assert_eq!(tests.source, TestSource::Report);
        }
    }
}

#[test]
fn the_reports_of_a_detected_build_are_counted_and_without_them_its_closing_lines() {
    let maven = "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0";
    for (manifest, program, folder, summary) in [
        ("pom.xml", "mvn", "target/surefire-reports", maven),
        (
            "build.gradle",
            "gradle",
            "core/build/test-results/test",
            "3 tests completed",
        ),
        ("web/pom.xml", "mvn", "core/target/surefire-reports", maven),
    ] {
        for writes in [true, false] {
            let mut scene = once(&[(manifest, "<project/>\n")], "date > x");
            let programs = scene.dir.path().join("programs");
            std::fs::create_dir(&programs).unwrap();
            let report = format!(
                "mkdir -p {folder}; echo '<testsuite><testcase name=\"a\"/></testsuite>' > {folder}/TEST-a.xml\n"
            );
            let script = format!(
                "#!/bin/sh\n{}echo '{summary}'\n",
                if writes { report.as_str() } else { "" }
            );
            let path = programs.join(program);
            std::fs::write(&path, script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, mode).unwrap();
            scene.programs = Some(programs);
            let ended = scene.run();
            let passed = if writes { 1 } else { 3 };
            assert_eq!(
                evidence(&ended),
                (Evidence::Counted, [passed, 0, 0]),
                "{manifest}"
            );
        }
    }
}
