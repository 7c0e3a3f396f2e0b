//! SARIF 2.1.0, as linters write it: a result's rule, level, message and first location. Lists are
//! truncated while they are read, so no report becomes large in memory.
//!
//! A result without a level has its rule's, else `warning`. `error` fails, `warning` is a warning,
//! `note` and `none` pass; suppressed results are skipped. A tool that reports its own failure has
//! failed.

use std::fmt;
use std::marker::PhantomData;

use awo_domain::verification::{CheckLocation, Status};
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Finding, Findings, append};

/// Most runs of a report.
const MAX_RUNS: usize = 20;
/// Most entries of any other list.
const MAX_ENTRIES: usize = 20_000;

#[derive(Deserialize)]
struct Log {
    runs: List<Run, MAX_RUNS>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    #[serde(default)]
    tool: Tool,
    #[serde(default)]
    invocations: List<Invocation, MAX_ENTRIES>,
    #[serde(default)]
    results: List<ResultEntry, MAX_ENTRIES>,
}

#[derive(Default, Deserialize)]
struct Tool {
    #[serde(default)]
    driver: Driver,
}

#[derive(Default, Deserialize)]
struct Driver {
    #[serde(default)]
    name: String,
    #[serde(default)]
    rules: List<Rule, MAX_ENTRIES>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    #[serde(default)]
    id: String,
    #[serde(default)]
    default_configuration: Configuration,
}

#[derive(Default, Deserialize)]
struct Configuration {
    level: Option<Level>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    #[serde(default = "yes")]
    execution_successful: bool,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Error,
    Warning,
    Note,
    None,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultEntry {
    rule_id: Option<String>,
    rule_index: Option<i64>,
    /// Absent: `fail`.
    kind: Option<String>,
    level: Option<Level>,
    #[serde(default)]
    message: Message,
    #[serde(default)]
    locations: First<Location>,
    #[serde(default)]
    suppressions: List<Suppression, MAX_ENTRIES>,
}

#[derive(Default, Deserialize)]
struct Message {
    #[serde(default)]
    text: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Option<PhysicalLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Option<Artifact>,
    region: Option<Region>,
}

#[derive(Deserialize)]
struct Artifact {
    uri: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: Option<u64>,
}

#[derive(Deserialize)]
struct Suppression {
    /// Absent: `accepted`.
    status: Option<String>,
}

/// A list of at most `MOST` entries; a longer one is an error. `null` is an empty one.
struct List<T, const MOST: usize>(Vec<T>);

impl<T, const MOST: usize> Default for List<T, MOST> {
    fn default() -> List<T, MOST> {
        List(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for List<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(Entries::<T, MOST>(true, PhantomData))
            .map(List)
    }
}

/// The first entry of a list, whatever its length.
struct First<T>(Option<T>);

impl<T> Default for First<T> {
    fn default() -> First<T> {
        First(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Entries::<T, 1>(false, PhantomData);
        let entries = deserializer.deserialize_any(entries)?;
        Ok(First(entries.into_iter().next()))
    }
}

/// Reads at most so many entries; whether more of them are an error.
struct Entries<T, const MOST: usize>(bool, PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Entries<T, MOST> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MOST} entries")
    }

    fn visit_unit<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut entries = Vec::new();
        while entries.len() < MOST {
            match list.next_element()? {
                Some(entry) => entries.push(entry),
                None => return Ok(entries),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            if self.0 {
                return Err(A::Error::custom(format!(
                    "a list has more than {MOST} entries"
                )));
            }
        }
        Ok(entries)
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Findings, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let log: Log = serde_json::from_slice(bytes).map_err(|why| format!("is not SARIF: {why}"))?;
    if log.runs.0.is_empty() {
        return Err("contains no run of a tool".to_owned());
    }
    let mut findings = Findings::default();
    for run in log.runs.0 {
        let driver = run.tool.driver;
        if !run.invocations.0.iter().all(|one| one.execution_successful) {
            let name = format!("{} did not succeed", driver.name);
            let message = "the report itself states it".to_owned();
            findings.add(Finding {
                name,
                status: Status::Failed,
                message,
                location: None,
            })?;
        }
        let levels = driver
            .rules
            .0
            .iter()
            .map(|rule| (rule.id.as_str(), rule.default_configuration.level));
        let levels = levels.collect();
        for result in run.results.0 {
            findings.add(finding(&result, &driver.rules.0, &levels))?;
        }
    }
    Ok(findings)
}

type Levels<'a> = std::collections::HashMap<&'a str, Option<Level>>;

fn finding(result: &ResultEntry, rules: &[Rule], levels: &Levels<'_>) -> Finding {
    let indexed = result
        .rule_index
        .and_then(|index| usize::try_from(index).ok());
    let indexed = indexed.and_then(|index| rules.get(index));
    let rule = result
        .rule_id
        .as_deref()
        .or(indexed.map(|rule| rule.id.as_str()));
    let of_rule = match indexed {
        Some(rule) => rule.default_configuration.level,
        None => rule.and_then(|id| levels.get(id).copied().flatten()),
    };
    let level = result.level.or(of_rule).unwrap_or(Level::Warning);
    let accepted = |one: &Suppression| one.status.as_deref().is_none_or(|is| is == "accepted");
    let is_suppressed = result.suppressions.0.iter().any(accepted);
    let is_fault = result.kind.as_deref().is_none_or(|kind| kind == "fail");
    let status = match level {
        _ if is_suppressed => Status::Skipped,
        _ if !is_fault => Status::Passed,
        Level::Error => Status::Failed,
        Level::Warning => Status::Warning,
        Level::Note | Level::None => Status::Passed,
    };
    let place = result
        .locations
        .0
        .as_ref()
        .and_then(place)
        .unwrap_or_default();
    let name = format!("{} {place}", rule.unwrap_or_default());
    let mut message = String::new();
    append(&mut message, &result.message.text);
    let location = place.rsplit_once(':');
    let location = location.and_then(|(path, line)| CheckLocation::parse(path, line));
    Finding {
        name,
        status,
        message,
        location,
    }
}

/// `src/a.rs:5`
fn place(location: &Location) -> Option<String> {
    let physical = location.physical_location.as_ref()?;
    let file = physical.artifact_location.as_ref()?.uri.as_deref()?;
    let line = physical
        .region
        .as_ref()
        .and_then(|region| region.start_line);
    Some(line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_come_from_the_result_or_its_rule_and_places_are_named() {
        let text = br#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"lint","rules":[
            {"id":"R1","defaultConfiguration":{"level":"error"}},{"id":"R2","defaultConfiguration":{"level":"note"}}]}},
            "results":[
            {"ruleId":"R1","message":{"text":"bad"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a.rs"},"region":{"startLine":5}}},{}]},
            {"ruleIndex":0,"message":{"text":"again"}},
            {"ruleId":"R2","message":{"text":"so so"}},
            {"ruleId":"R3","message":{"text":"odd"},"locations":null},
            {"ruleId":"R1","kind":"pass","message":{}},
            {"ruleId":"R1","suppressions":[{"kind":"inSource"}]},
            {"ruleId":"R1","level":"warning","suppressions":[{"status":"rejected"}]}]}]}"#;
        let findings = read(text).unwrap();
        assert_eq!(
            findings.counts(),
            "2 failed, 2 with a warning, 2 passed, 1 skipped"
        );
        let checks = findings.checks("lint", 50);
        let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        let expected = ["R1 src/a.rs:5", "R1", "R3", "R1", "R1"];
        assert_eq!(names, expected.map(|name| format!("lint: {name}")));
        assert_eq!(checks[0].message, "bad");
    }

    #[test]
    fn a_linter_that_finds_nothing_is_well_and_one_that_broke_is_not() {
        let run = |inner: &str| read(format!(r#"{{"runs":[{inner}]}}"#).as_bytes());
        assert_eq!(
            run(r#"{"tool":{"driver":{"name":"x"}}}"#).unwrap().count(),
            0
        );
        let broke = run(r#"{"invocations":[{"executionSuccessful":false}]}"#);
        assert_eq!(broke.unwrap().counts(), "1 failed");
        assert!(run("").unwrap_err().contains("no run"));
        assert!(read(b"<xml/>").unwrap_err().contains("not SARIF"));
        assert!(read(b"{}").unwrap_err().contains("runs"));
    }

    #[test]
    fn long_lists_and_deep_values_are_refused() {
        let results = |count| {
            let list = vec!["{}"; count].join(",");
            read(format!(r#"{{"runs":[{{"results":[{list}]}}]}}"#).as_bytes())
        };
        assert_eq!(results(20_000).unwrap().count(), 20_000);
        assert!(
            results(20_001)
                .unwrap_err()
                .contains("more than 20000 entries")
        );
        let runs = vec!["{}"; 21].join(",");
        assert!(read(format!(r#"{{"runs":[{runs}]}}"#).as_bytes()).is_err());
        let deep = format!(r#"{{"runs":[{{"x":{}"#, "[".repeat(100_000));
        assert!(read(deep.as_bytes()).is_err());
    }
}
