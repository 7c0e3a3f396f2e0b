//! Scripts of the base that a plan's commands run: named by a command, by a script of a manifest, by a recipe
//! of a makefile, or by another script.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::types::Plan;
use crate::safe_files;
use crate::toolchains::gates::scripts::{included, run_by};
use crate::toolchains::in_folder;

/// Largest file that is searched.
const MAX_FILE_BYTES: u64 = 262_144;
/// Most scripts that are searched for others.
const MAX_SEARCHED: usize = 50;
/// Manifests with scripts, and makefiles.
const SCRIPTED: [&str; 3] = ["package.json", "composer.json", "deno.json"];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Paths of the scripts, in order.
pub(super) fn scripts(dir: &Path, plan: &Plan, units: &[String]) -> Vec<String> {
    let mut paths: BTreeSet<String> = BTreeSet::new();
    let commands = [&plan.setup, &plan.contracts.commands, &plan.tests];
    for command in commands.into_iter().flatten() {
        paths.extend(run_in(dir, "", command.run.as_str()));
    }
    for unit in units {
        for text in texts(dir, unit) {
            paths.extend(run_in(dir, unit, &text));
        }
        for makefile in MAKEFILES {
            if let Some(text) = read(dir, &in_folder(unit, makefile)) {
                paths.extend(run_in(dir, unit, &text));
                let others = included(&text).into_iter();
                paths.extend(others.map(|path| in_folder(unit, &path)));
            }
        }
    }
    let mut open: Vec<String> = paths.iter().cloned().collect();
    let mut searched = 0;
    while let Some(path) = open.pop().filter(|_| searched < MAX_SEARCHED) {
        searched += 1;
        let text = read(dir, &path).unwrap_or_default();
        let more = run_in(dir, "", &text).into_iter();
        let new: Vec<String> = more.filter(|script| !paths.contains(script)).collect();
        paths.extend(new.iter().cloned());
        open.extend(new);
    }
    paths.into_iter().collect()
}

fn run_in(dir: &Path, unit: &str, text: &str) -> BTreeSet<String> {
    let is_file = |path: &str| {
        let path = in_folder(unit, path);
        safe_files::metadata_within(dir, Path::new(&path)).is_ok_and(|meta| meta.is_file())
    };
    let scripts = run_by(text, is_file).into_iter();
    scripts.map(|path| in_folder(unit, &path)).collect()
}

/// Texts of the scripts of the manifests in a folder.
fn texts(dir: &Path, unit: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for manifest in SCRIPTED {
        let text = read(dir, &in_folder(unit, manifest)).unwrap_or_default();
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let lists = ["scripts", "tasks"].into_iter();
        let scripts = lists.filter_map(|list| value.get(list)?.as_object());
        for script in scripts.flat_map(serde_json::Map::values) {
            let lines = script
                .as_array()
                .map_or_else(|| vec![script], |all| all.iter().collect());
            let lines = lines.into_iter().filter_map(Value::as_str);
            texts.extend(lines.map(str::to_owned));
        }
    }
    texts
}

fn read(dir: &Path, path: &str) -> Option<String> {
    let bytes = safe_files::read_within(dir, path, MAX_FILE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
