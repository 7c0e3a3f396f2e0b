//! Toolchains: the languages and tools that a repository can be made with. Each has a module with all
//! that is true of it alone, behind one exhaustive table: nothing else in the runner names a
//! language's tools.

mod c;
pub(crate) mod counting;
mod deno;
mod dotnet;
mod elixir;
pub(crate) mod gates;
mod go;
mod java;
mod manifest;
mod names;
mod node;
mod perl;
mod php;
mod python;
mod ruby;
mod rust;
#[cfg(test)]
mod tests;
mod tree;
mod unit;
mod units;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use strum::VariantArray;

use counting::Runner;
use gates::Gate;
use names::is_named;
use tree::Folder;

pub(crate) use manifest::{Manifest, has_word};
pub(crate) use unit::{Probe, Program, Step, Unit, plain_program, quoted};
pub(crate) use units::{Derivation, PlacedUnit, derive, in_folder};

/// Languages with a toolchain, in the order in which their units stand in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub(crate) enum Language {
    Node,
    Deno,
    Python,
    Rust,
    Go,
    Java,
    Ruby,
    Php,
    Dotnet,
    Elixir,
    Perl,
    /// Comes last: a makefile's targets count only where nothing else has tests.
    C,
}

impl Language {
    /// The runner's one table of toolchains: nothing else matches languages.
    pub(crate) fn toolchain(self) -> &'static Toolchain {
        match self {
            Language::Node => &node::TOOLCHAIN,
            Language::Deno => &deno::TOOLCHAIN,
            Language::Python => &python::TOOLCHAIN,
            Language::Rust => &rust::TOOLCHAIN,
            Language::Go => &go::TOOLCHAIN,
            Language::Java => &java::TOOLCHAIN,
            Language::Ruby => &ruby::TOOLCHAIN,
            Language::Php => &php::TOOLCHAIN,
            Language::Dotnet => &dotnet::TOOLCHAIN,
            Language::Elixir => &elixir::TOOLCHAIN,
            Language::Perl => &perl::TOOLCHAIN,
            Language::C => &c::TOOLCHAIN,
        }
    }
}

/// Facts about the tools of one language. Nothing has a default.
pub(crate) struct Toolchain {
    /// Name for people.
    pub(crate) name: &'static str,
    /// Test runners whose closing lines are known.
    pub(crate) runners: &'static [Runner],
    /// Names of the files that reveal it. `*` stands for any text, as in all names of this table.
    pub(crate) manifests: &'static [&'static str],
    /// Reads a folder that has one of the manifests.
    pub(crate) unit: fn(&Folder<'_>) -> Option<Unit>,
    /// Reads a checkout that has no manifest at all, and this test file.
    pub(crate) tests_alone: Option<fn(&Folder<'_>, &str) -> Option<Unit>>,
    /// Names of test files.
    pub(crate) test_files: &'static [&'static str],
    /// Files that decide what its commands do, can switch tests off, or lead their runner astray.
    pub(crate) gates: &'static [Gate],
    /// Programs that its commands run, each with the remedy for a machine without it.
    pub(crate) programs: &'static [(&'static str, &'static str)],
    /// Folders below a person's home in which its managers keep downloads, each with the variable that names it,
    /// or `NAME=` with what stands before the folder.
    pub(crate) caches: &'static [(&'static str, &'static str)],
    /// A command that prints the URL of the registry from which packages are installed.
    pub(crate) registry: Option<&'static str>,
    /// A command for the tests of a project in the language, as an example.
    pub(crate) example: &'static str,
}

/// All toolchains, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = &'static Toolchain> {
    Language::VARIANTS
        .iter()
        .map(|language| language.toolchain())
}

/// Folders that by custom hold tests, in every language.
const TEST_FOLDERS: [&str; 4] = ["tests", "test", "__tests__", "spec"];

/// True for paths that by custom hold tests.
pub(crate) fn is_test_file(path: &Path) -> bool {
    let in_test_folder = path.parent().is_some_and(|parent| {
        let mut parts = parent.components();
        parts.any(|part| {
            let name = part.as_os_str().to_str();
            name.is_some_and(|name| TEST_FOLDERS.contains(&name))
        })
    });
    let name = path.file_name().and_then(|name| name.to_str());
    in_test_folder || name.is_some_and(has_test_name)
}

fn has_test_name(name: &str) -> bool {
    let patterns = || all().flat_map(|toolchain| toolchain.test_files);
    patterns().any(|pattern| is_named(name, pattern))
}

/// A command that prints the registry that the installation `run` uses.
pub(crate) fn registry(run: &str) -> Option<&'static str> {
    let runs = |toolchain: &&Toolchain| {
        let mut programs = toolchain.programs.iter();
        programs.any(|(name, _)| has_word(run, name))
    };
    all().find(runs)?.registry
}

/// Variables of an agent whose home is `home`: programs of what was installed there come first.
pub(crate) fn variables(home: &Path, path: &OsStr) -> Vec<(&'static str, OsString)> {
    python::variables(home, path)
}

/// Variables that lead package managers to the downloads of the person whose home is `home`. One that is set
/// already stays as it is.
pub(crate) fn caches(
    home: &Path,
    set: impl Fn(&str) -> Option<OsString>,
) -> Vec<(String, OsString)> {
    let caches = all().flat_map(|toolchain| toolchain.caches);
    let value = |(name, folder): &(&str, &str)| {
        let (name, before) = name.split_once('=').unwrap_or((name, ""));
        let usual = || {
            let mut value = OsString::from(before);
            value.push(home.join(folder));
            value
        };
        let value = set(name).filter(|value| !value.is_empty());
        (name.to_owned(), value.unwrap_or_else(usual))
    };
    caches.map(value).collect()
}

/// The remedy for a machine without `program`, if a toolchain knows it.
pub(crate) fn remedy(program: &str) -> Option<&'static str> {
    let remedies = || all().flat_map(|toolchain| toolchain.programs);
    remedies()
        .find(|(name, _)| *name == program)
        .map(|(_, remedy)| *remedy)
}
