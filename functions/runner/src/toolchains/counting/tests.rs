use super::*;

fn counted(text: &str) -> Option<(u64, u64, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    in_lines(&lines).map(|counts| (counts.passed, counts.failed, counts.skipped))
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
    ] {
        assert_eq!(counted(text), None, "{text}");
    }
}
