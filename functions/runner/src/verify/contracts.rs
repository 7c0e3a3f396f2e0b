//! L0, contracts: required files, forbidden files, files with a schema, and commands such as
//! linters. Files are checked before any command could change them.

use std::path::{Path, PathBuf};

use awo_domain::verification::{Check, Status};
use serde_json::Value;

use super::{Kind, Verification, check, error, failed, passed};
use crate::inspection::Task;
use crate::output::printable;
use crate::plan::{Glob, SchemaCheck, matching};
use crate::repository::{Change, ChangeKind};
use crate::safe_files;
use crate::stop::StopOutcome;

/// Largest JSON file and largest schema.
pub(super) const MAX_JSON_BYTES: u64 = 4 * 1_024 * 1_024;
/// Most faults or files that one message names.
const MAX_NAMED: usize = 10;

impl Verification<'_> {
    pub(super) async fn contracts(&mut self) -> Result<Vec<Check>, StopOutcome> {
        let contracts = &self.plan.contracts;
        let mut checks = Vec::new();
        if !self.subject.gone_test_files.is_empty() {
            let gone = list_some(&self.subject.gone_test_files);
            let message = format!("test files of the base are gone: {gone}; put them back");
            checks.push(failed("test files kept", &message));
        }
        if !self.subject.tests_changed.is_empty() {
            let changed = describe_changes(&self.subject.tests_changed);
            let message = format!("the run changed tests, or what decides how they run: {changed}");
            checks.push(check("tests changed", Status::Warning, &message));
        }
        for pattern in self.unmatched {
            let message =
                "no file of the base matches this protected pattern: correct or remove it";
            let name = format!("protected: {pattern}");
            checks.push(check(&name, Status::Warning, message));
        }
        let mut named: Vec<(String, Task)> = Vec::new();
        for glob in &contracts.required_files {
            named.push((required_name(glob), Task::Required(glob.clone())));
        }
        for glob in &contracts.forbidden_files {
            named.push((forbidden_name(glob), Task::Forbidden(glob.clone())));
        }
        for schema in &contracts.schemas {
            if self.looks_at(Path::new(schema.file.as_str())) {
                let name = format!("schema: {}", schema.file.as_str());
                named.push((name, Task::Schema(schema.clone())));
            }
        }
        checks.extend(self.inspected(named).await?);
        if self.installs_for_tests {
            self.set_up(&mut checks).await?;
        }
        let commands = self.commands(&contracts.commands, Kind::Other).await?;
        checks.extend(commands);
        Ok(checks)
    }

    /// False for a file that this verification leaves alone.
    fn looks_at(&self, file: &Path) -> bool {
        let only = self.subject.only.as_ref();
        only.is_none_or(|only| only.contains(file))
    }
}

pub(crate) fn required_name(glob: &Glob) -> String {
    format!("required: {}", glob.shown())
}

pub(crate) fn forbidden_name(glob: &Glob) -> String {
    format!("forbidden: {}", glob.shown())
}

/// Whether one of `files` matches.
pub(crate) fn required(glob: &Glob, files: &[PathBuf]) -> Check {
    let name = required_name(glob);
    match matching(std::slice::from_ref(glob), files).len() {
        0 => failed(&name, "no such file: add it"),
        count => passed(&name, &format!("{count} found")),
    }
}

/// Whether none of `files`, or of those that are among `only`, matches.
pub(crate) fn forbidden(glob: &Glob, files: &[PathBuf], only: Option<&[PathBuf]>) -> Check {
    let name = forbidden_name(glob);
    let found = matching(std::slice::from_ref(glob), files);
    let found = found.into_iter().map(|number| files[number].clone());
    let found: Vec<PathBuf> = found
        .filter(|file| only.is_none_or(|only| only.contains(file)))
        .collect();
    if found.is_empty() {
        passed(&name, "none found")
    } else {
        failed(&name, &format!("remove {}", list_some(&found)))
    }
}

/// Whether a file of the checkout fits its schema.
pub(crate) fn schema(dir: &Path, check: &SchemaCheck) -> Check {
    let (file, schema) = (check.file.as_str(), check.schema.as_str());
    let name = format!("schema: {file}");
    let schema = match json(dir, schema) {
        Ok(schema) => schema,
        Err(why) => return error(&name, &format!("{schema} {why}")),
    };
    match json(dir, file) {
        Ok(value) => fits(&name, file, &value, &schema),
        Err(why) => failed(&name, &format!("{file} {why}")),
    }
}

/// A JSON file of the checkout.
pub(super) fn json(dir: &Path, path: &str) -> Result<Value, String> {
    let bytes =
        safe_files::read_within(dir, path, MAX_JSON_BYTES).map_err(|why| why.to_string())?;
    serde_json::from_slice(&bytes).map_err(|why| format!("is not JSON: {why}"))
}

/// Whether a value fits a schema. References to other documents are not resolved: verification
/// reads nothing but the checkout.
pub(super) fn fits(name: &str, what: &str, value: &Value, schema: &Value) -> Check {
    let validator = match jsonschema::validator_for(schema) {
        Ok(validator) => validator,
        Err(why) => return error(name, &format!("the schema is not valid: {why}")),
    };
    let faults: Vec<String> = validator
        .iter_errors(value)
        .take(MAX_NAMED)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    if faults.is_empty() {
        passed(name, "fits")
    } else {
        failed(name, &format!("{what} does not fit: {}", faults.join("; ")))
    }
}

fn describe_changes(changes: &[Change]) -> String {
    let shown: Vec<String> = changes
        .iter()
        .take(MAX_NAMED)
        .map(|change| {
            let how = match change.kind {
                ChangeKind::Added => "added",
                ChangeKind::Deleted => "removed",
                ChangeKind::Modified => "changed",
            };
            format!("{} ({how})", printable(&change.path.to_string_lossy()))
        })
        .collect();
    match changes.len().saturating_sub(MAX_NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

pub(super) fn list_some(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .take(MAX_NAMED)
        .map(|path| path.display().to_string())
        .collect();
    match paths.len().saturating_sub(MAX_NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
