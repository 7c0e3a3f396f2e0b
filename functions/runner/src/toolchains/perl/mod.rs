//! Perl.

mod gates;
mod runners;

use super::Toolchain;
use super::tree::Folder;
use super::unit::{Step, Unit};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Perl",
    runners: &runners::ALL,
    manifests: &["cpanfile", "Makefile.PL", "Build.PL", "dist.ini"],
    unit,
    tests_alone: Some(unit_by),
    test_files: &["*.t"],
    gates: &gates::ALL,
    programs: &[
        ("perl", "install Perl (package `perl`)"),
        ("prove", "install Perl (package `perl`), which has prove"),
        ("cpanm", "install cpanminus (package `cpanminus`)"),
    ],
    caches: &[("PERL_CPANM_HOME", ".cpanm")],
    registry: None,
    example: "prove -l -r t",
};

/// Folder of the tests, by custom.
const TESTS: &str = "t";
/// Ends of the names of files from which modules are made: without a build they are not there.
const SOURCES: [&str; 3] = [".xs", ".pm.PL", ".pl.PL"];

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    unit_by(folder, folder.first(TOOLCHAIN.manifests)?)
}

fn unit_by(folder: &Folder<'_>, by: &str) -> Option<Unit> {
    let mut unit = Unit::new(by, "perl").needs("perl");
    let is_test = |file: &str| file.starts_with("t/") && file.ends_with(".t");
    if !folder.files().any(is_test) {
        return Some(unit);
    }
    let mut variables = String::new();
    if folder.has("cpanfile") {
        let modules = modules(folder);
        unit = unit.needs("cpanm");
        unit.install = Some(format!(
            "cpanm --quiet --notest --local-lib-contained {modules} --installdeps ."
        ));
        variables = format!("PERL5LIB={modules}/lib/perl5 ");
    }
    let is_source = |file: &str| SOURCES.iter().any(|end| file.ends_with(end));
    let build = match folder.first(&["Makefile.PL", "Build.PL"]) {
        Some("Makefile.PL") => Some("perl Makefile.PL && make"),
        Some(_) => Some("perl Build.PL && ./Build"),
        None => None,
    };
    let build = build.filter(|_| folder.files().any(is_source));
    let libraries = match build {
        Some(_) => "-b",
        None => "-l",
    };
    if let Some(build) = build {
        let run = build.replace("perl ", &format!("{variables}perl "));
        unit.build.push(Step::new("build", &run));
    }
    let run = format!("{variables}prove {libraries} -r {TESTS}");
    Some(unit.needs("prove").tested_by("prove", &run))
}

/// A folder of the unit's own for installed modules, outside of the checkout.
fn modules(folder: &Folder<'_>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let path: String = folder.path().chars().map(plain).collect();
    if path.is_empty() {
        "~/perl5".to_owned()
    } else {
        format!("~/perl5-{path}")
    }
}
