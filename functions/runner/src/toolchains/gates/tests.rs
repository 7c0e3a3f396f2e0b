//! Comparison of parts, and classes of changes.

use std::path::Path;

use super::*;
use crate::toolchains::{self, Toolchain};

fn is_decisive(path: &str, is_new: bool, units: &[&str]) -> bool {
    let units: Vec<String> = units.iter().map(|&unit| unit.to_owned()).collect();
    let change = Change {
        path: Path::new(path),
        is_new,
    };
    matches!(class(change, &units), Class::Decisive)
}

#[test]
fn every_toolchain_has_files_that_decide_and_every_pattern_of_lines_is_valid() {
    for Toolchain { name, gates, .. } in toolchains::all() {
        assert!(!gates.is_empty(), "{name}");
        for gate in *gates {
            if let Gate::Partly(_, Parts::Lines(lines)) = gate {
                assert!(!lines.is_empty(), "{name}");
            }
        }
    }
}

#[test]
fn new_files_that_others_name_count_at_the_top_of_a_unit_alone() {
    for (path, is_new, units, expected) in [
        ("Makefile", true, &[""][..], true),
        ("new/Makefile", true, &[""], false),
        ("web/Makefile", true, &["", "web"], true),
        ("new/Makefile", false, &[""], true),
        ("deep/down/conftest.py", true, &[""], true),
        ("src/main.c", false, &[""], false),
        ("README.md", true, &[""], false),
        ("web/argparse.py", true, &["", "web"], true),
        ("web/argparse.py", true, &[""], false),
        ("argparse.py", false, &[""], false),
    ] {
        assert_eq!(is_decisive(path, is_new, units), expected, "{path}");
    }
}

#[test]
fn what_cannot_be_read_as_its_format_has_no_other_parts() {
    for (path, before, after, differ) in [
        ("package.json", "{", "{ ", true),
        ("package.json", "[]", "{}", true),
        ("package.json", "", r#"{"dependencies": {}}"#, false),
        ("package.json", "\u{feff}{}", "{}", false),
        ("Cargo.toml", "[[", "[", true),
        ("Cargo.toml", "[package]\nversion = \"1\"\n", "", false),
        ("pom.xml", "<a>", "<a></a>", true),
        ("pom.xml", "<a/>", "<a></a>", false),
        ("pom.xml", "<a b='1'/>", "<a b='2'/>", true),
        ("go.mod", "module a\n", "module b\n", true),
    ] {
        let parts = parts_of(Path::new(path)).unwrap();
        assert_eq!(
            parts.differ(before, after),
            differ,
            "{path}: {before} {after}"
        );
    }
    let deep = "<a>".repeat(100_000);
    assert!(
        parts_of(Path::new("pom.xml"))
            .unwrap()
            .differ(&deep, "<a/>")
    );
}
