//! L0, contracts: files that must be there, files that must not, files that must fit a schema,
//! and commands such as linters. Files are looked at before any command could change them.

use std::path::{Path, PathBuf};

use awo_domain::verification::Check;
use serde_json::Value;

use super::{Verification, error, failed, files, passed};
use crate::confined;
use crate::plan::{Glob, SchemaCheck, glob_set};
use crate::stop::Stopped;

/// Largest JSON file and largest schema.
pub(super) const MAX_JSON_BYTES: u64 = 4 * 1_024 * 1_024;
/// Most faults or files that one message names.
const MAX_NAMED: usize = 10;

impl Verification<'_> {
    pub(super) async fn contracts(&mut self) -> Result<Vec<Check>, Stopped> {
        let contracts = &self.plan.contracts;
        let mut checks = Vec::new();
        if !self.subject.gone_test_files.is_empty() {
            let gone = list_some(&self.subject.gone_test_files);
            let message = format!("test files of the base are gone: {gone}; put them back");
            checks.push(failed("test files kept", &message));
        }
        if !contracts.required_files.is_empty() || !contracts.forbidden_files.is_empty() {
            match files::list(&self.subject.dir) {
                Ok(files) => checks.extend(self.file_rules(&files)),
                Err(why) => checks.push(error("files", &format!("cannot be listed: {why}"))),
            }
        }
        let schemas = contracts.schemas.iter();
        for schema in schemas.filter(|schema| self.looks_at(Path::new(schema.file.as_str()))) {
            checks.push(self.schema(schema));
        }
        let commands = self.commands(&contracts.commands, 0).await?;
        checks.extend(commands);
        Ok(checks)
    }

    fn file_rules(&self, files: &[PathBuf]) -> Vec<Check> {
        let contracts = &self.plan.contracts;
        let matching = |glob: &Glob| {
            let set = glob_set(std::slice::from_ref(glob));
            let found = files.iter().filter(move |file| set.is_match(file));
            found.cloned().collect::<Vec<_>>()
        };
        let required = contracts.required_files.iter().map(|glob| {
            let name = format!("required: {}", glob.as_str());
            match matching(glob).len() {
                0 => failed(&name, "no such file: add it"),
                count => passed(&name, &format!("{count} found")),
            }
        });
        let forbidden = contracts.forbidden_files.iter().map(|glob| {
            let name = format!("forbidden: {}", glob.as_str());
            let found = matching(glob)
                .into_iter()
                .filter(|file| self.looks_at(file));
            match found.collect::<Vec<_>>() {
                found if found.is_empty() => passed(&name, "none found"),
                found => failed(&name, &format!("remove {}", list_some(&found))),
            }
        });
        required.chain(forbidden).collect()
    }

    /// False for a file that this verification leaves alone.
    fn looks_at(&self, file: &Path) -> bool {
        let only = self.subject.only.as_ref();
        only.is_none_or(|only| only.contains(file))
    }

    fn schema(&self, check: &SchemaCheck) -> Check {
        let (file, schema) = (check.file.as_str(), check.schema.as_str());
        let name = format!("schema: {file}");
        let schema = match self.json(schema) {
            Ok(schema) => schema,
            Err(why) => return error(&name, &format!("{schema} {why}")),
        };
        match self.json(file) {
            Ok(value) => fits(&name, file, &value, &schema),
            Err(why) => failed(&name, &format!("{file} {why}")),
        }
    }

    /// A JSON file of the checkout.
    pub(super) fn json(&self, path: &str) -> Result<Value, String> {
        let bytes = confined::read_within(&self.subject.dir, path, MAX_JSON_BYTES)
            .map_err(|why| why.to_string())?;
        serde_json::from_slice(&bytes).map_err(|why| format!("is not JSON: {why}"))
    }
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
