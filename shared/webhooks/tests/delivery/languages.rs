//! Other languages and libraries compute the same signatures as the golden vectors.

use std::process::Command;

use crate::programs::{found, output, repository};

fn checks(mut command: Command, script: &str, arguments: &[&str]) -> usize {
    let vectors = repository().join("tests/golden/webhook_signatures.json");
    let script = repository()
        .join("shared/webhooks/tests/delivery")
        .join(script);
    let printed = output(command.arg(script).arg(vectors).args(arguments));
    printed.trim().parse().unwrap()
}

fn vectors() -> usize {
    let file = repository().join("tests/golden/webhook_signatures.json");
    let text = std::fs::read_to_string(file).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    all["vectors"].as_array().unwrap().len()
}

#[test]
fn python_computes_the_golden_signatures() {
    let test = "languages::python_computes_the_golden_signatures";
    if let Some(python) = found(test, "python3", &["--version"]) {
        assert_eq!(checks(python, "vectors.py", &[]), vectors());
    }
}

#[test]
fn javascript_computes_the_golden_signatures() {
    let test = "languages::javascript_computes_the_golden_signatures";
    if let Some(node) = found(test, "node", &["--version"]) {
        assert_eq!(checks(node, "vectors.mjs", &[]), vectors());
    }
}

/// All but the one whose body is no text, which the library does not sign. `make test` installs it.
#[test]
fn the_library_of_standard_webhooks_computes_the_golden_signatures() {
    let test = "languages::the_library_of_standard_webhooks_computes_the_golden_signatures";
    let python = repository().join(".venv/receivers/bin/python");
    let import = ["-c", "import standardwebhooks"];
    if let Some(python) = found(test, &python.display().to_string(), &import) {
        assert_eq!(
            checks(python, "vectors.py", &["standardwebhooks"]),
            vectors() - 1
        );
    }
}
