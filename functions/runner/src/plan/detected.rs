//! The plan of a repository without `verify.yaml`, derived from its manifests by the toolchains.
//!
//! The commands are those of the base: a script or a make target that an agent changed is restored in the
//! verified checkout, and every test file of the base must still exist.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::types::{Command, Plan, TestReportFormat};
use super::values::Glob;
use super::{FrozenPlan, Installation};
use crate::toolchains::{self, Derivation, PlacedUnit, Program, Step};

/// Reasons of a derived plan, for people.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reasons {
    /// A line for each unit: its folder, the file that revealed it, its manager.
    pub(crate) units: Vec<String>,
    /// Manifests that are not part of the plan.
    pub(crate) left_out: Vec<String>,
    /// Advice where nothing was derived: what was seen, and a `verify.yaml` for it.
    pub(crate) advice: Option<String>,
}

/// The plan that the manifests in `dir` suggest.
pub(super) fn detect(dir: &Path) -> FrozenPlan {
    let derivation = toolchains::derive(dir);
    let mut frozen = FrozenPlan {
        plan: Plan::default(),
        install: Vec::new(),
        programs: Vec::new(),
        manifests: Vec::new(),
        units: vec![String::new()],
        scripts: Vec::new(),
        unmatched: Vec::new(),
        keeps_test_files: true,
        reasons: Some(reasons(&derivation)),
    };
    for placed in derivation.units {
        if !frozen.units.contains(&placed.folder) {
            frozen.units.push(placed.folder.clone());
        }
        add(&mut frozen, placed);
    }
    frozen.scripts = super::executed::scripts(dir, &frozen.plan, &frozen.units);
    frozen
}

fn add(frozen: &mut FrozenPlan, placed: PlacedUnit) {
    let PlacedUnit { folder, unit, .. } = placed;
    let command = |step: &Step, needs: &[String]| {
        let name = in_unit(&folder, &step.name);
        let run = if folder.is_empty() {
            step.run.clone()
        } else {
            format!("cd {} && {}", toolchains::quoted(&folder), step.run)
        };
        Command::detected(&name, &run).needing(needs)
    };
    let mut needs: Vec<String> = Vec::new();
    if let Some(install) = &unit.install {
        let step = Step::new("install", install);
        frozen.install.push(Installation {
            command: command(&step, &[]),
            fills: unit.fills.map(|path| toolchains::in_folder(&folder, path)),
        });
        needs.push(in_unit(&folder, &step.name));
    }
    let plan = &mut frozen.plan;
    let lint = unit.lint.iter().map(|step| command(step, &needs));
    plan.contracts.commands.extend(lint);
    for step in &unit.build {
        plan.contracts.commands.push(command(step, &needs));
        needs.push(in_unit(&folder, &step.name));
    }
    let test = |step: &Step| {
        let tests = command(step, &needs);
        match unit.report {
            None => tests,
            Some(pattern) => {
                let pattern = toolchains::in_folder(&Glob::escaped(&folder), pattern);
                tests.reporting(TestReportFormat::Junit, &pattern)
            }
        }
    };
    let tests = unit.test.iter().map(test);
    plan.tests.extend(tests);
    let programs = unit.programs.into_iter();
    frozen.programs.extend(programs.map(|program| Program {
        folder: folder.clone(),
        ..program
    }));
    let manifests = unit.manifests.into_iter();
    let manifests = manifests.map(|manifest| manifest.within(&folder));
    frozen.manifests.extend(manifests);
}

/// The name of a command of a unit.
fn in_unit(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}: {name}")
    }
}

fn reasons(derivation: &Derivation) -> Reasons {
    let units = derivation.units.iter().map(|placed| {
        let file = toolchains::in_folder(&placed.folder, &placed.unit.by);
        let name = placed.language.toolchain().name;
        format!("{file}: {name}, {}", placed.unit.manager)
    });
    Reasons {
        units: units.collect(),
        left_out: derivation.left_out.clone(),
        advice: derivation.units.is_empty().then(|| advice(derivation)),
    }
}

/// Names what was seen where no command was derived, and shows a `verify.yaml` for it.
fn advice(derivation: &Derivation) -> String {
    let mut names: Vec<&str> = derivation
        .seen
        .iter()
        .map(|(place, _)| place.as_str())
        .collect();
    names.extend(derivation.left_out.iter().map(String::as_str));
    names.extend(derivation.script);
    let script = derivation.script.map(|script| format!("sh {script}"));
    let (saw, example) = match names.as_slice() {
        [] => ("no manifest of a known tool".to_owned(), None),
        names => {
            let language = derivation.seen.first().map(|(_, language)| *language);
            (
                names.join(", "),
                language.map(|one| one.toolchain().example),
            )
        }
    };
    let example = script.as_deref().or(example).unwrap_or("make check");
    let without = if names.is_empty() {
        ""
    } else {
        ", without tests that awo detects"
    };
    format!(
        "saw {saw}{without}. Add a verify.yaml at the top of the repository, such as:\n\
         version: 1\n\
         setup: []\n\
         tests: [{{name: tests, run: {example:?}}}]"
    )
}
