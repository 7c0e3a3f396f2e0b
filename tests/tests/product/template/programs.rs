//! The Lambda programs of all functions, written from what each group declares. A program
//! names its own function only, so that it links no other.

use std::collections::BTreeMap;
use std::path::Path;

use awo_http::program::Make;
use awo_local::functions::GROUPS;

use super::root;
use super::written::WRITE;

/// What a program is written from.
struct Declaration {
    name: &'static str,
    /// What runs it.
    serve: &'static str,
    /// The crate whose error it returns.
    runtime: &'static str,
}

/// The programs of each group of functions, by the group's folder.
fn declared() -> impl Iterator<Item = (&'static str, Vec<Declaration>)> {
    let api = GROUPS.iter().map(|(group, programs)| {
        let declarations = programs.iter().map(|program| Declaration {
            name: program.name,
            serve: match program.make {
                Make::Whole(_) => "awo_http::serve",
                Make::Streaming(_) => "awo_http::serve_streaming",
            },
            runtime: "lambda_http",
        });
        (*group, declarations.collect())
    });
    let workers = awo_workers::PROGRAMS.iter().map(|program| Declaration {
        name: program.name,
        serve: "awo_workers::serve",
        runtime: "lambda_runtime",
    });
    api.chain([("workers", workers.collect())])
}

/// The sources of a group's programs, by their file names.
fn sources(dir: &Path, package: &str, programs: &[Declaration]) -> BTreeMap<String, String> {
    let of = programs.iter().map(|program| {
        let module = program.name.replace('-', "_");
        let is_module = dir.join(format!("src/{module}.rs")).exists();
        let path = if is_module {
            format!("{module}::function")
        } else {
            "function".to_owned()
        };
        let Declaration { serve, runtime, .. } = program;
        let text = format!(
            "#[tokio::main(flavor = \"current_thread\")]\n\
             async fn main() -> Result<(), {runtime}::Error> {{\n    \
             {serve}({}::{path}).await\n}}\n",
            package.replace('-', "_"),
        );
        (format!("{}.rs", program.name), text)
    });
    of.collect()
}

/// A manifest that ends with these programs; none of them has tests.
fn manifest(old: &str, programs: &BTreeMap<String, String>) -> String {
    let (rest, _) = old
        .split_once("\n[[bin]]\n")
        .unwrap_or((old.trim_end(), ""));
    let names = programs.keys().map(|file| file.trim_end_matches(".rs"));
    let tables = names.map(|name| format!("\n[[bin]]\nname = \"{name}\"\ntest = false\n"));
    format!("{}\n{}", rest.trim_end(), tables.collect::<String>())
}

#[test]
fn the_programs_are_what_the_groups_of_functions_declare() {
    for (group, programs) in declared() {
        let dir = root().join("functions").join(group);
        let old = std::fs::read_to_string(dir.join("Cargo.toml")).expect("a manifest");
        let name = old.split('"').nth(1).expect("a package's name");
        let wanted = sources(&dir, name, &programs);
        let (manifest, bins) = (manifest(&old, &wanted), dir.join("src/bin"));
        if std::env::var_os(WRITE).is_some() {
            std::fs::remove_dir_all(&bins).ok();
            std::fs::create_dir(&bins).expect("a folder");
            for (file, text) in &wanted {
                std::fs::write(bins.join(file), text).expect("a program");
            }
            std::fs::write(dir.join("Cargo.toml"), &manifest).expect("a manifest");
            continue;
        }
        let files = std::fs::read_dir(bins).expect("programs").flatten();
        let found: BTreeMap<String, String> = files
            .map(|file| {
                let text = std::fs::read_to_string(file.path()).expect("a program");
                (file.file_name().to_string_lossy().into_owned(), text)
            })
            .collect();
        assert!(
            found == wanted && old == manifest,
            "the programs of functions/{group} are not what its PROGRAMS say: run `make template`"
        );
    }
}
