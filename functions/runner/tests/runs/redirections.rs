//! Ways in which a repository redirects what a command does, without a change of code or tests: for each
//! toolchain those that its documentation names. All are named by `gateChanged`; with `protectTests` the
//! base's files are back.

mod free;
mod named;
mod real;

use std::fmt::Write;
use std::process::Command;

use awo_domain::control::RunnerEvent as E;
use awo_domain::run::RunErrorCode as Code;
use awo_domain::verification::Status;

use crate::scene::{EndedRunner, Scene};
use free::FREE;
use named::NAMED;
use real::REAL;

/// Files by name and content.
pub type Files = &'static [(&'static str, &'static str)];
/// A module that passes for a run of unittest.
const FAKE_TESTS: &str = "import sys, os\nsys.stderr.write('Ran 3 tests in 0.1s\\n\\nOK\\n')\nsys.stderr.flush()\nos._exit(0)\n";

/// Names of the files of the gate that the run changed.
fn gate_changed(ended: &EndedRunner) -> Vec<String> {
    let last = ended.events.iter().rev().find_map(|event| match event {
        E::VerificationFinished { gate, .. } => Some(gate.clone()),
        _ => None,
    });
    let gate = last.unwrap_or_else(|| panic!("no verification: {:#?}", ended.events));
    gate.map(|gate| gate.gate_changed).unwrap_or_default()
}

/// A script that writes files.
fn writes(files: &[(&str, &str)]) -> String {
    let mut script = String::new();
    for (name, text) in files {
        let folder = name.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let _ = write!(
            script,
            "mkdir -p '{folder}'; cat > '{name}' << 'END_OF_FILE'\n{text}\nEND_OF_FILE\n"
        );
        if name.contains("bin/") {
            let _ = writeln!(script, "chmod +x '{name}'");
        }
    }
    script
}

const PLAN: &str = "tests: [{name: unit, run: 'true'}]\nprotected: []\n";

/// Has git take what it would leave out as litter.
const IGNORES: &str = "!node_modules/\n!vendor/\n!.yarn/\n!*.pyc\n!*.egg-info/\n!.bundle/\n";

#[test]
fn every_file_that_redirects_a_runner_is_named_for_each_toolchain() {
    for (toolchain, base, attacks) in NAMED {
        let mut files = vec![("verify.yaml", PLAN), (".gitignore", IGNORES)];
        files.extend_from_slice(base);
        for part in attacks.chunks(45) {
            let ended = Scene::new(&files, &writes(part)).once().run();
            ended.succeeded();
            let named = gate_changed(&ended);
            for (file, _) in part {
                assert!(
                    named.iter().any(|name| name == file),
                    "{toolchain}: {file}: {named:?}"
                );
            }
            let check = ended.check("gate changed");
            assert_eq!(check.status, Status::Warning, "{toolchain}");
        }
    }
}

#[test]
fn dependencies_products_and_new_modules_are_no_change_of_the_gate() {
    for (toolchain, base, changes) in FREE {
        let mut files = vec![("verify.yaml", PLAN)];
        files.extend_from_slice(base);
        let ended = Scene::new(&files, &writes(changes)).once().run();
        ended.succeeded();
        assert_eq!(gate_changed(&ended), [""; 0], "{toolchain}");
    }
}

#[test]
fn a_real_runner_is_redirected_without_protection_and_not_with_it() {
    for (program, base, attack) in REAL {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: {program} is not installed");
            continue;
        }
        let scene = |script: &str, protects: bool| {
            let mut scene = Scene::new(base, script).once();
            // Tools of the tests' own user may be where another one does not get.
            scene.other_user = false;
            let home = std::env::var("HOME").unwrap_or_default();
            scene.env = vec![("HOME", home)];
            scene.spec.profile.verification.protect_tests = protects;
            scene
        };
        let label = format!("{program}: {}", attack[0].0);
        let honest = scene("echo x > new.txt", false).run();
        honest.failed(Code::MaxIterationsReached);
        let script = format!("echo x > new.txt\n{}", writes(attack));
        let ended = scene(&script, false).run();
        assert!(
            matches!(
                ended.outcome(),
                awo_domain::control::Outcome::Succeeded { .. }
            ),
            "{label}: {:#?}",
            ended.results()
        );
        assert!(
            gate_changed(&ended).contains(&attack[0].0.to_owned()),
            "{label}"
        );
        let ended = scene(&script, true).run();
        ended.failed(Code::MaxIterationsReached);
        assert!(
            gate_changed(&ended).contains(&attack[0].0.to_owned()),
            "{label}"
        );
    }
}

#[test]
fn a_manifest_keeps_the_agents_dependencies_and_gets_the_bases_scripts_back() {
    let base = r#"{"name": "p", "version": "1.0.0", "scripts": {"test": "node --test", "more": "a"}, "jest": {"a": 1}}"#;
    let now = r#"{"name": "p", "version": "2.0.0", "scripts": {"test": "node --test", "more": "b", "pretest": "c"},
        "jest": {"a": 2}, "mocha": {}, "dependencies": {"x": "1"}}"#;
    let mut scene = Scene::new(
        &[("verify.yaml", PLAN), ("package.json", base)],
        &writes(&[("package.json", now)]),
    )
    .once();
    scene.spec.profile.verification.protect_tests = true;
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    let text = crate::scene::git(
        &scene.origin(),
        &["show", &format!("{}:package.json", branch.unwrap())],
    );
    let delivered: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        delivered,
        serde_json::json!({
            "name": "p", "version": "2.0.0", "scripts": {"test": "node --test", "more": "a"}, "jest": {"a": 1},
            "dependencies": {"x": "1"}
        })
    );
    assert_eq!(gate_changed(&ended), ["package.json"]);
    let message = &ended.check("gate changed").message;
    assert!(message.contains("put back"), "{message}");
}

#[test]
fn scripts_that_commands_run_are_part_of_the_gate() {
    let plan = "tests: [{name: unit, run: 'sh ci.sh'}]\n";
    let base = [
        ("verify.yaml", plan),
        ("ci.sh", "sh scripts/inner.sh\n"),
        ("scripts/inner.sh", "exit 1\n"),
        ("src/product.sh", "true\n"),
    ];
    for (file, protects) in [
        ("ci.sh", false),
        ("scripts/inner.sh", false),
        ("ci.sh", true),
        ("scripts/inner.sh", true),
    ] {
        let agent = format!("echo true > {file}; echo false > src/product.sh");
        let mut scene = Scene::new(&base, &agent).once();
        scene.spec.profile.verification.protect_tests = protects;
        let ended = scene.run();
        if protects {
            ended.failed(Code::MaxIterationsReached);
        } else {
            ended.succeeded();
        }
        assert_eq!(gate_changed(&ended), [file]);
    }
}

#[test]
fn no_variable_of_tools_reaches_commands_but_those_of_the_environment() {
    const NAMES: [&str; 10] = [
        "MAKEFLAGS",
        "SHELL",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "RUSTC_WRAPPER",
        "RUSTFLAGS",
        "RUBYOPT",
        "GOFLAGS",
        "JAVA_TOOL_OPTIONS",
    ];
    let values: String = NAMES.iter().map(|name| format!("${{{name}-}}")).collect();
    let plan =
        format!("tests: [{{name: unit, run: 'case \"{values}\" in *mark*) exit 1;; esac'}}]\n");
    let mut scene = Scene::new(&[("verify.yaml", &plan)], "echo x > x").once();
    scene.env = NAMES
        .iter()
        .map(|name| (*name, "mark".to_owned()))
        .collect();
    scene.run().succeeded();
}
