use super::*;

mod recordings;

fn read(bytes: &[u8]) -> TestSummary {
    let counter = Counter::default();
    // Pieces end anywhere.
    for piece in bytes.chunks(7) {
        counter.append(Stream::Stdout, piece);
    }
    counter.counted()
}

fn counted(text: &str) -> Option<(u64, u64, u64)> {
    let counts = read(text.as_bytes()).counts;
    counts.map(|counts| (counts.passed, counts.failed, counts.skipped))
}

#[test]
fn every_tool_is_understood_in_its_own_words() {
    for (text, counts) in [
        ("F.F.\n2 failed, 2 passed in 0.05s", (2, 2, 0)),
        (
            "====== 3 passed, 1 skipped, 2 warnings in 1.20s ======",
            (3, 0, 1),
        ),
        ("=== no tests ran in 0.01s ===", (0, 0, 0)),
        ("no tests ran in 0.01s", (0, 0, 0)),
        ("Ran 3 tests in 0.001s\n\nOK", (3, 0, 0)),
        (
            "Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)",
            (1, 2, 1),
        ),
        ("Ran 0 tests in 0.000s\n\nOK", (0, 0, 0)),
        ("> concat-map@0.0.1 test\n> tape test/*.js\n\n", (0, 0, 0)),
        ("> a@1.0.0 test\n> nyc tape 'test/**/*.js'\n", (0, 0, 0)),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", (0, 0, 0)),
        (
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
            (3, 1, 1),
        ),
        (
            "     Summary [   0.02s] 2 tests run: 2 passed, 1 skipped",
            (2, 0, 1),
        ),
        (
            "1..1\n# tests 4\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0",
            (2, 1, 1),
        ),
        (
            "ℹ tests 0\nℹ suites 0\nℹ pass 0\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0",
            (0, 0, 0),
        ),
        (
            "ok  \texample/a\t0.01s\n?   \texample/b\t[no test files]",
            (1, 0, 0),
        ),
        ("?   \texample/b\t[no test files]", (0, 0, 0)),
        ("ok  \texample/a\t0.01s [no tests to run]", (0, 0, 0)),
        (
            "--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\nok  \texample/a\t0.01s",
            (1, 0, 1),
        ),
        ("Tests:       1 failed, 3 passed, 4 total", (3, 1, 0)),
        ("No tests found, exiting with code 1", (0, 0, 0)),
        (
            " Test Files  1 passed (1)\n      Tests  1 failed | 3 passed (4)",
            (3, 1, 0),
        ),
        ("  3 passing (10ms)\n  1 failing\n  2 pending", (3, 1, 2)),
        ("  0 passing (1ms)", (0, 0, 0)),
        ("1..2\nok 1 - a\nnot ok 2 - b", (1, 1, 0)),
        ("1..0 # SKIP nothing", (0, 0, 0)),
        (
            "ok test/a.js ......... 2/2\nnot ok test/b.js .... 1/3\ntotal ............... 3/5\n\nnot ok",
            (3, 2, 0),
        ),
        (
            "total ............... 5/5\n\n  5 passing (3s)\n\n  ok",
            (5, 0, 0),
        ),
        ("58/60 tests successful", (58, 2, 0)),
        ("Pass 1735, Fail 1", (1735, 1, 0)),
        ("Results: 3 passed, 1 failed, 2 skipped", (3, 1, 2)),
    ] {
        assert_eq!(counted(text), Some(counts), "{text}");
    }
}

#[test]
fn other_words_are_no_counts() {
    for text in [
        "> a@1.0.0 test\n> ./check\n",
        "> a@1.0.0 test\n> tape a.js\n\nfine",
    ] {
        assert_eq!(counted(text), None, "{text}");
    }
    for text in [
        "",
        "all is well",
        "ok",
        "3 files passed the check in time",
        "passed 3",
        "error: 3 passed in 0.1s",
        "I saw that 3 passed in 0.1s",
        "note: Tests:  3 passed, 3 total",
        "    Tests: 9 failed, 9 passed, 18 total",
    ] {
        assert_eq!(counted(text), None, "{text}");
    }
}

#[test]
fn lines_count_with_whatever_a_wrapper_puts_in_front() {
    let jest = "Tests:       1 failed, 3 passed, 4 total";
    for prefix in [
        "web:test: ",
        "@repo/web:test: ",
        "//:test: ",
        "a: ",
        "@scope/a: ",
        "[web] ",
        "[0] ",
        "[a]: ",
        "[test:unit ] ",
        "web-1  | ",
        "packages/a test: ",
        ". test: ",
        "#12 3.456 ",
        "2026-11-25T12:00:00.123Z ",
        "web-1  | web:test: ",
    ] {
        let text = format!("{prefix}> jest\n{prefix}\u{1b}[1m{jest}\u{1b}[0m\r\n");
        assert_eq!(counted(&text), Some((3, 1, 0)), "{text}");
    }
}

#[test]
fn workspaces_are_added_and_those_without_tests_add_nothing() {
    for (text, counts) in [
        (
            "> jest\n\nTests:       3 passed, 3 total\n\n> jest --passWithNoTests\n\n\
             No tests found, exiting with code 0\n",
            (3, 0, 0),
        ),
        (
            "a:test: Ran 2 tests in 0.001s\nb:test: Ran 3 tests in 0.001s\na:test: \n\
             b:test: FAILED (failures=1)\na:test: OK (skipped=1)\n",
            (3, 1, 1),
        ),
        (
            "[a]: 3 examples, 0 failures\n[b]: No examples found.\n[b]: 0 examples, 0 failures",
            (3, 0, 0),
        ),
        (
            "[0] [INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n\
             [INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n",
            (5, 0, 0),
        ),
    ] {
        assert_eq!(counted(text), Some(counts), "{text}");
    }
}

#[test]
fn none_ran_by_the_words_of_any_runner() {
    for text in [
        "Test project /w/build\nNo tests were found!!!",
        "No examples found.\n\n0 examples, 0 failures",
        "[INFO] No tests to run.\n[INFO] BUILD SUCCESS",
        "bun test v1.4.5\n\n 0 pass\n 2 skip\n 0 fail\nRan 2 tests across 1 file.",
        "web:test: No test files found, exiting with code 0\n\n Tasks:    1 successful, 1 total",
        "No tests executed!",
        "ok | 0 passed | 0 failed (0ms)",
        "There are no tests to run",
        "No test matches the given testcase filter `x` in /a.dll",
        "Executed 0 tests\n[==========] 0 tests from 0 test suites ran. (0 ms total)",
        "0 specs, 0 failures",
        "0 runs, 0 assertions, 0 failures, 0 errors, 0 skips",
    ] {
        let counted = read(text.as_bytes());
        assert!(counted.is_none_by(0), "{text}: {counted:?}");
        assert!(!counted.is_none_by(3), "{text}");
    }
}

#[test]
fn an_exit_code_is_of_none_where_the_runner_has_it_for_that() {
    for (text, code, is_none) in [
        ("=== 2 deselected in 0.01s ===", 5, true),
        ("=== 2 deselected in 0.01s ===", 1, false),
        ("no tests ran in 0.01s", 4, false),
        (
            "no tests ran in 0.01s\nmake: *** [Makefile:2: test] Error 5",
            2,
            true,
        ),
        (
            "no tests ran in 0.01s\nnox > Command pytest failed with exit code 5",
            1,
            true,
        ),
        ("No tests found, exiting with code 1", 1, true),
        ("No tests found, exiting with code 0", 1, false),
        // A file that cannot be loaded has no tests.
        (
            "Test Suites: 1 failed, 1 total\nTests:       0 total",
            1,
            false,
        ),
        ("a: No test files found, exiting with code 1", 1, true),
        (
            "Tests: 1 passed, 1 total\nNo tests found, exiting with code 1",
            1,
            false,
        ),
    ] {
        assert_eq!(read(text.as_bytes()).is_none_by(code), is_none, "{text}");
    }
}

#[test]
fn a_summary_counts_however_much_output_follows() {
    let mut text = b"web:test: Tests:       3 passed, 3 total\n".to_vec();
    text.extend(b"api:test: a line of a build\n".repeat(20_000));
    text.extend([b'x'; 100_000]);
    text.extend(b"\napi:test: Tests:       1 failed, 1 total\n");
    let counts = read(&text).counts.unwrap();
    assert_eq!((counts.passed, counts.failed), (3, 1));
}

#[test]
fn failing_tests_are_named_once_and_no_more_than_some_of_them() {
    let text = "  2 passing (3ms)\n  1 failing\n\n  1) products\n       multiplies:\n\n";
    assert_eq!(read(text.as_bytes()).failed_names, ["products multiplies"]);
    let mut text = String::new();
    for number in 0..500 {
        text.push_str(&format!("test a::b{} ... FAILED\n", number % 200));
    }
    text.push_str(
        "test result: FAILED. 0 passed; 200 failed; 0 ignored; 0 measured; 0 filtered out\n",
    );
    let counted = read(text.as_bytes());
    assert_eq!(counted.failed_names.len(), MAX_NAMES);
    assert_eq!(counted.failed_names[0], "a::b0");
}
