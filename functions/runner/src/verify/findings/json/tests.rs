use super::*;

/// Numbers of passed, failed and skipped tests, and the names of those that fail.
fn counted(text: &str) -> ([usize; 3], Vec<String>) {
    let findings = read(text.as_bytes()).unwrap_or_else(|why| panic!("{why}: {text}"));
    let counts = [findings.passed, findings.failed, findings.skipped];
    let checks = findings.checks("t", 50).into_iter();
    let failed = checks.filter(|check| check.status == Status::Failed);
    (counts, failed.map(|check| check.name).collect())
}

#[test]
fn every_known_form_is_known_by_its_content_and_counted_test_by_test() {
    let jest = r#"{"numTotalTests": 3, "success": false, "testResults": [
        {"name": "/a.test.js", "status": "failed", "message": "x", "assertionResults": [
            {"ancestorTitles": ["a"], "fullName": "a adds", "title": "adds", "status": "passed", "failureMessages": []},
            {"fullName": "a divides", "title": "divides", "status": "failed", "failureMessages": ["Error: 5"]},
            {"fullName": "a later", "title": "later", "status": "pending", "failureMessages": null}]},
        {"name": "/broken.test.js", "status": "failed", "message": "SyntaxError", "assertionResults": []}]}"#;
    let mocha = r#"{"stats": {"tests": 3}, "tests": [], "pending": [{"fullTitle": "a later", "err": {}}],
        "failures": [{"title": "divides", "fullTitle": "a divides", "err": {"message": "m", "stack": "s"}}],
        "passes": [{"fullTitle": "a adds", "err": {}}]}"#;
    let pytest = r#"{"created": 1.5, "exitcode": 1, "summary": {"passed": 1},
        "collectors": [{"nodeid": "b.py", "outcome": "failed", "longrepr": "ImportError"}, {"nodeid": "", "outcome": "passed"}],
        "tests": [{"nodeid": "a.py::test_a", "outcome": "passed", "call": {"outcome": "passed"}},
                  {"nodeid": "a.py::test_b", "outcome": "error", "setup": {"outcome": "failed", "longrepr": "E"}},
                  {"nodeid": "a.py::test_c", "outcome": "xfailed"}]}"#;
    let rspec = r#"{"version": "3", "examples": [{"full_description": "A adds", "status": "passed"},
        {"full_description": "A divides", "status": "failed", "exception": {"class": "E", "message": "m"}},
        {"full_description": "A later", "status": "pending", "pending_message": "no"}],
        "summary": {"example_count": 3, "errors_outside_of_examples_count": 0}}"#;
    let playwright = r#"{"config": {}, "errors": [], "suites": [{"title": "a.spec.ts", "suites": [{"title": "A", "specs": [
        {"title": "adds", "ok": true, "tests": [{"projectName": "web", "status": "expected", "results": [{"errors": []}]}]},
        {"title": "divides", "tests": [{"status": "unexpected", "results": [{"errors": [{"message": "m"}]}]}]},
        {"title": "later", "tests": [{"status": "skipped", "results": []}]}]}]}]}"#;
    let ctrf = r#"{"reportFormat": "CTRF", "results": {"tool": {"name": "x"}, "summary": {}, "tests": [
        {"name": "adds", "status": "passed", "duration": 1}, {"name": "divides", "suite": ["A"], "status": "failed", "message": "m"},
        {"name": "later", "status": "other"}]}}"#;
    let go = "{\"Action\":\"start\",\"Package\":\"p\"}\n# built\n\
        {\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestA\"}\n\
        {\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestB\",\"Output\":\"a.go:5\\n\"}\n\
        {\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestB\",\"Elapsed\":0}\n{\"Action\":\"skip\",\"Package\":\"p\",\"Test\":\"TestC\"}\n\
        {\"Action\":\"fail\",\"Package\":\"p\"}\n{\"Action\":\"fail\",\"Package\":\"broken\"}\n";
    let libtest = "{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 3 }\n{ \"type\": \"test\", \"event\": \"started\", \"name\": \"a\" }\n\
        { \"type\": \"test\", \"name\": \"a\", \"event\": \"ok\" }\n{ \"type\": \"test\", \"name\": \"b\", \"event\": \"failed\", \"stdout\": \"x\" }\n\
        { \"type\": \"test\", \"name\": \"c\", \"event\": \"ignored\" }\n{ \"type\": \"suite\", \"event\": \"failed\", \"passed\": 1, \"failed\": 1 }\n";
    for (text, counts, failed) in [
        (jest, [1, 2, 1], &["t: a divides", "t: /broken.test.js"][..]),
        (mocha, [1, 1, 1], &["t: a divides"]),
        (pytest, [1, 2, 1], &["t: a.py::test_b", "t: b.py"]),
        (rspec, [1, 1, 1], &["t: A divides"]),
        (playwright, [1, 1, 1], &["t: a.spec.ts > A > divides"]),
        (ctrf, [1, 1, 1], &["t: A > divides"]),
        (go, [1, 2, 1], &["t: broken", "t: p.TestB"]),
        (libtest, [1, 1, 1], &["t: b"]),
    ] {
        let (seen, mut names) = counted(text);
        names.sort();
        let mut expected = failed.to_vec();
        expected.sort_unstable();
        assert_eq!(
            (seen, names),
            (
                counts,
                expected.iter().map(|&name| name.to_owned()).collect()
            ),
            "{text}"
        );
    }
}

#[test]
fn a_suite_that_failed_outside_of_its_tests_is_a_failure() {
    let rspec = r#"{"examples": [], "summary": {"errors_outside_of_examples_count": 1}, "messages": ["LoadError"]}"#;
    let playwright = r#"{"config": {}, "suites": [], "errors": [{"message": "no config"}]}"#;
    let go = "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n";
    for text in [rspec, playwright, go] {
        assert_eq!(counted(text).0, [0, 1, 0], "{text}");
    }
}

#[test]
fn what_cannot_be_relied_on_is_an_error() {
    let deep = format!("{{\"testResults\": {}", "[".repeat(100_000));
    let begun = "{\"type\": \"suite\", \"event\": \"started\"}\n{\"type\": \"test\", \"event\": \"ok\", \"name\": \"a\"}\n";
    let torn = "{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"A\"}\n{\"Action\":\"fa";
    for (text, why) in [
        ("{\"testResults\": 5}", "another testResults"),
        ("{\"testResults\": [", "not a JSON report"),
        ("{\"a\": 1}", "no known form"),
        ("[]", "not a JSON report"),
        ("{\"results\": {}}", "results.tests"),
        (deep.as_str(), "not a JSON report"),
        (begun, "ends in the middle"),
        (torn, "bad event"),
        ("<testsuite/>", "not a JSON report"),
    ] {
        let reported = read(text.as_bytes()).unwrap_err().to_string();
        assert!(reported.contains(why), "{text:.60}: {reported}");
    }
}
