//! The share of covered lines, from an LCOV or a Cobertura report. A line that a report contains
//! several times, for several tests or methods, is one line, and covered if any entry covers it.

use std::collections::HashMap;
use std::path::Path;

use awo_domain::verification::Check;

use super::findings::{Node, Stamp, Xml, attribute, xml_text};
use super::{Verification, error, failed, passed};
use crate::inspection::Task;
use crate::plan::{Coverage, CoverageFormat};
use crate::safe_files::{self, Unreadable};
use crate::stop::StopOutcome;

/// Largest coverage report.
const MAX_COVERAGE_BYTES: u64 = 32 * 1_024 * 1_024;
/// Most lines of all files together.
const MAX_LINES: usize = 4_000_000;
const NAME: &str = "coverage";

impl Verification<'_> {
    /// What stands where the report will be.
    pub(super) async fn coverage_stamp(&self) -> Option<Stamp> {
        let coverage = self.plan.sanity.coverage.as_ref()?;
        Some(Stamp::before(&self.subject.dir, coverage.path.as_str()).await)
    }

    /// The check of how much the tests covered.
    pub(super) async fn covered(&self, coverage: &Coverage) -> Result<Vec<Check>, StopOutcome> {
        let path = coverage.path.as_str();
        let dir = &self.subject.dir;
        let is_of_commit = |before: Stamp| before.still_holds(dir, path);
        // In a workspace, the tests may have been run before; what a commit holds is what an agent
        // says.
        if self.tree.is_some() && self.coverage_before.is_some_and(is_of_commit) {
            let why = "is part of the commit, and no command wrote it again";
            return Ok(vec![error(NAME, &format!("{path} {why}"))]);
        }
        let task = Task::Coverage(coverage.clone());
        self.inspected(vec![(NAME.to_owned(), task)]).await
    }
}

/// A report's coverage.
pub(crate) fn coverage(dir: &Path, coverage: &Coverage) -> Check {
    let path = coverage.path.as_str();
    let bytes = match safe_files::read_within(dir, path, MAX_COVERAGE_BYTES) {
        Ok(bytes) => bytes,
        Err(Unreadable::Missing) => {
            return error(NAME, &format!("{path} was not written by the tests"));
        }
        Err(why) => return error(NAME, &format!("{path} {why}")),
    };
    let lines = match coverage.format {
        CoverageFormat::Lcov => lcov(&String::from_utf8_lossy(&bytes)),
        CoverageFormat::Cobertura => match xml_text(&bytes) {
            Ok(text) => cobertura(&text),
            Err(why) => Err(why.to_string()),
        },
    };
    match lines.map(|lines| lines.counts()) {
        Err(why) => error(NAME, &format!("{path} {why}")),
        Ok((_, 0)) => error(NAME, &format!("{path} names no lines")),
        Ok((hit, all)) => judge(hit, all, coverage.minimum.0),
    }
}

/// Whether lines of files were covered.
#[derive(Default)]
struct Lines {
    files: HashMap<String, usize>,
    lines: HashMap<(usize, u32), bool>,
}

impl Lines {
    fn file(&mut self, name: &str) -> usize {
        let next = self.files.len();
        *self.files.entry(name.to_owned()).or_insert(next)
    }

    fn add(&mut self, file: usize, line: u32, hit: bool) -> Result<(), String> {
        *self.lines.entry((file, line)).or_default() |= hit;
        if self.lines.len() > MAX_LINES {
            Err(format!("names more than {MAX_LINES} lines"))
        } else {
            Ok(())
        }
    }

    /// Covered lines, and all.
    fn counts(&self) -> (usize, usize) {
        let hit = self.lines.values().filter(|hit| **hit).count();
        (hit, self.lines.len())
    }
}

/// Records of functions and branches are passed over: each version has others.
fn lcov(text: &str) -> Result<Lines, String> {
    let mut lines = Lines::default();
    let mut file = None;
    for (number, line) in text.lines().enumerate() {
        let is_read = ["SF:", "DA:"].iter().any(|kind| line.starts_with(kind));
        if line.trim_end() == "end_of_record" {
            file = None;
        }
        if !is_read {
            continue;
        }
        let fault = |why: &str| format!("is not an LCOV report: line {}: {why}", number + 1);
        let record = line.trim_end().parse::<lcov::Record>();
        match record.map_err(|why| fault(&why.to_string()))? {
            lcov::Record::SourceFile { path } => file = Some(lines.file(&path.to_string_lossy())),
            lcov::Record::LineData { line, count, .. } => {
                let file = file.ok_or_else(|| fault("it belongs to no file"))?;
                lines.add(file, line, count > 0)?;
            }
            _ => {}
        }
    }
    match file {
        Some(_) => Err("ends in the middle".to_owned()),
        None => Ok(lines),
    }
}

fn cobertura(text: &str) -> Result<Lines, String> {
    let mut xml = Xml::new(text);
    let mut lines = Lines::default();
    // The class that is open, and at which depth it began.
    let mut class: Option<(usize, usize)> = None;
    loop {
        match xml.next()? {
            Node::Start(element) if element.is("class") => {
                let file = lines.file(&attribute(&element, "filename"));
                class = Some((file, xml.depth()));
            }
            Node::Start(element) if element.is("line") => {
                let Some((file, _)) = class else { continue };
                let number = attribute(&element, "number").parse();
                let hits = attribute(&element, "hits").parse::<u64>();
                let (Ok(number), Ok(hits)) = (number, hits) else {
                    return Err("has a line without number or hits".to_owned());
                };
                lines.add(file, number, hits > 0)?;
            }
            Node::End => class = class.filter(|(_, depth)| *depth <= xml.depth()),
            Node::Start(_) | Node::Text(_) => {}
            Node::Eof => return Ok(lines),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no report has more lines than a double counts exactly"
)]
fn judge(hit: usize, all: usize, minimum: f64) -> Check {
    let part = hit as f64 / all as f64;
    let message = format!(
        "{hit} of {all} lines are covered, {:.1} %; at least {:.1} % are required",
        part * 100.0,
        minimum * 100.0
    );
    if part >= minimum {
        passed(NAME, &message)
    } else {
        failed(NAME, &message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_lcov_are_counted_once_over_all_tests() {
        let report = "TN:a\nSF:a\nFNL:0,1\nBRDA:1,e0,0,-\nDA:1,2\nDA:2,0\nLF:2\nLH:1\nend_of_record\n\
                      SF:b\nDA:1,1,abc\nend_of_record\nTN:b\nSF:a\nDA:2,4\nDA:3,0\nend_of_record\n";
        assert_eq!(lcov(report).unwrap().counts(), (3, 4));
        assert_eq!(lcov("nonsense\n").unwrap().counts(), (0, 0));
        for (text, why) in [
            ("SF:a\nDA:1,2\n", "ends in the middle"),
            ("SF:a\nDA:x,2\nend_of_record\n", "line 2"),
            ("DA:1,2\n", "no file"),
        ] {
            let reported = lcov(text).err().unwrap();
            assert!(reported.contains(why), "{reported}");
        }
    }

    #[test]
    fn lines_of_cobertura_are_counted_once_over_methods_and_classes() {
        let report = "<?xml version='1.0'?><!DOCTYPE coverage SYSTEM 'http://127.0.0.1:1/c.dtd'>\
            <coverage line-rate='1'><packages><package><classes>\
            <class filename='a.py'><methods><method><lines><line number='1' hits='0'/></lines></method></methods>\
            <lines><line number='1' hits='1'/><line number='2' hits='0'/></lines></class>\
            <class filename='b.py'><lines><line number='1' hits='3'/></lines></class>\
            </classes></package></packages></coverage>";
        assert_eq!(cobertura(report).unwrap().counts(), (2, 3));
        let bad = "<coverage><class filename='a'><line number='1'/></class></coverage>";
        assert!(cobertura(bad).err().unwrap().contains("hits"));
        assert!(cobertura("<coverage>").err().unwrap().contains("middle"));
    }
}
