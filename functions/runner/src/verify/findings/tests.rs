use super::*;

#[test]
fn the_first_that_fail_are_named_and_the_rest_is_counted() {
    let mut findings = Findings::default();
    for number in 0..200 {
        let status = match number % 4 {
            0 => Status::Failed,
            1 => Status::Skipped,
            2 => Status::Warning,
            _ => Status::Passed,
        };
        let name = format!("{}{number}", "x".repeat(200));
        let message = "m".repeat(5_000);
        let finding = Finding {
            name,
            status,
            message,
            location: None,
        };
        findings.add(finding).unwrap();
    }
    assert_eq!(
        findings.counts(),
        "50 failed, 50 with a warning, 50 passed, 50 skipped"
    );
    let checks = findings.checks("unit", 65);
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    assert_eq!((count(Status::Failed), count(Status::Passed)), (50, 0));
    assert_eq!((count(Status::Warning), count(Status::Skipped)), (10, 5));
    assert!(checks[1].name.ends_with("x4") && checks[1].name.len() <= 120);
    let is_short = |check: &Check| check.message.len() <= MAX_MESSAGE_BYTES;
    assert!(checks.iter().all(is_short));
}

#[test]
fn where_there_is_room_for_few_those_that_fail_are_named_and_the_rest_is_counted() {
    let mut findings = Findings::default();
    for status in [Status::Skipped, Status::Failed].repeat(60) {
        let (name, message) = ("a".to_owned(), String::new());
        let finding = Finding {
            name,
            status,
            message,
            location: None,
        };
        findings.add(finding).unwrap();
    }
    let checks = findings.checks("unit", 5);
    assert_eq!(checks.len(), 6);
    assert_eq!(checks[5].name, "unit: 55 more");
    assert!(checks.iter().all(|check| check.status == Status::Failed));
}

#[test]
fn of_a_long_name_both_ends_are_shown() {
    let long = "x".repeat(200);
    for (head, tail) in [
        ("tests/a_test.py::test_squares[", "-end]"),
        ("org.example.deep.package.Products", "Test.multiplies"),
        ("Products > of numbers > ", " > multiplies"),
        ("größe ", " ist groß"),
    ] {
        let shown = short(&format!("{head}{long}{tail}"));
        assert!(shown.starts_with(head) && shown.ends_with(tail), "{shown}");
        assert!(shown.contains('…'), "{shown}");
        assert_eq!(shown.chars().count(), MAX_NAME_CHARS);
    }
    assert_eq!(
        short(&"y".repeat(MAX_NAME_CHARS)),
        "y".repeat(MAX_NAME_CHARS)
    );
}

#[test]
fn all_files_that_a_pattern_matches_are_added() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let report = |path: &str| -> TestReport {
        serde_json::from_value(serde_json::json!({"format": "junit", "path": path})).unwrap()
    };
    let read = |path: &str| Findings::read(dir.path(), &report(path), None);
    put(
        "a/out/TEST-a.xml",
        "<testsuite><testcase name='good'/></testsuite>",
    );
    put(
        "b/out/TEST-b.xml",
        "<testsuite><testcase name='bad'><failure/></testcase></testsuite>",
    );
    put("b/out/other.xml", "no report");
    for pattern in [
        "**/out/TEST-*.xml",
        "./*/out/TEST-?.xml",
        "{a,b}/out/TEST-*.xml",
        "[ab]/**/*-[ab].xml",
    ] {
        let findings = read(pattern).unwrap();
        assert_eq!(findings.counts(), "1 failed, 1 passed", "{pattern}");
        assert_eq!(findings.checks("t", 5)[0].name, "t: bad");
    }
    assert_eq!(read("c/*.xml").unwrap_err(), "matches no file");
    assert!(read("b/out/*.xml").unwrap_err().contains("b/out/other.xml"));
    // A file of that name is no pattern.
    put("[a].xml", "<testsuite><testcase name='good'/></testsuite>");
    assert_eq!(read("[a].xml").unwrap().counts(), "1 passed");
}

#[tokio::test]
async fn a_pattern_wants_a_file_that_the_command_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let text = "<testsuite><testcase name='a'/></testsuite>";
        std::fs::write(dir.path().join(name), text).unwrap();
    };
    write("old.xml");
    let report = serde_json::json!({"format": "junit", "path": "*.xml"});
    let report: TestReport = serde_json::from_value(report).unwrap();
    let since = Moment::now().await;
    let why = Findings::read(dir.path(), &report, Some(since)).unwrap_err();
    assert!(why.contains("not written again"), "{why}");
    write("new.xml");
    let findings = Findings::read(dir.path(), &report, Some(since)).unwrap();
    assert_eq!(findings.counts(), "2 passed");
}

#[test]
fn names_and_messages_hold_nothing_that_steers_a_terminal() {
    let mut findings = Findings::default();
    let name = "a\u{1b}[31m\nb\0".to_owned();
    let message = "\u{1b}[2Jx".to_owned();
    let status = Status::Failed;
    findings
        .add(Finding {
            name,
            status,
            message,
            location: None,
        })
        .unwrap();
    let checks = findings.checks("unit", 5);
    assert_eq!(
        (checks[0].name.as_str(), checks[0].message.as_str()),
        ("unit: a b", "x")
    );
}
