//! PHP.

mod gates;
mod runners;

use super::Toolchain;
use super::tree::Folder;
use super::unit::{Step, Unit};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "PHP",
    runners: &runners::ALL,
    manifests: &["composer.json"],
    unit,
    tests_alone: Some(tests_alone),
    test_files: &["*Test.php"],
    gates: &gates::ALL,
    programs: &[
        (
            "php",
            "install PHP (package `php-cli`, with its extensions mbstring and xml)",
        ),
        ("composer", "install Composer"),
        (
            "phpunit",
            "install PHPUnit (package `phpunit`), or require it in composer.json",
        ),
    ],
    caches: &[("COMPOSER_CACHE_DIR", ".cache/composer")],
    registry: None,
    example: "vendor/bin/phpunit",
};

const CONFIGURATION: [&str; 3] = ["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"];

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    let package = folder.json("composer.json")?;
    let mut unit = Unit::new("composer.json", "composer")
        .needs("php")
        .needs("composer");
    unit.fills = Some("vendor");
    let has = |pointer: &str| package.pointer(pointer).is_some();
    let script = |name: &str| {
        package
            .pointer("/scripts")
            .is_some_and(|all| all.get(name).is_some())
    };
    let requires = |name: &str| {
        let lists = ["/require-dev", "/require"];
        let mut lists = lists.iter().filter_map(|list| package.pointer(list));
        lists.any(|list| list.get(name).is_some())
    };
    if has("/require") || has("/require-dev") || has("/autoload") {
        unit.install = Some("composer install --no-interaction --no-progress".to_owned());
    }
    unit = if script("test") {
        unit.tested_by("composer test", "composer run-script --timeout=0 test")
    } else if requires("pestphp/pest") || folder.has("tests/Pest.php") {
        unit.tested_by("pest", "vendor/bin/pest")
    } else if requires("phpunit/phpunit") || folder.first(&CONFIGURATION).is_some() {
        unit.tested_by("phpunit", "vendor/bin/phpunit")
    } else {
        unit
    };
    if script("lint") {
        let lint = Step::new("composer lint", "composer run-script --timeout=0 lint");
        unit.lint.push(lint);
    }
    Some(unit)
}

/// Tests without a `composer.json`: for the `phpunit` of the machine, as its configuration has them.
fn tests_alone(folder: &Folder<'_>, _: &str) -> Option<Unit> {
    let by = folder.first(&CONFIGURATION)?;
    let unit = Unit::new(by, "phpunit").needs("php").needs("phpunit");
    Some(unit.tested_by("phpunit", "phpunit"))
}
