//! Files that decide what commands do: scripts, configuration of runners, versions of tools, and modules
//! that stand before those of the same name. Each toolchain lists its own; a change of one is a change of
//! the gate that judges a commit.

mod parts;
pub(crate) mod scripts;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::names::is_switch;
pub(crate) use parts::Parts;

/// A row of a toolchain's table of such files. A name may have one `*`; `a/b` is the end of a path, and
/// `a/` a folder anywhere.
pub(crate) enum Gate {
    /// Files that a tool finds by itself: also new ones, wherever they are.
    Anywhere(&'static [&'static str]),
    /// Files that others name: new ones count at the top of a unit alone.
    Named(&'static [&'static str]),
    /// The same of files of which some parts declare dependencies or the product, and do not count.
    Partly(&'static [&'static str], Parts),
    /// New files that take the place of a module with their name.
    Shadows(fn(&Path) -> bool),
}

/// A change of a file, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) path: &'a Path,
    pub(crate) is_new: bool,
}

/// The judgement of a change by its path alone.
#[derive(Clone, Copy)]
pub(crate) enum Class {
    /// A file that decides nothing.
    Free,
    /// A file that decides what commands do.
    Decisive,
    /// A file of which some parts do.
    ByParts,
}

/// Classifies a change. `units` are the folders of the plan's units, the top among them.
pub(crate) fn class(change: Change<'_>, units: &[String]) -> Class {
    let is_named = |names: &[&str]| names.iter().any(|name| is_switch(change.path, name));
    let counts = || !change.is_new || is_in_unit_folder(change.path, units);
    let mut class = Class::Free;
    for gate in super::all().flat_map(|toolchain| toolchain.gates) {
        match gate {
            Gate::Anywhere(names) if is_named(names) => return Class::Decisive,
            Gate::Named(names) if counts() && is_named(names) => return Class::Decisive,
            Gate::Shadows(stands_before) if change.is_new => {
                let inner = units
                    .iter()
                    .filter_map(|unit| change.path.strip_prefix(unit).ok());
                if inner.into_iter().any(stands_before) {
                    return Class::Decisive;
                }
            }
            Gate::Partly(names, _) if counts() && is_named(names) => {
                class = Class::ByParts;
            }
            _ => {}
        }
    }
    class
}

/// True for a file that decides what commands do, or is installed, wherever it is.
pub(crate) fn decides(path: &Path) -> bool {
    let top = path.parent().and_then(Path::to_str).unwrap_or_default();
    let change = Change { path, is_new: true };
    !matches!(class(change, &[top.to_owned()]), Class::Free)
}

/// The parts of a file that decide, if only parts of it do.
pub(crate) fn parts_of(path: &Path) -> Option<&'static Parts> {
    let mut gates = super::all().flat_map(|toolchain| toolchain.gates);
    gates.find_map(|gate| match gate {
        Gate::Partly(names, parts) if names.iter().any(|name| is_switch(path, name)) => Some(parts),
        _ => None,
    })
}

fn is_in_unit_folder(path: &Path, units: &[String]) -> bool {
    let parent = path.parent().unwrap_or(Path::new(""));
    units.iter().any(|unit| parent == Path::new(unit))
}

/// True if a new file stands before a module: `is_module` gets its path from a folder on, from which
/// modules are looked up: the top, one of `roots`, or a folder of tests.
pub(super) fn shadows(path: &Path, roots: &[&str], is_module: impl Fn(&[&str]) -> bool) -> bool {
    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
    let Some(parts) = parts else {
        return false;
    };
    let is_lookup = |folders: &[&str]| {
        let is_of_tests = |folder: &&str| super::TEST_FOLDERS.contains(folder);
        folders.is_empty()
            || matches!(folders, [folder] if roots.contains(folder))
            || folders.iter().any(is_of_tests)
    };
    (0..parts.len()).any(|start| is_lookup(&parts[..start]) && is_module(&parts[start..]))
}
