//! Toolchains: the languages and tools that a repository can be made with. Each has a module with all
//! that is true of it alone, behind one exhaustive table: nothing else in the runner names a
//! language's tools.

mod c;
pub(crate) mod counting;
mod deno;
mod dotnet;
mod elixir;
mod go;
mod java;
mod node;
mod php;
mod python;
mod ruby;
mod rust;

use strum::VariantArray;

use counting::Runner;

/// Languages with a toolchain, in the order in which their units stand in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub(crate) enum Language {
    Node,
    Python,
    Rust,
    Go,
    Java,
    Ruby,
    Php,
    Dotnet,
    Elixir,
    C,
    Deno,
}

impl Language {
    /// The runner's one table of toolchains: nothing else matches languages.
    pub(crate) fn toolchain(self) -> &'static Toolchain {
        match self {
            Language::Node => &node::TOOLCHAIN,
            Language::Python => &python::TOOLCHAIN,
            Language::Rust => &rust::TOOLCHAIN,
            Language::Go => &go::TOOLCHAIN,
            Language::Java => &java::TOOLCHAIN,
            Language::Ruby => &ruby::TOOLCHAIN,
            Language::Php => &php::TOOLCHAIN,
            Language::Dotnet => &dotnet::TOOLCHAIN,
            Language::Elixir => &elixir::TOOLCHAIN,
            Language::C => &c::TOOLCHAIN,
            Language::Deno => &deno::TOOLCHAIN,
        }
    }
}

/// Facts about the tools of one language. Nothing has a default.
pub(crate) struct Toolchain {
    /// Name for people.
    pub(crate) name: &'static str,
    /// Test runners whose closing lines are known.
    pub(crate) runners: &'static [Runner],
}

/// All toolchains, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = &'static Toolchain> {
    Language::VARIANTS
        .iter()
        .map(|language| language.toolchain())
}
