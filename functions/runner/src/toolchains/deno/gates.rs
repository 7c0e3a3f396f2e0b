//! Files that decide what commands of Deno do.

use crate::toolchains::gates::{Gate, Parts};

pub(super) static ALL: [Gate; 1] = [Gate::Partly(
    &["deno.json", "deno.jsonc"],
    Parts::Json(&[
        "tasks",
        "test",
        "lint",
        "include",
        "exclude",
        "importMap",
        "scopes",
        "compilerOptions",
        "unstable",
        "workspace",
        "nodeModulesDir",
        "vendor",
        "links",
        "patch",
        "permissions",
    ]),
)];
