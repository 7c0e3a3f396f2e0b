//! Files that decide what commands of Ruby do.

use std::path::Path;
use std::sync::LazyLock;

use regex::RegexSet;

use crate::toolchains::gates::{Gate, Parts, shadows};

pub(super) static ALL: [Gate; 4] = [
    Gate::Anywhere(&[
        ".rspec",
        ".rspec-local",
        ".bundle/",
        ".ruby-version",
        ".rbenv-version",
        ".simplecov",
        ".cucumber*",
        "cucumber.yml",
        "spec_helper.rb",
        "rails_helper.rb",
        "test_helper.rb",
        // Minitest loads its plugins by their names.
        "minitest/*_plugin.rb",
    ]),
    Gate::Named(&["Rakefile", "rakefile", "*.rake", "Guardfile", "*.gemspec"]),
    Gate::Partly(&["Gemfile", "gems.rb"], Parts::Lines(&GEMS)),
    Gate::Shadows(stands_before_a_library),
];

/// Gems by name and version, and comments.
static GEMS: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r#"^gem ["'][\w-]+["'](?:, *["'][^"']*["'])*(?:, *require: *(?:false|["'][\w/-]+["']))?$"#,
        "^#",
    ])
    .unwrap_or_default()
});

/// Libraries that tests and their runners load by name.
static LIBRARIES: [&str; 78] = [
    "English",
    "abbrev",
    "base64",
    "benchmark",
    "bigdecimal",
    "bundler",
    "cgi",
    "coverage",
    "csv",
    "date",
    "delegate",
    "did_you_mean",
    "digest",
    "drb",
    "erb",
    "error_highlight",
    "expect",
    "fiddle",
    "fileutils",
    "find",
    "forwardable",
    "getoptlong",
    "io",
    "ipaddr",
    "irb",
    "json",
    "kconv",
    "logger",
    "minitest",
    "monitor",
    "mutex_m",
    "net",
    "nkf",
    "objspace",
    "observer",
    "open-uri",
    "open3",
    "openssl",
    "optionparser",
    "optparse",
    "ostruct",
    "pathname",
    "pp",
    "prettyprint",
    "prime",
    "pstore",
    "psych",
    "racc",
    "rake",
    "rbconfig",
    "rdoc",
    "readline",
    "reline",
    "resolv",
    "rspec",
    "rubygems",
    "securerandom",
    "set",
    "shellwords",
    "simplecov",
    "singleton",
    "socket",
    "stringio",
    "strscan",
    "tempfile",
    "test",
    "time",
    "timeout",
    "tmpdir",
    "tsort",
    "un",
    "unicode_normalize",
    "uri",
    "weakref",
    "yaml",
    "zlib",
    "power_assert",
    "mocha",
];

/// Runners add `lib` and the folder of tests to the places where libraries are looked up.
fn stands_before_a_library(path: &Path) -> bool {
    shadows(path, &["lib"], |parts| {
        let is_ruby = parts.last().is_some_and(|file| file.ends_with(".rb"));
        let name = parts.first().map(|part| part.trim_end_matches(".rb"));
        let is_lookup =
            parts.len() > 1 || !path.parent().is_none_or(|dir| dir.as_os_str().is_empty());
        is_ruby && is_lookup && name.is_some_and(|name| LIBRARIES.contains(&name))
    })
}
