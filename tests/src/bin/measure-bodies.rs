//! `make bench`: the cost of the worst bodies of 256 KiB, from their bytes to the refusal: CPU and
//! peak memory, beside their goals. Prints numbers; nothing here can fail a build.
//!
//! A separate process reads each, so that it starts without memory from the others.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot go on says so and ends"
)]

use std::process::Command;
use std::time::Instant;

use awo_tests::measure::{Goal, row};

use awo_contract::body::Object;
use awo_domain::agent::AgentType;
use awo_execution::request::{Defaults, NamedResources, WorkOrderRequest};

/// As large as a body may be.
const BYTES: usize = 256 * 1024;
/// How often each is read for its time.
const TIMES: u32 = 20;
const CPU_GOAL_MS: f64 = 50.0;
const MEMORY_GOAL_MIB: f64 = 8.0;

/// A body with a list of so many equal things as there is room for.
fn list(of: &str, name: &str) -> String {
    let times = (BYTES - 64) / (of.len() + 1);
    format!(r#"{{"{name}":[{}]}}"#, vec![of; times].join(","))
}

/// A body with so many members as there is room for.
fn members(of: impl Fn(usize) -> String, name: &str) -> String {
    let (mut all, mut nth) = (String::new(), 0);
    while all.len() < BYTES - 4_096 {
        all.push_str(&of(nth));
        all.push(',');
        nth += 1;
    }
    format!(r#"{{"{name}":{{{all}"end":0}}}}"#)
}

/// Every body with what it is.
fn bodies() -> Vec<(&'static str, String)> {
    let long = "~".repeat(1_024);
    let deep = format!("{}0{}", r#"{"a":["#.repeat(31), "]}".repeat(31));
    let text = |of: &str| {
        format!(
            r#"{{"taskPrompt":"{}"}}"#,
            of.repeat((BYTES - 64) / of.len())
        )
    };
    let nested = format!(r#"{{"{long}":"#).repeat(60);
    let twice = r#""a":1,"#.repeat(30_000);
    vec![
        ("numbers in a list", list("0", "metadata")),
        ("lists of one number", list("[0]", "metadata")),
        ("objects of one member", list(r#"{"":0}"#, "metadata")),
        ("empty objects", list("{}", "agent")),
        (
            "members of metadata",
            members(|n| format!(r#""{n}":"x""#), "metadata"),
        ),
        (
            "members that nobody knows",
            members(|n| format!(r#""{n}":[]"#), "other"),
        ),
        (
            "the same name again",
            members(|_| r#""a":1"#.to_owned(), "metadata"),
        ),
        (
            "long names",
            members(|n| format!(r#""{n}{}":1"#, &long[8..]), "metadata"),
        ),
        (
            "the same name, deep below long ones",
            format!("{nested}{{{twice}\"b\":1}}{}", "}".repeat(60)),
        ),
        ("deep nesting, again and again", list(&deep, "limits")),
        (
            "words of a command",
            format!(
                r#"{{"agent":{{"command":[{}]}}}}"#,
                vec![r#""""#; 60_000].join(",")
            ),
        ),
        ("a long text", text("x")),
        ("escapes", text("\\u0041")),
        (
            "numbers that are hard to read",
            list("1.7976931348623157e308", "metadata"),
        ),
    ]
}

/// As a create reads it.
fn refusal(body: &[u8]) -> String {
    let defaults = Defaults {
        agent: AgentType::Command,
        allow_file_repositories: false,
    };
    let none = NamedResources {
        template: None,
        profile: None,
        parent: None,
        environment: None,
    };
    let read = Object::parse(body)
        .map(|object| WorkOrderRequest::read(object, &defaults))
        .and_then(|request| request.resolve(&defaults, none));
    read.expect_err("a body that is refused").to_string()
}

/// A line of `/proc/self/status`, in MiB.
fn memory_mib(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status
        .lines()
        .find(|line| line.starts_with(name))
        .expect("a line");
    let kib = line.split_whitespace().nth(1).expect("a number");
    kib.parse::<f64>().expect("a number") / 1024.0
}

/// Prints what one body costs.
fn measure(nth: usize) {
    let (what, body) = bodies().swap_remove(nth);
    assert!(body.len() <= BYTES, "{what}: {} bytes", body.len());
    // The peak from here on.
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak is forgotten");
    let before = memory_mib("VmRSS");
    let answer = refusal(body.as_bytes()).len();
    let mib = memory_mib("VmHWM") - before;
    let began = Instant::now();
    for _ in 0..TIMES {
        refusal(body.as_bytes());
    }
    let ms = began.elapsed().as_secs_f64() * 1_000.0 / f64::from(TIMES);
    let over = if ms > CPU_GOAL_MS || mib > MEMORY_GOAL_MIB {
        "  OVER"
    } else {
        ""
    };
    row(
        &format!("a body of {what}: CPU"),
        (ms, "ms"),
        Goal::AtMost(CPU_GOAL_MS),
    );
    row(
        &format!("a body of {what}: memory"),
        (mib, "MiB"),
        Goal::AtMost(MEMORY_GOAL_MIB),
    );
    println!(
        "{what:<36} {:>4} KiB {ms:>7.1} ms {mib:>6.1} MiB   refused in {answer} bytes{over}",
        body.len() / 1024
    );
}

fn main() {
    if let Some(nth) = std::env::args().nth(1) {
        measure(nth.parse().expect("a number"));
        return;
    }
    println!(
        "bodies, each read as a create does (goals: {CPU_GOAL_MS} ms, {MEMORY_GOAL_MIB} MiB):"
    );
    let this = std::env::current_exe().expect("a program");
    for nth in 0..bodies().len() {
        let done = Command::new(&this).arg(nth.to_string()).status();
        assert!(done.expect("a process").success(), "body {nth}");
    }
}
