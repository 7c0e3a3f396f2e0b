//! Caches, installed dependencies and build output that tools leave wherever they work, whether or
//! not a repository has git ignore them. One table, for what no commit takes and for what a
//! verification may leave behind.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The sign by which a folder of that name is such a folder, and not one of the project's own.
#[derive(Debug, Clone, Copy)]
enum Evidence {
    /// The name alone: no project has such a folder of its own.
    Name,
    /// One of these stands beside it.
    Beside(&'static [&'static str]),
    /// One of these stands in it.
    Holds(&'static [&'static str]),
}

/// Folders, by the tools that make them.
const FOLDERS: [(&str, Evidence); 44] = [
    // Python
    ("__pycache__", Evidence::Name),
    (".pytest_cache", Evidence::Name),
    (".mypy_cache", Evidence::Name),
    (".ruff_cache", Evidence::Name),
    (".pytype", Evidence::Name),
    (".hypothesis", Evidence::Name),
    (".ipynb_checkpoints", Evidence::Name),
    (".tox", Evidence::Name),
    (".nox", Evidence::Name),
    (".eggs", Evidence::Name),
    (".venv", Evidence::Name),
    ("__pypackages__", Evidence::Name),
    ("htmlcov", Evidence::Name),
    // JavaScript
    ("node_modules", Evidence::Name),
    ("bower_components", Evidence::Name),
    (".pnpm-store", Evidence::Name),
    (".nyc_output", Evidence::Name),
    (".parcel-cache", Evidence::Name),
    (".turbo", Evidence::Name),
    (".next", Evidence::Name),
    (".nuxt", Evidence::Name),
    (".svelte-kit", Evidence::Name),
    (".angular", Evidence::Holds(&["cache"])),
    (".nx", Evidence::Holds(&["cache", "workspace-data"])),
    (
        "coverage",
        Evidence::Holds(&["lcov-report", "lcov.info", "clover.xml"]),
    ),
    // Rust, Java, Scala, Gradle
    (
        "target",
        Evidence::Beside(&["Cargo.toml", "pom.xml", "build.sbt"]),
    ),
    (".gradle", Evidence::Name),
    (
        "build",
        Evidence::Beside(&["build.gradle", "build.gradle.kts"]),
    ),
    (".bloop", Evidence::Name),
    (".metals", Evidence::Name),
    // Ruby, PHP
    (".bundle", Evidence::Name),
    ("vendor", Evidence::Holds(&["autoload.php", "bundle"])),
    (".phpunit.cache", Evidence::Name),
    // .NET
    ("obj", Evidence::Holds(&["project.assets.json"])),
    // Elixir, Erlang
    ("_build", Evidence::Beside(&["mix.exs", "rebar.config"])),
    ("deps", Evidence::Beside(&["mix.exs"])),
    (".elixir_ls", Evidence::Name),
    // C
    ("CMakeFiles", Evidence::Name),
    // Swift, Dart, Haskell, Zig, infrastructure
    (".build", Evidence::Beside(&["Package.swift"])),
    (".dart_tool", Evidence::Name),
    (".stack-work", Evidence::Name),
    ("dist-newstyle", Evidence::Name),
    (".zig-cache", Evidence::Name),
    (".terraform", Evidence::Name),
];
/// Files that mark the folder in which they are: a cache (<https://bford.info/cachedir/>), a
/// virtual environment, a build tree of CMake.
const MARKS: [&str; 3] = ["CACHEDIR.TAG", "pyvenv.cfg", "CMakeCache.txt"];
/// Files, by their whole names.
const FILES: [&str; 4] = [".coverage", ".DS_Store", "Thumbs.db", ".eslintcache"];
/// Files, by the ends of their names.
const FILE_ENDS: [&str; 3] = [".pyc", ".pyo", ".tsbuildinfo"];

/// True if `path` below `root` leads through litter, or is some.
pub(crate) fn covers(root: &Path, path: &Path) -> bool {
    let mut parent = root.to_owned();
    for part in path.components() {
        if is_folder(&parent, part.as_os_str()) {
            return true;
        }
        parent.push(part);
        if has(&parent, &MARKS) {
            return true;
        }
    }
    path.file_name().is_some_and(is_file)
}

fn has(dir: &Path, names: &[&str]) -> bool {
    let mut names = names.iter();
    names.any(|name| fs::symlink_metadata(dir.join(name)).is_ok())
}

/// True if the folder `name` in `parent` is litter.
pub(crate) fn is_folder(parent: &Path, name: &OsStr) -> bool {
    let folder = FOLDERS.iter().find(|(folder, _)| name == *folder);
    folder.is_some_and(|(_, evidence)| match evidence {
        Evidence::Name => true,
        Evidence::Beside(names) => has(parent, names),
        Evidence::Holds(names) => has(&parent.join(name), names),
    })
}

/// True if a file of this name makes its folder litter.
pub(crate) fn marks_folder(name: &OsStr) -> bool {
    MARKS.iter().any(|mark| name == *mark)
}

/// True if a file of this name is litter.
pub(crate) fn is_file(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    FILES.iter().any(|file| name == file.as_bytes())
        || FILE_ENDS.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// Litter of which a repository has some among its own files is none there: files below the same
/// folder, or files of the same name.
pub(crate) fn without_own(litter: Vec<PathBuf>, tracked: &[PathBuf]) -> Vec<PathBuf> {
    let is_own = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        tracked.iter().any(|own| {
            own.starts_with(path) || own.components().any(|part| part.as_os_str() == name)
        })
    };
    litter.into_iter().filter(|path| !is_own(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(dir: &Path, files: &[&str]) {
        for file in files {
            let path = dir.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }

    #[test]
    fn a_folder_with_a_name_of_projects_needs_evidence() {
        let dir = tempfile::tempdir().unwrap();
        make(
            dir.path(),
            &["a/target/mod.rs", "b/Cargo.toml", "b/target/x"],
        );
        make(dir.path(), &["c/vendor/mine.go", "d/vendor/autoload.php"]);
        let litter =
            |parent: &str, name: &str| is_folder(&dir.path().join(parent), OsStr::new(name));
        assert!(!litter("a", "target") && litter("b", "target"));
        assert!(!litter("c", "vendor") && litter("d", "vendor"));
        assert!(litter("a", "node_modules") && !litter("a", "src"));
        make(dir.path(), &["e/own-name/pyvenv.cfg", "f/build/own"]);
        let covers = |path: &str| covers(dir.path(), Path::new(path));
        assert!(covers("e/own-name/bin/x") && covers("x/__pycache__/y"));
        assert!(covers("b/target/x") && !covers("f/build/own") && covers("f/y.pyc"));
        assert!(marks_folder(OsStr::new("pyvenv.cfg")) && is_file(OsStr::new("a.pyc")));
    }

    #[test]
    fn a_repository_that_has_such_files_has_more_of_them() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let litter = paths(&["x/node_modules", "__pycache__", "cache", "y/cache"]);
        let tracked = paths(&["fixtures/node_modules/a.js", "cache/own.txt", "src/a.py"]);
        assert_eq!(without_own(litter, &tracked), paths(&["__pycache__"]));
    }
}
