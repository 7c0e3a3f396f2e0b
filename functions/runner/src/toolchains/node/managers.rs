//! Managers of packages: which one a repository is made with, and its commands.

use serde_json::Value;

use crate::toolchains::tree::Folder;
use crate::toolchains::unit::Program;

/// A manager of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manager {
    Npm,
    Pnpm,
    YarnClassic,
    YarnBerry,
    Bun,
}

/// Lock files, each with its manager.
const LOCKS: [(&str, Manager); 7] = [
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::YarnClassic),
    ("bun.lock", Manager::Bun),
    ("bun.lockb", Manager::Bun),
    ("npm-shrinkwrap.json", Manager::Npm),
    ("package-lock.json", Manager::Npm),
    ("deno.lock", Manager::Npm),
];
/// First line of a lock file of yarn since version 2.
const BERRY_SIGN: &str = "__metadata:";
/// Files that name a version of Node.js.
const VERSIONS: [&str; 3] = [".node-version", ".nvmrc", ".tool-versions"];

impl Manager {
    /// The manager by the lock file; of several lock files, or without one, by `packageManager`.
    pub(super) fn of(folder: &Folder<'_>, package: &Value) -> Manager {
        let locks = LOCKS.iter().filter(|(file, _)| folder.has(file));
        let mut locked: Vec<Manager> = locks.map(|(_, manager)| *manager).collect();
        locked.dedup();
        let named = named(package).and_then(|(name, version)| match name {
            "npm" => Some(Manager::Npm),
            "pnpm" => Some(Manager::Pnpm),
            "yarn" if version.starts_with("1.") || version == "1" => Some(Manager::YarnClassic),
            "yarn" => Some(Manager::YarnBerry),
            "bun" => Some(Manager::Bun),
            _ => None,
        });
        let of_pnpm = folder.has("pnpm-workspace.yaml").then_some(Manager::Pnpm);
        let manager = match locked.as_slice() {
            [one] => *one,
            [first, ..] => named.unwrap_or(*first),
            [] => named.or(of_pnpm).unwrap_or(Manager::Npm),
        };
        let is_berry = || {
            let lock = folder.text("yarn.lock").unwrap_or_default();
            lock.contains(BERRY_SIGN) || (lock.is_empty() && folder.has(".yarnrc.yml"))
        };
        match manager {
            Manager::YarnClassic if named == Some(Manager::YarnBerry) || is_berry() => {
                Manager::YarnBerry
            }
            manager => manager,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Manager::Npm => "npm",
            Manager::Pnpm => "pnpm",
            Manager::YarnClassic | Manager::YarnBerry => "yarn",
            Manager::Bun => "bun",
        }
    }

    /// The manager for people, and which file names it and the version.
    pub(super) fn text(self, folder: &Folder<'_>, package: &Value) -> String {
        let name = match self {
            Manager::YarnClassic => "yarn classic",
            Manager::YarnBerry => "yarn berry",
            other => other.name(),
        };
        let lock = LOCKS.iter().find(|(file, manager)| {
            let is_own = manager.name() == self.name();
            is_own && folder.has(file)
        });
        let mut parts = Vec::new();
        parts.extend(lock.map(|(file, _)| format!("by {file}")));
        if let Some((_, version)) = named(package).filter(|(named, _)| *named == self.name()) {
            parts.push(format!("version {version} by packageManager"));
        }
        let node = package.pointer("/engines/node").and_then(Value::as_str);
        match (node, folder.first(&VERSIONS)) {
            (Some(node), _) => parts.push(format!("Node.js {node} by engines")),
            (None, Some(file)) => parts.push(format!("Node.js of the version in {file}")),
            (None, None) => {}
        }
        if parts.is_empty() {
            return name.to_owned();
        }
        format!("{name}, {}", parts.join(", "))
    }

    /// The program, with the remedy for the version that the package names.
    pub(super) fn program(self, package: &Value) -> Program {
        let name = self.name();
        let version = named(package).filter(|(named, _)| *named == name);
        let remedy = version.filter(|_| self != Manager::Npm).map(|(_, version)| {
            format!("install {name} {version} (`npm install -g {name}@{version}`, or `corepack enable {name}`)")
        });
        Program {
            remedy,
            ..Program::command(name)
        }
    }

    /// Installs from the lock file; without one, without making one where the manager can.
    pub(super) fn install(self, folder: &Folder<'_>) -> &'static str {
        let is_locked = LOCKS.iter().any(|(file, manager)| {
            manager.name() == self.name() && *file != "deno.lock" && folder.has(file)
        });
        match (self, is_locked) {
            (Manager::Npm, true) => "npm ci --no-audit --no-fund",
            (Manager::Npm, false) => "npm install --no-audit --no-fund --no-package-lock",
            (Manager::Pnpm, true) => "pnpm install --frozen-lockfile",
            (Manager::Pnpm, false) => "pnpm install --no-lockfile",
            (Manager::YarnClassic, true) => "yarn install --frozen-lockfile",
            (Manager::YarnClassic, false) => "yarn install --no-lockfile",
            (Manager::YarnBerry, true) => "yarn install --immutable",
            (Manager::YarnBerry, false) => "yarn install --no-immutable",
            (Manager::Bun, true) => "bun install --frozen-lockfile",
            (Manager::Bun, false) => "bun install --no-save",
        }
    }

    /// Runs a script of the package.
    pub(super) fn run(self, script: &str) -> String {
        match (self, script) {
            (Manager::Npm | Manager::Pnpm | Manager::YarnClassic | Manager::YarnBerry, "test") => {
                format!("{} test", self.name())
            }
            (Manager::YarnClassic | Manager::YarnBerry, script) => format!("yarn run {script}"),
            (manager, script) => format!("{} run {script}", manager.name()),
        }
    }
}

/// The name and version in `packageManager`, without its hash.
fn named(package: &Value) -> Option<(&str, &str)> {
    let text = package.get("packageManager").and_then(Value::as_str);
    let text = text.or_else(|| package.pointer("/devEngines/packageManager/name")?.as_str())?;
    let (name, version) = text.split_once('@').unwrap_or((text, "latest"));
    let version = version.split('+').next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    version.chars().all(plain).then_some((name, version))
}
