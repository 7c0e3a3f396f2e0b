//! C and C++, and whatever a makefile builds.

mod gates;
pub(super) mod makefile;
mod runners;

use super::Toolchain;
use super::manifest::Manifest;
use super::tree::Folder;
use super::unit::{Cover, Program, Step, Unit, quoted};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "C and C++",
    runners: &runners::ALL,
    manifests: &[
        "CMakeLists.txt",
        "meson.build",
        "configure.ac",
        "configure",
        "GNUmakefile",
        "makefile",
        "Makefile",
    ],
    unit,
    tests_alone: None,
    test_files: &[],
    gates: &gates::ALL,
    programs: &[
        ("make", "install make (package `make`)"),
        ("cmake", "install CMake (package `cmake`)"),
        ("ctest", "install CMake, which has ctest (package `cmake`)"),
        (
            "meson",
            "install Meson and Ninja (packages `meson` and `ninja-build`)",
        ),
        (
            "autoreconf",
            "install the autotools (packages `autoconf`, `automake` and `libtool`)",
        ),
        ("cc", "install a C compiler (package `gcc` or `clang`)"),
    ],
    caches: &[],
    registry: None,
    example: "make check",
};

/// Folder of a build outside of the sources.
const BUILD: &str = "~/build";

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    let by_makefile = from_makefile(folder);
    let has_tests = |unit: &Unit| !unit.test.is_empty();
    // A makefile with tests is how a maintainer runs them, whatever it calls.
    if let Some(unit) = by_makefile.as_ref().filter(|unit| has_tests(unit)) {
        return Some(unit.clone());
    }
    let built = from_cmake(folder)
        .or_else(|| from_meson(folder))
        .or_else(|| from_autotools(folder));
    match (built, by_makefile) {
        (Some(mut built), Some(makefile)) => {
            built.lint = makefile.lint;
            built.manifests = makefile.manifests;
            built.programs.extend(makefile.programs);
            Some(built)
        }
        (built, makefile) => built.or(makefile),
    }
}

/// Targets that run tests, the better one first.
const TEST_TARGETS: [&str; 2] = ["test", "check"];

fn from_makefile(folder: &Folder<'_>) -> Option<Unit> {
    let name = folder.first(&makefile::NAMES)?;
    let text = folder.text(name)?;
    let has = |target: &str| makefile::rules(&text, target).is_some();
    let mut unit = Unit::new(name, "make").needs("make");
    unit.covers = below();
    let mut targets: Vec<String> = Vec::new();
    if let Some(target) = TEST_TARGETS.into_iter().find(|target| has(target)) {
        // The name is given, so that no other makefile comes before it.
        unit = unit.tested_by(
            &format!("make {target}"),
            &format!("make -f {name} {target}"),
        );
        targets.push(target.to_owned());
    }
    if has("lint") {
        unit.lint
            .push(Step::new("make lint", &format!("make -f {name} lint")));
        targets.push("lint".to_owned());
    }
    let programs = targets
        .iter()
        .filter_map(|target| makefile::program(&text, target));
    unit.programs
        .extend(programs.map(|name| Program::command(&name)));
    unit.manifests.push(Manifest::Makefile {
        path: name.to_owned(),
        text,
        targets,
    });
    Some(unit)
}

/// A build folder outside of the checkout, of a unit's own.
fn build_folder(folder: &Folder<'_>) -> String {
    if folder.is_top() {
        return BUILD.to_owned();
    }
    format!("{BUILD}/{}", quoted(folder.path()))
}

fn below() -> Cover {
    Cover::Below { except: Vec::new() }
}

fn from_cmake(folder: &Folder<'_>) -> Option<Unit> {
    let text = folder.text("CMakeLists.txt")?.to_lowercase();
    let mut unit = Unit::new("CMakeLists.txt", "cmake")
        .needs("cmake")
        .needs("ctest");
    unit.covers = below();
    let signs = ["enable_testing", "include(ctest)", "add_test("];
    if signs.iter().any(|sign| text.contains(sign)) {
        let build = build_folder(folder);
        let run = format!("cmake -S . -B {build} && cmake --build {build}");
        unit.build.push(Step::new("build", &run));
        unit = unit.tested_by("ctest", &format!("cd {build} && ctest --output-on-failure"));
    } else if let Some(target) = TEST_TARGETS
        .into_iter()
        .find(|target| has_custom_target(&text, target))
    {
        let build = build_folder(folder);
        let run = format!("cmake -S . -B {build} && cmake --build {build}");
        unit.build.push(Step::new("build", &run));
        let run = format!("cmake --build {build} --target {target}");
        unit = unit.tested_by(&format!("target {target}"), &run);
    }
    Some(unit)
}

/// True for `add_custom_target(test …)` in a text of lower case.
fn has_custom_target(text: &str, target: &str) -> bool {
    let mut calls = text.split("add_custom_target(").skip(1);
    calls.any(|call| {
        call.split([' ', '\t', '\r', '\n', ')'])
            .find(|word| !word.is_empty())
            == Some(target)
    })
}

fn from_meson(folder: &Folder<'_>) -> Option<Unit> {
    folder.text("meson.build")?;
    let mut unit = Unit::new("meson.build", "meson").needs("meson");
    unit.covers = below();
    let is_meson = |file: &&str| file.rsplit('/').next() == Some("meson.build");
    let mut texts = folder
        .files()
        .filter(is_meson)
        .take(50)
        .filter_map(|file| folder.text(file));
    let has_test = |text: String| {
        text.lines()
            .any(|line| line.trim_start().starts_with("test("))
    };
    if texts.any(has_test) {
        let build = build_folder(folder);
        let run = format!("meson setup {build} && meson compile -C {build}");
        unit.build.push(Step::new("build", &run));
        unit = unit.tested_by(
            "meson test",
            &format!("meson test -C {build} --print-errorlogs"),
        );
    }
    Some(unit)
}

fn from_autotools(folder: &Folder<'_>) -> Option<Unit> {
    let source = folder.first(&["configure.ac", "configure.in"]);
    let by = folder.first(&["configure"]).or(source)?;
    let mut unit = Unit::new(by, "autotools").needs("make");
    unit.covers = below();
    // Rules of automake make a committed `configure` anew, since git has no times of files: with the
    // versions of its author, unless it is made anew first.
    let is_made = by == "configure" && !(source.is_some() && folder.has("Makefile.am"));
    let configure = if is_made {
        "sh ./configure && make"
    } else {
        unit = unit.needs("autoreconf");
        "autoreconf -fi && sh ./configure && make"
    };
    unit.build.push(Step::new("build", configure));
    Some(unit.tested_by("make check", "make check"))
}
