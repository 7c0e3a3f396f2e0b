//! JUnit XML in its many variants: each `testcase` counts, at any depth, and the totals of suites
//! are ignored.

use awo_domain::verification::{CheckLocation, Status};

use super::{Element, Finding, Findings, Node, Xml, append, attribute};

/// A test whose end was not seen yet.
struct Case {
    /// How many elements are open within it, itself included.
    depth: usize,
    finding: Finding,
}

/// Where text belongs to: a verdict that is open at this depth.
type Verdict = Option<usize>;

pub(super) fn read(text: &str) -> Result<Findings, String> {
    let mut xml = Xml::new(text);
    let mut findings = Findings::default();
    let mut open: Vec<Case> = Vec::new();
    let mut verdict: Verdict = None;
    loop {
        match xml.next()? {
            Node::Start(element) if element.is("testcase") => {
                let depth = xml.depth();
                let finding = begun(&element);
                open.push(Case { depth, finding });
            }
            Node::Start(element) => {
                let Some((status, kind)) = verdict_of(&element) else {
                    continue;
                };
                if open.is_empty() {
                    // A suite that could not be set up.
                    let name = "outside of any test".to_owned();
                    let message = message_of(&element, kind);
                    findings.add(Finding {
                        name,
                        status,
                        message,
                        location: None,
                    })?;
                } else if let Some(case) = open.last_mut() {
                    judge(&mut case.finding, status, &message_of(&element, kind));
                    verdict = Some(xml.depth());
                }
            }
            Node::Text(text) => {
                if let (Some(_), Some(case)) = (verdict, open.last_mut()) {
                    append(&mut case.finding.message, &text);
                }
            }
            Node::End => {
                verdict = verdict.filter(|depth| *depth <= xml.depth());
                let ended = open.pop_if(|case| case.depth > xml.depth());
                if let Some(case) = ended {
                    findings.add(case.finding)?;
                }
            }
            Node::Eof => break,
        }
    }
    Ok(findings)
}

fn begun(element: &Element<'_>) -> Finding {
    let (class, name) = (attribute(element, "classname"), attribute(element, "name"));
    let name = if class.is_empty() {
        name
    } else {
        format!("{class}.{name}")
    };
    let is_left_out = attribute(element, "status") == "notrun";
    let status = if is_left_out {
        Status::Skipped
    } else {
        Status::Passed
    };
    let message = String::new();
    let location = CheckLocation::parse(&attribute(element, "file"), &attribute(element, "line"));
    Finding {
        name,
        status,
        message,
        location,
    }
}

/// What an element of a test means; `flakyFailure` and `rerunFailure` of Surefire mean nothing,
/// since a test that failed in the end has a `failure`, too.
fn verdict_of(element: &Element<'_>) -> Option<(Status, &'static str)> {
    let verdicts = [
        ("failure", Status::Failed),
        ("error", Status::Failed),
        ("skipped", Status::Skipped),
    ];
    let found = verdicts.into_iter().find(|(name, _)| element.is(name));
    found.map(|(name, status)| (status, name))
}

/// `error: ValueError: 5 is too large`, and a new line for what follows.
fn message_of(element: &Element<'_>, kind: &str) -> String {
    let (of_type, message) = (attribute(element, "type"), attribute(element, "message"));
    let parts = [kind.to_owned(), of_type, message];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut reported = String::new();
    append(&mut reported, &parts.join(": "));
    append(&mut reported, "\n");
    reported
}

/// The worst result of a test counts.
fn judge(finding: &mut Finding, status: Status, reported: &str) {
    finding.status = match (finding.status, status) {
        (Status::Failed, _) | (_, Status::Failed) => Status::Failed,
        _ => Status::Skipped,
    };
    append(&mut finding.message, reported);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<(String, Status, String)> {
        let checks = read(text).unwrap().checks("t", 50);
        let parts = checks.into_iter().map(|c| (c.name, c.status, c.message));
        parts.collect()
    }

    #[test]
    fn tests_count_at_any_depth_and_totals_count_nothing() {
        for text in [
            "<testsuites><testsuite tests='0' failures='0'><testsuite><testcase name='a'><failure message='m &lt; 1'>at &#108;ine 1</failure></testcase></testsuite></testsuite></testsuites>",
            "<testsuite failures='0'><testcase name='a'><failure message='m &lt; 1'><![CDATA[at line 1]]></failure></testcase></testsuite>",
            "\u{feff}<?xml version='1.0'?><!-- x --><testcase name='a'><system-out>noise</system-out><failure message='m &lt; 1'>at line 1</failure><system-err>noise</system-err></testcase>",
            "<u:testsuite xmlns:u='x'><u:testcase name='a'><u:failure message='m &lt; 1'>at line 1</u:failure></u:testcase></u:testsuite>",
        ] {
            let message = "failure: m < 1\nat line 1".to_owned();
            assert_eq!(
                named(text),
                [("t: a".to_owned(), Status::Failed, message)],
                "{text}"
            );
        }
    }

    #[test]
    fn failures_errors_and_skipped_tests_are_distinguished_from_passed_ones() {
        let text = "<testsuites><testsuite>\
            <testcase classname='m.C' name='ok'/><testcase name='flaky'><flakyFailure/></testcase>\
            <testcase classname='m.C' name='bad'><error type='E' message='boom'/></testcase>\
            <testcase name='both'><skipped/><failure/></testcase>\
            <testcase name='not'><skipped message='no net'/></testcase>\
            <testcase name='off' status='notrun'/></testsuite>\
            <testsuite><error message='no set-up'/></testsuite></testsuites>";
        assert_eq!(
            read(text).unwrap().counts(),
            "3 failed, 2 passed, 2 skipped"
        );
        let named = named(text);
        let names: Vec<&str> = named.iter().map(|(name, _, _)| name.as_str()).collect();
        let outside = "t: outside of any test";
        assert_eq!(
            names,
            ["t: m.C.bad", "t: both", outside, "t: not", "t: off"]
        );
        assert_eq!(named[0].2, "error: E: boom");
        assert_eq!(named[3].2, "skipped: no net");
    }

    #[test]
    fn what_cannot_be_relied_on_is_an_error() {
        let deep = format!("<a>{}", "<b>".repeat(100_000));
        let many = format!("<a>{}</a>", "<testcase/>".repeat(100_001));
        for (text, why) in [
            ("<testsuite><testcase name='a'/>", "ends in the middle"),
            (
                "<testsuite><testcase name='a'></testsuite>",
                "not well-formed",
            ),
            ("{\"tests\":[]}", "not XML"),
            (&deep, "deep"),
            (&many, "more than 100000 tests"),
        ] {
            let reported = read(text).unwrap_err();
            assert!(reported.contains(why), "{reported}");
        }
    }

    #[test]
    fn entities_that_a_report_declares_are_not_resolved() {
        let lines: String = (1..10).fold("<!ENTITY e0 'ha'>".to_owned(), |all, n| {
            let inner = format!("&e{};", n - 1).repeat(10);
            format!("{all}<!ENTITY e{n} '{inner}'>")
        });
        let text = format!(
            "<!DOCTYPE t [{lines}<!ENTITY f SYSTEM 'file:///etc/passwd'>]>\
             <testcase name='&e9;'><failure message='&f;'>&e9;&f;</failure></testcase>"
        );
        let message = "failure: &f;\n&e9;&f;".to_owned();
        assert_eq!(
            named(&text),
            [("t: &e9;".to_owned(), Status::Failed, message)]
        );
    }
}
