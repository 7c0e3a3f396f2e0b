//! The units of a checkout: at its top, and in folders whose manifests no unit above covers.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::Path;
use strum::VariantArray;

use super::Language;
use super::names::is_named;
use super::tree::{Folder, Tree};
use super::unit::{Cover, Unit};

/// Number of folders between a root and its members.
const MAX_MEMBER_DEPTH: usize = 4;
/// Most manifests that are read.
const MAX_MANIFESTS: usize = 400;
/// Most units of a plan.
const MAX_UNITS: usize = 20;
/// Number of folders between the top and a unit, the unit's own included.
const MAX_DEPTH: usize = 3;
/// Most folders and files that are named as left out, or as seen.
const MAX_NAMED: usize = 20;
/// Most patterns of members that are read.
const MAX_PATTERNS: usize = 200;
/// Folders whose manifests are examples, documents or data for tests, not parts of the product.
const NO_UNITS: [&str; 8] = [
    "tests",
    "test",
    "__tests__",
    "spec",
    "examples",
    "example",
    "docs",
    "doc",
];

/// Scripts that by their names run the tests.
const SCRIPTS: [&str; 10] = [
    "test.sh",
    "tests.sh",
    "run_tests.sh",
    "run-tests.sh",
    "runtests.sh",
    "scripts/test.sh",
    "script/test",
    "bin/test",
    "tests/run.sh",
    "test/run.sh",
];

/// A unit and its place.
pub(crate) struct PlacedUnit {
    pub(crate) language: Language,
    pub(crate) folder: String,
    pub(crate) unit: Unit,
}

/// Units of a checkout, and what was not made one.
#[derive(Default)]
pub(crate) struct Derivation {
    pub(crate) units: Vec<PlacedUnit>,
    /// Folders and manifests beyond the limits, or in folders of examples.
    pub(crate) left_out: Vec<String>,
    /// Manifests without commands, each with its language.
    pub(crate) seen: Vec<(String, Language)>,
    /// A script that by its name runs the tests.
    pub(crate) script: Option<&'static str>,
}

/// Derives the units of the checkout in `root`.
pub(crate) fn derive(root: &Path) -> Derivation {
    let tree = Tree::read(root);
    let mut derivation = Derivation::default();
    let mut roots: Vec<Root> = Vec::new();
    let mut manifests = 0;
    // One level more, so that what is too deep is named.
    for path in tree.folders(MAX_DEPTH + 1) {
        let folder = tree.folder(path);
        let depth = if path.is_empty() {
            0
        } else {
            path.split('/').count()
        };
        let is_example = path.split('/').any(|part| NO_UNITS.contains(&part));
        let mut has_tests = false;
        for language in Language::VARIANTS {
            let Some(manifest) = manifest_in(&folder, *language) else {
                continue;
            };
            if roots.iter().any(|root| root.covers(*language, path)) {
                continue;
            }
            let place = in_folder(path, &manifest);
            manifests += 1;
            if manifests > MAX_MANIFESTS {
                note(&mut derivation.left_out, place);
                return finished(derivation, &tree.folder(""));
            }
            let Some(unit) = (language.toolchain().unit)(&folder) else {
                continue;
            };
            if is_example || depth > MAX_DEPTH {
                if unit.has_commands() {
                    note(&mut derivation.left_out, place);
                }
                continue;
            }
            roots.extend(Root::of(*language, path, &unit.covers));
            place_unit(
                &mut derivation,
                *language,
                path,
                place,
                unit,
                &mut has_tests,
            );
        }
    }
    finished(derivation, &tree.folder(""))
}

fn finished(mut derivation: Derivation, top: &Folder<'_>) -> Derivation {
    drop_weak(&mut derivation);
    if derivation.units.is_empty() {
        derivation.units.extend(tests_alone(top));
        derivation.script = top.first(&SCRIPTS);
    }
    derivation
}

/// The unit of a checkout whose test files are all that reveals its language.
fn tests_alone(top: &Folder<'_>) -> Option<PlacedUnit> {
    Language::VARIANTS.iter().find_map(|language| {
        let toolchain = language.toolchain();
        let read = toolchain.tests_alone?;
        let is_test = |file: &&str| {
            let name = file.rsplit('/').next().unwrap_or_default();
            let mut patterns = toolchain.test_files.iter();
            patterns.any(|pattern| is_named(name, pattern))
        };
        let file = top.files().find(is_test)?.to_owned();
        let unit = read(top, &file).filter(Unit::has_commands)?;
        Some(PlacedUnit {
            language: *language,
            folder: String::new(),
            unit,
        })
    })
}

fn place_unit(
    derivation: &mut Derivation,
    language: Language,
    path: &str,
    place: String,
    mut unit: Unit,
    has_tests: &mut bool,
) {
    if language == Language::C && *has_tests {
        unit.test.clear();
        unit.build.clear();
    }
    let has_linter = |placed: &PlacedUnit| placed.folder == path && !placed.unit.lint.is_empty();
    if language == Language::C && derivation.units.iter().any(has_linter) {
        unit.lint.clear();
    }
    if !unit.has_commands() {
        if derivation.seen.len() < MAX_NAMED {
            derivation.seen.push((place, language));
        }
    } else if derivation.units.len() == MAX_UNITS {
        note(&mut derivation.left_out, place);
    } else {
        *has_tests |= !unit.test.is_empty() && !unit.is_weak;
        derivation.units.push(PlacedUnit {
            language,
            folder: path.to_owned(),
            unit,
        });
    }
}

/// Removes tests that count only where nothing else has any.
fn drop_weak(derivation: &mut Derivation) {
    let strong = |placed: &PlacedUnit| !placed.unit.is_weak && !placed.unit.test.is_empty();
    let has_strong = derivation.units.iter().any(strong);
    let is_kept =
        |placed: &PlacedUnit| !placed.unit.is_weak || (!has_strong && placed.folder.is_empty());
    let (units, weak): (Vec<PlacedUnit>, Vec<PlacedUnit>) = std::mem::take(&mut derivation.units)
        .into_iter()
        .partition(is_kept);
    derivation.units = units;
    let weak = weak.into_iter();
    let seen = weak.map(|placed| (in_folder(&placed.folder, &placed.unit.by), placed.language));
    derivation.seen.extend(seen);
}

fn note(list: &mut Vec<String>, place: String) {
    if list.len() < MAX_NAMED {
        list.push(place);
    }
}

/// Path of a file in a folder of the checkout.
pub(crate) fn in_folder(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn manifest_in(folder: &Folder<'_>, language: Language) -> Option<String> {
    let patterns = language.toolchain().manifests;
    patterns.iter().find_map(|pattern| {
        let mut names = folder.names();
        names
            .find(|name| is_named(name, pattern))
            .map(str::to_owned)
    })
}

/// A unit whose commands include others.
struct Root {
    language: Language,
    path: String,
    members: Option<GlobSet>,
    except: GlobSet,
}

impl Root {
    fn of(language: Language, path: &str, cover: &Cover) -> Option<Root> {
        let (members, except) = match cover {
            Cover::Nothing => return None,
            Cover::Below { except } => (None, patterns(except)),
            Cover::Members(members) => {
                let left_out = members.iter().filter_map(|one| one.strip_prefix('!'));
                let left_out: Vec<String> = left_out.map(str::to_owned).collect();
                let members = members.iter().filter(|one| !one.starts_with('!'));
                let members: Vec<String> = members.cloned().collect();
                (Some(patterns(&members)), patterns(&left_out))
            }
        };
        Some(Root {
            language,
            path: path.to_owned(),
            members,
            except,
        })
    }

    fn covers(&self, language: Language, path: &str) -> bool {
        if language != self.language {
            return false;
        }
        let inner = if self.path.is_empty() {
            Some(path)
        } else {
            path.strip_prefix(&self.path)
                .and_then(|rest| rest.strip_prefix('/'))
        };
        let Some(inner) = inner.filter(|inner| !inner.is_empty()) else {
            return false;
        };
        let is_member = self.members.as_ref().is_none_or(|set| set.is_match(inner));
        is_member && !self.except.is_match(inner)
    }
}

/// The folders below `folder` that match one of these patterns of members.
pub(crate) fn member_folders<'a>(folder: &Folder<'a>, members: &[String]) -> Vec<Folder<'a>> {
    let cover = Cover::Members(members.to_vec());
    // The language matters for units alone.
    let Some(root) = Root::of(Language::Node, folder.path(), &cover) else {
        return Vec::new();
    };
    let below = folder.folders(MAX_MEMBER_DEPTH).into_iter();
    below
        .filter(|member| root.covers(Language::Node, member.path()))
        .collect()
}

/// A set of the patterns that can be read.
fn patterns(texts: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for text in texts.iter().take(MAX_PATTERNS) {
        let text = text.trim_start_matches("./").trim_end_matches('/');
        if let Ok(glob) = GlobBuilder::new(text).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}
