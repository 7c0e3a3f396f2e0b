//! Recorded outputs of test runners, one row of the index each: counts, names and whether none ran.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::*;

/// Recordings whose form has no number of tests, or another one than its runner counts by itself: why.
const OTHERWISE: [(&str, &str); 36] = [
    ("python/pytest-subtests.txt", "subtests count"),
    ("python/pytest-collect-only.txt", "collects only"),
    ("node/vitest-tap.txt", "TAP of nested tests"),
    ("node/mocha-tap.txt", "its summary leaves skipped tests out"),
    ("node/mocha-xunit.txt", "XML on standard output"),
    ("node/node-dot-green.txt", "no summary"),
    ("node/node-dot-red.txt", "no summary"),
    ("node/node-dot-skipped.txt", "no summary"),
    ("node/node-dot-mixed.txt", "no summary"),
    ("node/node-dot-crashed.txt", "no summary"),
    ("node/node-dot-colours.txt", "no summary"),
    ("node/node-dot-none-selected.txt", "no summary"),
    ("node/node-dot-odd.txt", "no summary"),
    ("node/node-junit-red.txt", "XML on standard output"),
    ("node/node-junit-mixed.txt", "XML on standard output"),
    ("node/node-junit-crashed.txt", "XML on standard output"),
    ("node/node-junit-colours.txt", "XML on standard output"),
    ("node/node-junit-odd.txt", "XML on standard output"),
    ("node/tap-colours.txt", "its names have no mark"),
    ("node/qunit-crashed.txt", "one failure of two is no test"),
    ("go/gotestsum-crashed.txt", "a build that fails counts"),
    ("java/surefire-junit4-quiet-green.txt", "quiet"),
    ("java/surefire-junit4-none-selected-allowed.txt", "quiet"),
    ("java/surefire-junit5-quiet-green.txt", "quiet"),
    ("java/surefire-junit5-none-selected-allowed.txt", "quiet"),
    ("java/gradle-green.txt", "no summary"),
    ("java/gradle-skipped.txt", "no summary"),
    ("c/prove-verbose.txt", "verbose TAP beside the summary"),
    ("ruby/rspec-crashed.txt", "errors outside of examples count"),
    (
        "ruby/rspec-some-crashed.txt",
        "errors outside of examples count",
    ),
    ("ruby/minitest-none-found.txt", "prints nothing"),
    ("ruby/test-unit-none-found.txt", "prints nothing"),
    ("ruby/test-unit-none-selected.txt", "prints nothing"),
    ("wrappers/npm-echo.txt", "no runner"),
    ("wrappers/make-echo.txt", "no runner"),
    ("node/cypress-mixed.txt", "its names have no mark"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/toolchains/recordings")
}

/// The rows of the index. Its values are JSON, too.
fn rows() -> Vec<Map<String, Value>> {
    let index = fs::read_to_string(folder().join("index.toml")).unwrap();
    let mut rows = Vec::new();
    for line in index.lines() {
        if line == "[[recording]]" {
            rows.push(Map::new());
        } else if let Some((key, value)) = line.split_once(" = ")
            && let Some(row) = rows.last_mut()
        {
            let value = serde_json::from_str(value).unwrap_or_else(|why| panic!("{line}: {why}"));
            row.insert(key.trim().to_owned(), value);
        }
    }
    rows
}

/// A name without what joins its parts.
fn plain(name: &str) -> String {
    name.replace([' ', '›', '>', ':', '.', '#', '\\', '/', '(', ')', '"'], "")
}

/// Parts of a row that do not hold.
fn faults(row: &Map<String, Value>) -> Vec<String> {
    let file = row["file"].as_str().unwrap();
    let read = read(&fs::read(folder().join(file)).unwrap());
    let mut faults = Vec::new();
    let number = |name: &str| row.get(name).and_then(Value::as_u64);
    let none_ran = row.get("none_ran") == Some(&Value::Bool(true));
    // Numbers that the output does not have.
    let hidden = row.get("hidden").and_then(Value::as_array);
    let is_hidden = |name: &str| hidden.is_some_and(|names| names.iter().any(|n| n == name));
    let counts = read.counts.unwrap_or_default();
    for (name, count) in [
        ("passed", counts.passed),
        ("failed", counts.failed),
        ("skipped", counts.skipped),
    ] {
        let is_right = number(name) == Some(count) || is_hidden(name);
        if !is_right || (read.counts.is_none() && !none_ran) {
            faults.push(format!(
                "{file}: {count} {name} instead of {:?}",
                number(name)
            ));
        }
    }
    let code = i32::try_from(row["exit"].as_i64().unwrap()).unwrap();
    if none_ran && code == 0 && !read.is_none_by(0) {
        faults.push(format!("{file}: exit code {code} is of none"));
    }
    // What cannot be loaded has failed, whatever its runner counts.
    let is_broken = !none_ran || file.contains("crash");
    if is_broken && code != 0 && read.is_none_by(code) {
        faults.push(format!("{file}: exit code {code} is not of none"));
    }
    for name in row["failed_names"].as_array().unwrap() {
        let name = plain(name.as_str().unwrap());
        let is_named = |seen: &String| plain(seen).contains(&name);
        if !read.failed_names.iter().any(is_named) {
            faults.push(format!("{file}: {name} not in {:?}", read.failed_names));
        }
    }
    faults
}

#[test]
fn no_output_of_success_names_failures_and_every_other_summary_may() {
    let mut runners = std::collections::BTreeSet::new();
    for row in rows().iter().filter(|row| !row.contains_key("missing")) {
        let file = row["file"].as_str().unwrap();
        let counts = read(&fs::read(folder().join(file)).unwrap()).counts;
        let failed = counts.map_or(0, |counts| counts.failed);
        if row["exit"].as_i64() == Some(0) {
            assert_eq!(failed, 0, "{file}");
        } else if failed > 0 {
            runners.insert(row["runner"].as_str().unwrap().to_owned());
        }
    }
    assert!(runners.len() > 20, "{runners:?}");
}

#[test]
fn every_recorded_output_is_counted_as_its_runner_counts() {
    let rows = rows();
    assert!(!rows.is_empty());
    let mut wrong = Vec::new();
    for row in rows.iter().filter(|row| !row.contains_key("missing")) {
        let file = row["file"].as_str().unwrap();
        let differs = OTHERWISE.iter().any(|(otherwise, _)| *otherwise == file);
        let faults = faults(row);
        if differs && faults.is_empty() {
            wrong.push(format!("{file}: counts by now; remove it from the list"));
        } else if !differs {
            wrong.extend(faults);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
