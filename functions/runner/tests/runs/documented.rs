//! docs/verification.md against the code: its plan runs, and yields its checks. Likewise
//! docs/agents.md: its agent requests children.

use awo_domain::TaskPrompt;
use awo_domain::control::Outcome;
use awo_domain::verification::Status;

use crate::integration::{resumed, story};
use crate::scene::{Scene, git};

const DOCUMENT: &str = include_str!("../../../../docs/verification.md");
const AGENTS: &str = include_str!("../../../../docs/agents.md");

/// The text of the first block of that language.
fn block(language: &str) -> &'static str {
    block_of(DOCUMENT, language)
}

fn block_of(document: &'static str, language: &str) -> &'static str {
    let opening = format!("```{language}\n");
    let (_, rest) = document.split_once(&opening).unwrap();
    rest.split_once("```").unwrap().0
}

const GREET: &str = "#!/bin/sh\nif test \"$1\" = --json; then echo \"{\\\"greeting\\\": \\\"Hello, $2\\\"}\"; else echo \"Hello, $1\"; fi\n";
const LINT: &str = r#"cat > build/lint.sarif <<'END'
{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"sh"}},"results":[{"ruleId":"SH1","message":{"text":"a long line"},
"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/greet.sh"},"region":{"startLine":2}}}]}]}]}
END
"#;
const UNIT: &str = r#"test "$(sh build/greet Bob)" = "Hello, Bob" || exit 1
cat > build/unit.xml <<'END'
<testsuite><testcase classname="greet" name="by name"/><testcase classname="greet" name="in Klingon"><skipped/></testcase></testsuite>
END
printf 'SF:src/greet.sh\nDA:2,1\nend_of_record\n' > build/lcov.info
"#;

#[test]
fn the_plan_of_the_document_runs_and_says_what_the_document_says() {
    let files = [
        ("verify.yaml", block("yaml")),
        (".gitignore", "/build/\n"),
        ("README.md", "Greets.\n"),
        ("config.json", "{\"name\": \"Ada\"}\n"),
        ("config.schema.json", "{\"required\": [\"name\"]}\n"),
        ("src/greet.sh", GREET),
        ("tests/lint.sh", LINT),
        ("tests/unit.sh", UNIT),
        ("tests/more.sh", "echo 1..1; echo ok 1 - more\n"),
        ("tests/ada.txt", "Hello, Ada\n"),
    ];
    let ended = Scene::new(&files, "echo more >> README.md").once().run();
    ended.succeeded();
    let reported: Vec<String> = ended
        .results()
        .iter()
        .flat_map(|result| result.checks.iter().map(|check| (result.level, check)))
        .map(|(level, check)| {
            let status = serde_json::to_value(check.status).unwrap();
            format!("{level:?} {:<7} {}", status.as_str().unwrap(), check.name)
        })
        .collect();
    let wanted: Vec<&str> = block("text").lines().collect();
    assert_eq!(reported, wanted, "{:#?}", ended.results());
    assert_eq!(ended.check("coverage").status, Status::Passed);
}

#[test]
fn the_agent_of_the_document_asks_for_children_and_brings_together_what_they_did() {
    let (_, section) = AGENTS.split_once("## Asking for children\n").unwrap();
    let plan = "tests: [{run: 'grep Hello greetings.txt && grep Hallo greetings.txt'}]\n";
    let files = [
        (".awo/agent.sh", block_of(section, "sh")),
        ("greetings.txt", "Bonjour\n"),
        ("verify.yaml", plan),
    ];
    let mut first = Scene::new(&files, "");
    first.spec.agent.command = None;
    let ended = first.run();
    assert!(matches!(ended.outcome(), Outcome::Waiting { .. }));
    let asked = &ended.children[0].0.children;
    assert_eq!(
        asked[0]["taskPrompt"],
        "Add an English greeting to greetings.txt"
    );
    assert_eq!(asked[1]["maxIterations"], 3);

    // A child does its own task, and asks for nothing.
    for (task, greeting) in [
        ("Add an English greeting to greetings.txt", "Hello"),
        ("Add a German greeting to greetings.txt", "Hallo"),
    ] {
        let mut child = Scene::new(&files[..2], "").once();
        child.spec.agent.command = None;
        child.spec.depth = 1;
        child.spec.task_prompt = TaskPrompt::new(task);
        let ended = child.run();
        assert!(ended.children.is_empty());
        let commit = ended.succeeded().0.unwrap();
        let shown = git(
            &child.origin(),
            &["show", &format!("{commit}:greetings.txt")],
        );
        assert_eq!(shown, format!("Bonjour\n{greeting}\n"));
    }

    let [english, german] = ["Bonjour\nHello\n", "Bonjour\nHallo\n"];
    let children = [
        &[("greetings.txt", english)][..],
        &[("greetings.txt", german)],
    ];
    let mut second = resumed(&files, &children, "");
    second.spec.agent.command = None;
    let ended = second.run();
    let commit = ended.succeeded().0.unwrap();
    assert!(story(&ended).contains(&"conflict in greetings.txt".to_owned()));
    let greetings = git(
        &second.origin(),
        &["show", &format!("{commit}:greetings.txt")],
    );
    assert_eq!(greetings, "Bonjour\nHello\nHallo\n");
}
