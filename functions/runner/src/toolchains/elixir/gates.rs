//! Files that decide what commands of Elixir do.

use std::sync::LazyLock;

use regex::RegexSet;

use crate::toolchains::gates::{Gate, Parts};

pub(super) static ALL: [Gate; 3] = [
    Gate::Anywhere(&[
        "test_helper.exs",
        ".formatter.exs",
        ".credo.exs",
        "config/config.exs",
        "config/test.exs",
        "config/runtime.exs",
        ".mix/",
        ".exenv-version",
    ]),
    Gate::Named(&["rebar.config", "rebar.config.script"]),
    Gate::Partly(&["mix.exs"], Parts::Lines(&DEPENDENCIES)),
];

/// Dependencies by name and version, the project's own version, and comments.
static DEPENDENCIES: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r##"^\{:\w+, *"[^"\#]*"(?:, *(?:only: *(?::\w+|\[[:\w, ]*\])|runtime: *(?:true|false)|override: *true))*\},?$"##,
        r##"^version: *"[^"\#]*",?$"##,
        "^#",
    ])
    .unwrap_or_default()
});
