//! `awo verify` and a run give one verdict on the same repository: small repositories of each kind
//! that was once judged wrongly, with the verdict of their maintainers.

use std::process::Command;

use awo_tests::agents::{order, submit};
use awo_tests::repository::Repository;
use awo_tests::service::{TestService, program};
use serde_json::{Value, json};

/// A verdict on a repository at its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Passed, with tests that ran.
    Verified,
    /// Passed, and nothing ran.
    Unverified,
    Failed,
    /// Not judged; nobody's fault.
    Error,
}

use Verdict::{Error, Failed, Unverified, Verified};

struct Case {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    verdict: Verdict,
    /// Programs without which the case says nothing.
    needs: &'static [&'static str],
}

const CARGO: &str = "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const MEMBER: &str = "[package]\nname = \"inner\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const WORKSPACE: &str = "[package]\nname = \"top\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
    [workspace]\nmembers = [\"crates/inner\"]\n";
const VIRTUAL: &str = "[workspace]\nmembers = [\"crates/*\"]\ndefault-members = []\n";
const FINE: &str = "#[test]\nfn fine() {}\n";
const BROKEN: &str = "#[test]\nfn broken() { panic!(\"member\"); }\n";
const COUNTED: &str = "test:\n\t@echo \"3 passed in 0.10s\"\n";
const UNITTEST: &str =
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n";
const NODE_TEST: &str = "require('node:test')('a', () => {});\n";

/// A plan of one command that prints a file.
macro_rules! prints {
    ($text:literal) => {
        &[
            (
                "verify.yaml",
                "version: 1\ntests: [{name: unit, run: 'cat out.txt'}]\n",
            ),
            ("out.txt", $text),
        ]
    };
}

const CASES: &[Case] = &[
    Case {
        name: "a crate",
        files: &[
            ("Cargo.toml", CARGO),
            ("src/lib.rs", FINE),
            (".gitignore", "target\nCargo.lock\n"),
        ],
        verdict: Verified,
        needs: &["cargo"],
    },
    Case {
        name: "a red member beside a root package",
        files: &[
            ("Cargo.toml", WORKSPACE),
            ("src/lib.rs", FINE),
            ("crates/inner/Cargo.toml", MEMBER),
            ("crates/inner/src/lib.rs", BROKEN),
            (".gitignore", "target\n"),
        ],
        verdict: Failed,
        needs: &["cargo"],
    },
    Case {
        name: "a red member that is no default member",
        files: &[
            ("Cargo.toml", VIRTUAL),
            ("crates/inner/Cargo.toml", MEMBER),
            ("crates/inner/src/lib.rs", BROKEN),
            (".gitignore", "target\n"),
        ],
        verdict: Failed,
        needs: &["cargo"],
    },
    Case {
        name: "tests that ask git for the files",
        files: &[(
            "Makefile",
            "test:\n\t@git ls-files | grep -q Makefile && git diff --exit-code && echo \"1 passed in 0.1s\"\n",
        )],
        verdict: Verified,
        needs: &["make"],
    },
    Case {
        name: "tests that ask git for the commit and the branch",
        files: &[(
            "Makefile",
            "test:\n\t@git rev-parse --verify -q HEAD && git log -1 --format=%s | grep -q . && \
             git status --porcelain && echo \"1 passed in 0.1s\"\n",
        )],
        verdict: Verified,
        needs: &["make"],
    },
    Case {
        name: "a linter that is not there behind make",
        files: &[(
            "Makefile",
            "lint:\n\tno-such-linter-here run\ntest:\n\t@echo \"3 passed in 0.10s\"\n",
        )],
        verdict: Error,
        needs: &["make"],
    },
    Case {
        name: "a red linter beside green tests",
        files: &[(
            "Makefile",
            "lint:\n\tfalse\ntest:\n\t@echo \"3 passed in 0.10s\"\n",
        )],
        verdict: Failed,
        needs: &["make"],
    },
    Case {
        name: "tests without a count",
        files: &[("Makefile", "test:\n\ttrue\n")],
        verdict: Unverified,
        needs: &["make"],
    },
    Case {
        name: "counted tests behind make",
        files: &[("Makefile", COUNTED)],
        verdict: Verified,
        needs: &["make"],
    },
    Case {
        name: "the target check",
        files: &[("Makefile", "check:\n\t@echo \"3 passed in 0.10s\"\n")],
        verdict: Verified,
        needs: &["make"],
    },
    Case {
        name: "a watcher that ends where CI is set",
        files: &[(
            "package.json",
            r#"{"name":"p","version":"1.0.0","scripts":{"test":"sh -c \"test \\\"$CI\\\" = true || sleep 600; echo 3 passed in 1s\""}}"#,
        )],
        verdict: Verified,
        needs: &["npm"],
    },
    Case {
        name: "tests that read standard input",
        files: &[("Makefile", "test:\n\t@cat; echo \"3 passed in 0.10s\"\n")],
        verdict: Verified,
        needs: &["make"],
    },
    Case {
        name: "tests of node",
        files: &[
            (
                "package.json",
                r#"{"name":"p","version":"1.0.0","scripts":{"test":"node --test"}}"#,
            ),
            ("a.test.js", NODE_TEST),
        ],
        verdict: Verified,
        needs: &["npm", "node"],
    },
    Case {
        name: "tests of unittest",
        files: &[("setup.cfg", ""), ("test_a.py", UNITTEST)],
        verdict: Verified,
        needs: &["python3"],
    },
    Case {
        name: "ctest without tests",
        files: prints!("Test project /w/build\nNo tests were found!!!\n"),
        verdict: Unverified,
        needs: &[],
    },
    Case {
        name: "rspec without examples",
        files: prints!("No examples found.\n\n0 examples, 0 failures\n"),
        verdict: Unverified,
        needs: &[],
    },
    Case {
        name: "maven without tests",
        files: prints!("[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n"),
        verdict: Unverified,
        needs: &[],
    },
    Case {
        name: "bun that skipped all",
        files: prints!(
            "bun test v1.4.5\n\n 0 pass\n 2 skip\n 0 fail\nRan 2 tests across 1 file.\n"
        ),
        verdict: Unverified,
        needs: &[],
    },
    Case {
        name: "turbo before a runner without tests",
        files: prints!(
            "web:test: No test files found, exiting with code 0\n\n Tasks:    1 successful, 1 total\n"
        ),
        verdict: Unverified,
        needs: &[],
    },
    Case {
        name: "one workspace of two without tests",
        files: prints!(
            "> a@1.0.0 test\n> jest\n\nTests:       3 passed, 3 total\n\n> b@1.0.0 test\n\
             > jest --passWithNoTests\n\nNo tests found, exiting with code 0\n"
        ),
        verdict: Verified,
        needs: &[],
    },
    Case {
        name: "brackets in patterns",
        files: &[
            (
                "verify.yaml",
                "version: 1\ncontracts: {requiredFiles: [\"app/[id]/page.js\", \"app/[[...rest]]/page.js\"]}\n\
                 tests: [{name: unit, run: \"echo 1 passed in 0.1s\"}]\n",
            ),
            ("app/[id]/page.js", "p\n"),
            ("app/[[...rest]]/page.js", "p\n"),
        ],
        verdict: Verified,
        needs: &[],
    },
    Case {
        name: "a file that is text with other line ends",
        files: &[
            ("Makefile", COUNTED),
            (".gitattributes", "*.txt text eol=lf\n"),
            ("b.txt", "a\r\nb\r\n"),
        ],
        verdict: Verified,
        needs: &["make"],
    },
    Case {
        name: "nothing that is known",
        files: &[("pom.txt", "x\n")],
        verdict: Unverified,
        needs: &[],
    },
];

fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
}

fn applicable() -> Vec<&'static Case> {
    let is_applicable = |case: &&Case| case.needs.iter().all(|name| is_there(name));
    let cases: Vec<&Case> = CASES.iter().filter(is_applicable).collect();
    assert!(cases.len() > CASES.len() / 2, "most programs are there");
    cases
}

/// The verdict of `awo verify` on a clone.
fn of_verify(repository: &Repository) -> (Verdict, Value) {
    let dir = tempfile::tempdir().unwrap();
    let clone = dir.path().join("clone");
    let cloned = Command::new("git")
        .args(["clone", "-q", &repository.url()])
        .arg(&clone)
        .status();
    assert!(cloned.unwrap().success());
    let output = Command::new(program("awo"))
        .args(["verify", "--json"])
        .arg(&clone)
        .env_remove("RUSTUP_HOME")
        .output()
        .unwrap();
    let reported: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    });
    let verdict = match reported["result"]["overallStatus"].as_str().unwrap() {
        "passed" | "warning" if reported["verified"] == true => Verified,
        "passed" | "warning" => Unverified,
        "failed" => Failed,
        _ => Error,
    };
    (verdict, reported)
}

/// The verdict of a run whose agent changes nothing that is tested.
async fn of_run(service: &TestService, repository: &Repository) -> (Verdict, Value) {
    let mut body = order(&repository.url(), "echo note > note-of-the-agent.md");
    body["maxIterations"] = json!(1);
    let order = submit(&service.client, &body).await;
    let run = service.client.finished_run(&order).await;
    let verdict = match (
        run["status"].as_str().unwrap(),
        run["error"]["code"].as_str(),
    ) {
        ("succeeded", _) if run["verified"] == true => Verified,
        ("succeeded", _) => Unverified,
        (_, Some("WORKSPACE_FAILED")) => Error,
        (_, Some("MAX_ITERATIONS_REACHED")) => Failed,
        other => panic!("{other:?}: {run:#}"),
    };
    (verdict, run)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn awo_verify_and_a_run_give_the_verdict_of_the_maintainers() {
    let service = TestService::start(1_000_000, &[]).await;
    let mut wrong = Vec::new();
    for case in applicable() {
        let repository = Repository::with(case.files);
        let (verified, report) = of_verify(&repository);
        let (ran, run) = of_run(&service, &repository).await;
        if (verified, ran) != (case.verdict, case.verdict) {
            wrong.push(format!(
                "{}: expected {:?}, awo verify {verified:?}, a run {ran:?}\n{report:#}\n{run:#}",
                case.name, case.verdict
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
