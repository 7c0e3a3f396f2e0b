//! `verify.yaml`, parsed strictly: an unknown key, a wrong type or a value out of range is an error
//! with its position, and is never ignored.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{self, Globs};
use super::needs;
use super::values::{Fraction, Glob, Pattern, RelativePath, Text, TimeoutMs, Version};

/// The whole plan.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Plan {
    version: Version,
    /// Absent: only the plan itself.
    protected: Option<Vec<Glob>>,
    pub(crate) setup: Vec<Command>,
    pub(crate) contracts: Contracts,
    pub(crate) tests: Vec<Command>,
    pub(crate) blackbox: Vec<Blackbox>,
    pub(crate) sanity: Sanity,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Contracts {
    pub(crate) required_files: Vec<Glob>,
    pub(crate) forbidden_files: Vec<Glob>,
    pub(crate) schemas: Vec<SchemaCheck>,
    pub(crate) commands: Vec<Command>,
}

/// A command for `sh -c`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Command {
    #[serde(default)]
    name: Option<Text>,
    pub(crate) run: Text,
    #[serde(default)]
    timeout_ms: TimeoutMs,
    /// A structured report that the command writes.
    #[serde(default)]
    pub(crate) report: Option<TestReport>,
    /// Names of commands without which it is not run.
    #[serde(default)]
    needs: Vec<Text>,
}

/// Where a command writes a structured report.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TestReport {
    /// Absent: by its content.
    #[serde(default)]
    pub(crate) format: Option<TestReportFormat>,
    pub(crate) path: RelativePath,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TestReportFormat {
    Junit,
    Tap,
    Json,
    Sarif,
}

impl Command {
    /// A command that nobody wrote for this purpose.
    pub(crate) fn detected(name: &str, run: &str) -> Command {
        Command {
            name: Some(Text::new(name)),
            run: Text::new(run),
            timeout_ms: TimeoutMs::OF_DETECTED,
            report: None,
            needs: Vec::new(),
        }
    }

    /// The same command, which needs those of these names.
    pub(crate) fn needing(self, names: &[String]) -> Command {
        let needs = names.iter().map(|name| Text::new(name)).collect();
        Command { needs, ..self }
    }

    /// The same command with a report of this pattern.
    pub(crate) fn reporting(self, format: TestReportFormat, pattern: &str) -> Command {
        let path = RelativePath::try_from(pattern.to_owned()).ok();
        let report = path.map(|path| TestReport {
            format: Some(format),
            path,
        });
        Command { report, ..self }
    }

    /// Names of the commands without which it is not run.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &str> {
        self.needs.iter().map(Text::as_str)
    }

    /// Its name; what it runs, if it has none.
    pub(crate) fn name(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.run).as_str()
    }

    pub(crate) fn limit(&self) -> Duration {
        self.timeout_ms.duration()
    }
}

/// A JSON file and the schema that it must fit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SchemaCheck {
    pub(crate) file: RelativePath,
    pub(crate) schema: RelativePath,
}

/// A command and what its output must be.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Blackbox {
    #[serde(default)]
    name: Option<Text>,
    pub(crate) run: Text,
    #[serde(default)]
    timeout_ms: TimeoutMs,
    #[serde(default)]
    pub(crate) expect: Expect,
}

impl Blackbox {
    pub(crate) fn command(&self) -> Command {
        Command {
            name: Some(self.name.clone().unwrap_or_else(|| self.run.clone())),
            run: self.run.clone(),
            timeout_ms: self.timeout_ms,
            report: None,
            needs: Vec::new(),
        }
    }
}

/// What is expected of a command. `contains` and `matches` apply to all output, `equalsFile` and
/// `jsonSchema` at standard output alone.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Expect {
    pub(crate) exit_code: i32,
    pub(crate) contains: Vec<Text>,
    pub(crate) matches: Vec<Pattern>,
    pub(crate) equals_file: Option<RelativePath>,
    pub(crate) json_schema: Option<Schema>,
}

impl Expect {
    /// True if nothing is expected of what the command writes.
    pub(crate) fn is_of_exit_code_alone(&self) -> bool {
        let has_patterns = !self.contains.is_empty() || !self.matches.is_empty();
        !has_patterns && self.equals_file.is_none() && self.json_schema.is_none()
    }
}

/// A schema: its path, or itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Schema {
    File(RelativePath),
    Inline(serde_json::Map<String, serde_json::Value>),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Sanity {
    pub(crate) max_file_bytes: Option<u64>,
    pub(crate) forbid_debug_leftovers: bool,
    pub(crate) coverage: Option<Coverage>,
}

/// A coverage report and the part of the lines that must be covered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Coverage {
    pub(crate) format: CoverageFormat,
    pub(crate) path: RelativePath,
    pub(crate) minimum: Fraction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CoverageFormat {
    Lcov,
    Cobertura,
}

impl Plan {
    /// Reads a plan for a checkout with these files, of which one's literal name decides whether a
    /// bracket is literal; an empty file is an empty plan.
    ///
    /// # Errors
    /// What is wrong, with the key and the line.
    pub(super) fn parse_for(
        bytes: &[u8],
        files: impl FnOnce() -> Vec<PathBuf>,
    ) -> Result<Plan, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
        bounds::check_aliases(text)?;
        let plan: Option<Plan> = serde_norway::from_str(text).map_err(|why| why.to_string())?;
        let mut plan = plan.unwrap_or_default();
        let has_bracket = |globs: &[Glob]| globs.iter().any(Glob::has_bracket);
        if plan.globs().iter().any(|(_, globs)| has_bracket(globs)) {
            plan.settle_brackets(&files());
        }
        bounds::check_globs(&plan, text)?;
        bounds::check_reports(&plan, text)?;
        bounds::check(&plan, text)?;
        needs::check(&plan)?;
        Ok(plan)
    }

    /// Reads a plan for a checkout without files.
    #[cfg(test)]
    pub(crate) fn parse(bytes: &[u8]) -> Result<Plan, String> {
        Plan::parse_for(bytes, Vec::new)
    }

    fn settle_brackets(&mut self, files: &[PathBuf]) {
        let protected = self.protected.iter_mut().flatten();
        let contracts = &mut self.contracts;
        let required = contracts.required_files.iter_mut();
        let globs = protected.chain(required);
        for glob in globs.chain(&mut contracts.forbidden_files) {
            glob.settle_brackets(files);
        }
    }

    /// The lists of patterns of paths, by name.
    pub(super) fn globs(&self) -> Globs<'_> {
        let contracts = &self.contracts;
        let protected = self.protected.as_deref().unwrap_or_default();
        vec![
            ("protected", protected),
            ("contracts.requiredFiles", &contracts.required_files),
            ("contracts.forbiddenFiles", &contracts.forbidden_files),
        ]
    }

    /// Whether verification runs anything but custom plugins.
    pub(crate) fn has_commands(&self) -> bool {
        let lists = [&self.setup, &self.contracts.commands, &self.tests];
        lists.iter().any(|list| !list.is_empty()) || !self.blackbox.is_empty()
    }

    /// The paths of all reports that its commands write.
    pub(crate) fn reports(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.setup, &self.contracts.commands, &self.tests];
        let reports = lists.into_iter().flatten();
        let reports = reports.filter_map(|command| Some(&command.report.as_ref()?.path));
        let coverage = self.sanity.coverage.iter().map(|coverage| &coverage.path);
        reports.chain(coverage).map(RelativePath::as_str)
    }

    /// Patterns of what is put back to its base content; absent: the plan itself alone.
    pub(crate) fn protected(&self) -> Option<&[Glob]> {
        self.protected.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::glob_set;
    use super::*;

    const WHOLE: &str = r#"
version: 1
protected: ["tests/**", "verify.yaml"]
setup:    [{name: deps, run: "npm ci", timeoutMs: 300000}]
contracts:
  requiredFiles: ["README.md"]
  forbiddenFiles: ["**/*.pem"]
  schemas: [{file: config.json, schema: schema.json}]
  commands: [{name: lint, run: "npm run lint"}]
tests:
  - {name: unit, run: "npm test", timeoutMs: 300000, report: {format: junit, path: report.xml}}
blackbox:
  - {name: prints help, run: "node cli.js --help", expect: {exitCode: 0, contains: ["usage"], matches: [], equalsFile: null, jsonSchema: null}}
sanity:
  maxFileBytes: 1000000
  forbidDebugLeftovers: true
  coverage: {format: lcov, path: lcov.info, minimum: 0.8}
"#;

    #[test]
    fn the_documented_shape_is_understood() {
        let plan = Plan::parse(WHOLE.as_bytes()).unwrap();
        assert_eq!(plan.tests[0].name(), "unit");
        let protected = glob_set(plan.protected().unwrap()).unwrap();
        assert!(protected.is_match("tests/a/b"));
        assert!(!protected.is_match("src/tests/a"));
        assert_eq!(plan.blackbox[0].expect.contains.len(), 1);
    }

    #[test]
    fn every_part_is_optional() {
        for text in ["", "version: 1", "tests: []", "# nothing\n"] {
            let plan = Plan::parse(text.as_bytes()).unwrap();
            assert!(plan.protected().is_none(), "the plan alone is protected");
        }
    }

    #[test]
    fn a_fault_is_named_with_its_key_and_its_line() {
        for (text, key, line) in [
            ("version: 1\ntets: []\n", "tets", "line 2"),
            ("tests:\n  - {run: x, timeout: 5}\n", "timeout", "line 2"),
            ("tests:\n  - {run: x, timeoutMs: 0}\n", "tests[0]", "line 2"),
            ("tests:\n  - name: x\n", "run", "line 2"),
            // A value of a key at the top is named by its key alone.
            ("version: 2\n", "version", ""),
            ("protected: ['a[']\n", "protected", "line 1"),
            (
                "contracts:\n  schemas: [{file: ../x, schema: y}]\n",
                "file",
                "line 2",
            ),
            (
                "blackbox: [{run: x, expect: {matches: ['(']}}]\n",
                "matches",
                "line 1",
            ),
            (
                "sanity: {coverage: {format: lcov, path: x, minimum: 80}}\n",
                "minimum",
                "line 1",
            ),
            ("tests:\n\t- x\n", "token", "line 2"),
        ] {
            let why = Plan::parse(text.as_bytes()).unwrap_err();
            assert!(why.contains(key) && why.contains(line), "{text}: {why}");
        }
    }
}
