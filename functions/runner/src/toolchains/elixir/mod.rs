//! Elixir.

mod gates;
mod runners;

use super::Toolchain;
use super::tree::Folder;
use super::unit::{Cover, Unit};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Elixir",
    runners: &runners::ALL,
    manifests: &["mix.exs"],
    unit,
    tests_alone: None,
    test_files: &["*_test.exs"],
    gates: &gates::ALL,
    programs: &[("mix", "install Elixir, which has mix")],
    caches: &[("HEX_HOME", ".hex"), ("MIX_HOME", ".mix")],
    registry: None,
    example: "mix test",
};

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    let text = folder.text("mix.exs")?;
    let mut unit = Unit::new("mix.exs", "mix").needs("mix");
    unit.fills = Some("deps");
    // The applications of an umbrella are below it.
    unit.covers = Cover::Below { except: Vec::new() };
    let tools = "mix local.hex --force --if-missing && mix local.rebar --force --if-missing";
    if folder.has("mix.lock") {
        unit.install = Some(format!("{tools} && mix deps.get --check-locked"));
    } else if ["{:", "apps_path"].iter().any(|sign| text.contains(sign)) {
        unit.install = Some(format!("{tools} && mix deps.get"));
    }
    Some(unit.tested_by("mix test", "mix test"))
}
