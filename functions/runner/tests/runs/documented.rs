//! docs/verification.md says what happens: its plan runs, and its checks are those that come.

use awo_domain::verification::Status;

use crate::scene::Scene;

const DOCUMENT: &str = include_str!("../../../../docs/verification.md");

/// The text of the first block of that language.
fn block(language: &str) -> &'static str {
    let opening = format!("```{language}\n");
    let (_, rest) = DOCUMENT.split_once(&opening).unwrap();
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
    let said: Vec<String> = ended
        .results()
        .iter()
        .flat_map(|result| result.checks.iter().map(|check| (result.level, check)))
        .map(|(level, check)| {
            let status = serde_json::to_value(check.status).unwrap();
            format!("{level:?} {:<7} {}", status.as_str().unwrap(), check.name)
        })
        .collect();
    let wanted: Vec<&str> = block("text").lines().collect();
    assert_eq!(said, wanted, "{:#?}", ended.results());
    assert_eq!(ended.check("coverage").status, Status::Passed);
}
