//! The checks of verification, and attempts to deceive it.

use awo_domain::control::RunnerEvent as E;
use awo_domain::plugin::{Plugin, PluginId};
use awo_domain::run::RunErrorCode as Code;
use awo_domain::verification::{Level, Status};

use crate::scene::Scene;

/// A run of one iteration whose agent is `agent`.
fn once(files: &[(&str, &str)], agent: &str) -> crate::scene::EndedRunner {
    let scene = Scene::new(files, agent).once();
    scene.run()
}

#[test]
fn an_edit_of_the_plan_or_of_a_protected_file_does_not_help() {
    let plan = "protected: ['tests/**', verify.yaml]\ntests: [{name: unit, run: 'sh tests/t.sh && cat verify.yaml'}]\n";
    let files = [("verify.yaml", plan), ("tests/t.sh", "test -e answer\n")];
    for agent in [
        "echo 'exit 0' > tests/t.sh",
        "echo 'tests: []' > verify.yaml",
        "rm -r tests; echo 'tests: []' > verify.yaml",
        "rm -r tests; mkdir x; echo 'exit 0' > x/t.sh; ln -s x tests",
        "rm -r tests; echo 'exit 0' > tests",
        "rm tests/t.sh; mkdir tests/t.sh; echo > tests/t.sh/x",
        "rm verify.yaml; mkdir verify.yaml; echo > verify.yaml/x",
    ] {
        let ended = once(&files, agent);
        ended.failed(Code::MaxIterationsReached);
        assert_eq!(ended.check("unit").status, Status::Failed, "{agent}");
    }
    let passing =
        "echo 'exit 1' > tests/t.sh; echo 'tests: [{run: false}]' > verify.yaml; touch answer";
    once(&files, passing).succeeded();
}

#[test]
fn a_bracket_of_a_files_own_name_is_literal_in_a_pattern() {
    for folder in ["[id]", "[...slug]", "[[...sign-in]]"] {
        let plan = format!(
            "protected: [verify.yaml, 'app/{folder}/a.test.js', 'none/**']\n\
             contracts: {{requiredFiles: ['app/{folder}/page.js'], forbiddenFiles: ['app/{folder}/b.js']}}\n\
             tests: [{{name: unit, run: 'true'}}]\n"
        );
        let (test, page) = (
            format!("app/{folder}/a.test.js"),
            format!("app/{folder}/page.js"),
        );
        let forbidden = format!("app/{folder}/b.js");
        let files = [
            ("verify.yaml", plan.as_str()),
            (&test, "real\n"),
            ("app/i/a.test.js", "other\n"),
            (&page, "p\n"),
            (&forbidden, "f\n"),
        ];
        let agent = format!("echo x > '{test}'; echo x > app/i/a.test.js; rm '{forbidden}'");
        let ended = once(&files, &agent);
        ended.succeeded();
        for name in [
            format!("required: {page}"),
            format!("forbidden: {forbidden}"),
        ] {
            let check = ended.check(&name);
            assert_eq!(check.status, Status::Passed, "{name}: {}", check.message);
        }
        let restored = ended.events.iter().find_map(|event| match event {
            E::ProtectedRestored { files, .. } => Some(files.clone()),
            _ => None,
        });
        assert_eq!(restored.unwrap(), [test.as_str()]);
        assert_eq!(ended.check("protected: none/**").status, Status::Warning);
    }
}

#[test]
fn a_file_that_an_agent_adds_among_the_protected_ones_is_not_there() {
    let plan =
        "protected: ['tests/**']\ntests: [{name: unit, run: 'test ! -e tests/conftest.py'}]\n";
    let files = [("verify.yaml", plan), ("tests/t.py", "")];
    once(&files, "echo x > tests/conftest.py").succeeded();
}

#[test]
fn only_what_is_committed_counts() {
    let plan = "tests: [{name: unit, run: 'test -e answer && test -e built/x'}]\n";
    let files = [("verify.yaml", plan), (".gitignore", "built\n")];
    let ended = once(&files, "touch answer; mkdir built; touch built/x");
    ended.failed(Code::MaxIterationsReached);
    let clean = "tests: [{name: unit, run: 'test -e answer && test ! -e built'}]\n";
    let files = [("verify.yaml", clean), (".gitignore", "built\n")];
    once(&files, "touch answer; mkdir built; touch built/x").succeeded();
}

#[test]
fn what_an_agent_leaves_in_its_home_does_not_help() {
    let plan = "tests: [{name: unit, run: 'test ! -e ~/.npmrc && test -z \"$(ls $TMPDIR)\" && test -z \"$AWO_RUN_ID\"'}]\n";
    let agent = "echo script-shell=/bin/true > ~/.npmrc; touch $TMPDIR/x";
    once(&[("verify.yaml", plan)], agent).succeeded();
}

#[test]
fn a_command_changed_in_a_manifest_is_put_back_in_a_detected_plan() {
    let makefile = "test: check\n\ncheck:\n\ttest -e answer\n\nlint:\n\ttest ! -e lint-fault\n";
    let files = [("Makefile", makefile)];
    for agent in [
        "printf 'test:\\n\\ttrue\\n' > Makefile",
        "printf 'test:\\n\\ttrue\\n' > GNUmakefile",
        "printf '\\ntest:\\n\\ttrue\\n' >> Makefile",
        "true",
    ] {
        let ended = once(&files, agent);
        assert_eq!(ended.check("make test").status, Status::Failed, "{agent}");
    }
    let ended = once(&files, "touch answer lint-fault");
    assert_eq!(ended.check("make lint").status, Status::Failed);
    once(
        &files,
        "touch answer; printf '\\nother:\\n\\ttrue\\n' >> Makefile",
    )
    .succeeded();
}

#[test]
fn a_test_file_that_is_gone_fails_the_contracts_of_a_detected_plan() {
    let files = [
        ("Makefile", "test:\n\ttrue\n"),
        ("tests/a_test.py", ""),
        ("tests/b.py", ""),
    ];
    let ended = once(&files, "git mv tests/a_test.py tests/c.py; echo x > x");
    ended.failed(Code::MaxIterationsReached);
    let gone = ended.check("test files kept");
    assert!(gone.message.contains("tests/a_test.py"), "{}", gone.message);
    assert!(!gone.message.contains("tests/b.py"), "{}", gone.message);
}

#[test]
fn a_failing_level_closes_the_gate_to_the_higher_ones_but_for_tests() {
    let plan = "contracts: {commands: [{name: lint, run: 'false'}]}\n\
                tests: [{name: unit, run: 'true'}]\n\
                blackbox: [{name: help, run: 'true'}]\n";
    let ended = once(&[("verify.yaml", plan)], "echo x > x");
    let statuses: Vec<_> = ended
        .results()
        .iter()
        .map(|r| (r.level, r.status))
        .collect();
    assert_eq!(
        statuses,
        [
            (Level::L0, Status::Failed),
            (Level::L1, Status::Passed),
            (Level::L2, Status::Skipped),
            (Level::L3, Status::Skipped),
        ]
    );
}

#[test]
fn levels_that_the_profile_leaves_out_are_not_looked_at() {
    let plan = "tests: [{run: 'false'}]\nsanity: {maxFileBytes: 1}\n";
    let mut scene = Scene::new(&[("verify.yaml", plan)], "echo xxx > x").once();
    scene.spec.profile.verification.skip_levels = vec![Level::L1, Level::L3];
    let ended = scene.run();
    ended.succeeded();
    let levels: Vec<_> = ended.results().iter().map(|result| result.level).collect();
    assert_eq!(levels, [Level::L0, Level::L2]);
}

#[test]
fn contracts_look_at_files_and_schemas() {
    let schema =
        r#"{"type":"object","required":["port"],"properties":{"port":{"type":"integer"}}}"#;
    let plan = "contracts:\n  requiredFiles: [README.md, 'docs/*.md']\n  forbiddenFiles: ['**/*.pem']\n  \
                schemas: [{file: config.json, schema: schema.json}]\n";
    let files = [
        ("verify.yaml", plan),
        ("README.md", "x"),
        ("schema.json", schema),
    ];
    let ended = once(
        &files,
        "echo x > a.pem; echo '{\"port\":\"80\"}' > config.json",
    );
    assert_eq!(ended.check("required: README.md").status, Status::Passed);
    assert_eq!(ended.check("required: docs/*.md").status, Status::Failed);
    assert!(ended.check("forbidden: **/*.pem").message.contains("a.pem"));
    let message = &ended.check("schema: config.json").message;
    assert!(
        message.contains("/port") && message.contains("integer"),
        "{message}"
    );
    let ended = once(
        &files,
        "ln -s /etc/passwd config.json; mkdir docs; echo > docs/a.md",
    );
    assert!(
        ended
            .check("schema: config.json")
            .message
            .contains("outside")
    );
}

#[test]
fn blackbox_checks_say_what_was_missing() {
    let plan = "blackbox:\n  \
        - {name: help, run: 'echo usage: x; exit 2', expect: {exitCode: 2, contains: [usage], matches: ['^usage: \\w+$'], equalsFile: usage.txt}}\n  \
        - {name: code, run: 'exit 1'}\n  \
        - {name: text, run: 'echo a >&2', expect: {contains: [a, b], matches: ['^c']}}\n  \
        - {name: file, run: 'echo a', expect: {equalsFile: usage.txt}}\n  \
        - {name: json, run: 'echo \"{}\"', expect: {jsonSchema: {required: [x]}}}\n  \
        - {name: slow, run: 'sleep 4321', timeoutMs: 100}\n";
    let ended = once(
        &[("verify.yaml", plan), ("usage.txt", "usage: x\n")],
        "echo x > x",
    );
    let says = |name: &str, status: Status, word: &str| {
        let check = ended.check(name);
        assert_eq!(check.status, status, "{check:?}");
        assert!(check.message.contains(word), "{check:?}");
    };
    says("help", Status::Passed, "");
    says("code", Status::Failed, "exit code 1 instead of 0");
    says(
        "text",
        Status::Failed,
        "lacks \"b\"; the output does not match \"^c\"",
    );
    says("file", Status::Failed, "differs from usage.txt");
    says("json", Status::Failed, "\"x\" is a required property");
    says("slow", Status::Error, "timed out after 100 ms");
    ended.failed(Code::MaxIterationsReached);
}

#[test]
fn sanity_looks_at_what_was_changed() {
    let plan = "tests: [{run: 'printf \"SF:a\\nDA:1,1\\nDA:2,0\\nend_of_record\\n\" > lcov.info'}]\n\
                sanity: {maxFileBytes: 50, forbidDebugLeftovers: true, coverage: {format: lcov, path: lcov.info, minimum: 0.8}}\n";
    let old = "x".repeat(100);
    let files = [
        ("verify.yaml", plan),
        ("old.txt", old.as_str()),
        ("old.rs", "dbg!(1);\n"),
    ];
    let agent = "printf 'fn a() {\\n    dbg!(1);\\n}\\n' > new.rs; head -c 60 /dev/zero > big";
    let ended = once(&files, agent);
    let leftovers = &ended.check("debug leftovers").message;
    assert!(
        leftovers.contains("new.rs:2") && !leftovers.contains("old.rs"),
        "{leftovers}"
    );
    let large = &ended.check("large files").message;
    assert!(
        large.contains("big") && !large.contains("old.txt"),
        "{large}"
    );
    let coverage = ended.check("coverage");
    assert!(
        coverage.message.contains("1 of 2 lines"),
        "{}",
        coverage.message
    );
    assert_eq!(coverage.status, Status::Failed);
}

#[test]
fn set_up_comes_before_the_first_command_of_any_level() {
    let plan = "setup: [{name: deps, run: 'touch deps'}]\n\
                contracts: {commands: [{name: lint, run: 'test -e deps'}]}\ntests: [{name: unit, run: 'test -e deps'}]\n";
    let ended = once(&[("verify.yaml", plan)], "echo x > x");
    ended.succeeded();
    assert_eq!(ended.results()[0].checks[0].name, "setup: deps");
    let plan =
        "setup: [{name: deps, run: 'echo offline; exit 1'}]\ntests: [{name: unit, run: 'true'}]\n";
    let ended = once(&[("verify.yaml", plan)], "echo x > x");
    assert!(ended.check("setup: deps").message.contains("offline"));
}

#[test]
fn the_time_of_the_whole_verification_is_an_end() {
    let plan = "tests: [{name: slow, run: 'sleep 4321'}, {name: late, run: 'true'}]\n";
    let mut scene = Scene::new(&[("verify.yaml", plan)], "echo x > x").once();
    scene.spec.profile.verification.timeout_ms = 200;
    let ended = scene.run();
    ended.failed(Code::MaxIterationsReached);
    for name in ["slow", "late"] {
        let check = ended.check(name);
        assert_eq!(check.status, Status::Error);
        assert!(
            check.message.contains("200 ms is used up"),
            "{}",
            check.message
        );
    }
}

#[test]
fn a_large_output_is_cut_to_its_end_and_the_event_stays_small() {
    let plan =
        "tests: [{name: a, run: 'seq 1 100000; exit 1'}, {name: b, run: 'seq 1 100000; exit 1'}]\n";
    let ended = once(&[("verify.yaml", plan)], "echo x > x");
    let message = &ended.check("b").message;
    assert!(
        message.ends_with("99999\n100000") && message.len() < 17_000,
        "{}",
        message.len()
    );
    let largest = ended
        .events
        .iter()
        .map(|event| serde_json::to_vec(event).unwrap().len());
    assert!(largest.max().unwrap() < 200_000);
}

#[test]
fn verifiers_run_as_the_agents_user_and_leave_nothing_behind() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let plan =
        "tests: [{name: unit, run: 'setsid sleep 4321 & echo x > new && test $(id -u) = 65534'}]\n";
    let scene = Scene::new(&[("verify.yaml", plan)], "echo x > x");
    let ended = scene.run();
    ended.succeeded();
    assert!(
        ended
            .events
            .iter()
            .any(|e| matches!(e, E::VerificationFinished { .. }))
    );
    let verify = ended.run_dir.join("verify").display().to_string();
    assert_eq!(crate::scene::alive(&verify), Vec::<String>::new());
}

fn custom(name: &str, level: Level, command: &[&str]) -> Plugin {
    Plugin {
        id: PluginId::parse(&format!("custom:{name}")).unwrap(),
        name: name.to_owned(),
        level,
        command: Some(command.iter().map(|word| (*word).to_owned()).collect()),
        timeout_ms: 1_000,
        ..Plugin::all_built_in().remove(0)
    }
}

#[test]
fn a_custom_plugin_is_a_program_and_its_words_in_the_clean_checkout() {
    let script = "#!/bin/sh\ntest \"$1\" = 'a b $HOME'\n";
    let files = [("check", script), ("check.sh", script)];
    let mut scene = Scene::new(&files, "echo x > x");
    scene.spec.plugins = vec![
        custom("late", Level::Custom, &["sleep", "4321"]),
        custom("missing", Level::L0, &["no-such-program"]),
        custom("words", Level::L0, &["sh", "check", "a b $HOME"]),
        custom("mode", Level::L0, &["./check", "a b $HOME"]),
        custom("own", Level::L0, &["./check.sh", "a b $HOME"]),
    ];
    let ended = scene.once().run();
    ended.failed(Code::MaxIterationsReached);
    let results = ended.results();
    let of = |name: &str| {
        let id = format!("custom:{name}");
        results
            .iter()
            .find(|one| one.plugin_id == id)
            .unwrap()
            .status
    };
    assert_eq!((of("words"), of("own")), (Status::Passed, Status::Passed));
    // What cannot be started stops the higher levels.
    assert_eq!((of("missing"), of("mode")), (Status::Error, Status::Error));
    assert_eq!(of("late"), Status::Skipped);
    let mut scene = Scene::new(&files, "echo x > x");
    scene.spec.plugins = vec![custom("late", Level::Custom, &["sleep", "4321"])];
    let ended = scene.once().run();
    let late = ended.check("late");
    assert_eq!(late.status, Status::Error);
    assert!(
        late.message.contains("timed out after 1000 ms"),
        "{}",
        late.message
    );
}

#[test]
fn a_custom_plugin_comes_after_the_set_up_and_is_not_run_where_that_fails() {
    let plan = "setup: [{name: deps, run: 'test -e x && touch made'}]\n";
    let mut scene = Scene::new(&[("verify.yaml", plan)], "echo x > x");
    scene.spec.plugins = vec![custom("made", Level::L1, &["test", "-e", "made"])];
    scene.once().run().succeeded();
    let mut scene = Scene::new(&[("verify.yaml", plan)], "echo y > y");
    scene.spec.plugins = vec![custom("made", Level::L1, &["true"])];
    let ended = scene.once().run();
    assert_eq!(ended.check("setup: deps").status, Status::Failed);
    assert_eq!(ended.check("made").status, Status::Error);
}
