//! Workspaces: packages below a root whose commands include them.

use serde_json::Value;

use super::managers::Manager;
use super::{needs_build, script, test_script};
use crate::toolchains::manifest::Manifest;
use crate::toolchains::tree::Folder;
use crate::toolchains::unit::{Cover, Step, Unit, quoted};
use crate::toolchains::units::member_folders;

/// Most members whose scripts are read.
const MAX_MEMBERS: usize = 50;
/// Words of a root's test script that runs those of its members, or finds their tests itself.
const DELEGATES: [&str; 16] = [
    "turbo",
    "nx",
    "lerna",
    "wsrun",
    "moon",
    "rush",
    "wireit",
    "--workspaces",
    "-ws",
    "-r",
    "--recursive",
    "foreach",
    "--filter",
    "workspaces",
    "vitest",
    "jest",
];

/// Members of a root.
pub(super) struct Workspace {
    patterns: Vec<String>,
}

impl Workspace {
    /// The workspace that a package declares, itself or for pnpm or lerna.
    pub(super) fn of(folder: &Folder<'_>, package: &Value) -> Option<Workspace> {
        let list = package.get("workspaces");
        let list = list.and_then(|list| list.get("packages").or(Some(list)));
        let of_package = list.map(texts).filter(|list| !list.is_empty());
        let of_pnpm = || {
            let text = folder.text("pnpm-workspace.yaml")?;
            let value: Value = serde_norway::from_str(&text).ok()?;
            Some(texts(value.get("packages")?))
        };
        let of_lerna = || Some(texts(folder.json("lerna.json")?.get("packages")?));
        let patterns = of_package.or_else(of_pnpm).or_else(of_lerna)?;
        (!patterns.is_empty()).then_some(Workspace { patterns })
    }

    /// Adds the members' tests, unless those of the root run them, too.
    pub(super) fn add_to(
        self,
        unit: &mut Unit,
        folder: &Folder<'_>,
        root: &Value,
        manager: Manager,
    ) {
        let mut has_tests = false;
        let mut has_builds = false;
        let mut tested: Vec<String> = Vec::new();
        for member in member_folders(folder, &self.patterns)
            .into_iter()
            .take(MAX_MEMBERS)
        {
            let Some(package) = member.json("package.json") else {
                continue;
            };
            let inner = folder.inner(&member);
            let path = format!("{inner}/package.json");
            unit.manifests.push(Manifest::package_json(&path, &package));
            has_builds |= needs_build(&member, &package);
            if test_script(&package).is_some() {
                has_tests = true;
                tested.push(
                    package
                        .get("name")
                        .and_then(Value::as_str)
                        .unwrap_or(&inner)
                        .to_owned(),
                );
            }
        }
        let delegates = test_script(root).is_some_and(|test| {
            let mut words = test.split([' ', '\t', '&', ';', '"', '\'']);
            words.any(|word| DELEGATES.contains(&word))
        });
        if has_tests && !delegates {
            if has_builds && unit.build.is_empty() {
                unit.build.extend(all(manager, "build"));
            }
            unit.test.extend(all_tests(manager, &tested));
        } else if has_builds && script(root, "build").is_some() && unit.build.is_empty() {
            unit.build.push(Step::plain(&manager.run("build")));
        }
        unit.covers = Cover::Members(self.patterns);
    }
}

/// Runs the tests of all members.
fn all_tests(manager: Manager, tested: &[String]) -> Vec<Step> {
    if manager == Manager::YarnClassic {
        // It fails for the first member without the script, so each is named.
        let names = tested.iter();
        return names
            .map(|name| Step::plain(&format!("yarn workspace {} test", quoted(name))))
            .collect();
    }
    all(manager, "test").into_iter().collect()
}

/// Runs a script of all members that have it.
fn all(manager: Manager, script: &str) -> Option<Step> {
    let run = match manager {
        Manager::Npm => format!("npm run {script} --workspaces --if-present"),
        Manager::Pnpm => format!("pnpm --recursive --if-present run {script}"),
        Manager::YarnClassic => return None,
        Manager::YarnBerry => format!("yarn workspaces foreach --all --topological run {script}"),
        Manager::Bun => format!("bun run --filter '*' {script}"),
    };
    Some(Step::plain(&run))
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}
