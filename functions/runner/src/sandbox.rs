//! The part of the machine that agents, hooks and verifiers can read: their own folders, the
//! system's programs, and the tool chains of PATH. The home of the service's user, and the
//! service's own data, are excluded.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use awo_supervisor::Sandbox;
use nix::unistd::{User, geteuid};

use crate::settings::Settings;

/// Programs, libraries and their configuration, as distributions have them; and what the kernel
/// says of itself.
const SYSTEM: [&str; 17] = [
    "/bin",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/opt",
    "/proc",
    "/run/current-system",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var/lib/alternatives",
];
/// Secrets of the system, for a reader in a group of the system.
const SECRET: [&str; 5] = [
    "/etc/gshadow",
    "/etc/shadow",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers.d",
];
/// Devices that hold nothing. The supervisor grants temporary files and terminals, where they are a run's own.
const SHARED: [&str; 7] = [
    "/dev/fd",
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];
/// A tool chain is the folder around one of these.
const PROGRAMS: [&str; 4] = [".bin", "bin", "sbin", "shims"];
/// Folders around programs in which other things are as well.
const NO_TOOL_CHAINS: [&str; 3] = [".cargo", ".config", ".local"];

/// The machine, as commands see it whatever they do.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    reads: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
}

impl Machine {
    pub(crate) fn of(settings: &Settings) -> Machine {
        let system = SYSTEM.into_iter().map(PathBuf::from);
        let programs = std::env::split_paths(&settings.path).flat_map(|dir| tool_chain(&dir));
        let tool_homes = settings.tool_homes.iter().map(|(_, home)| home.into());
        let reads = system
            .chain(programs)
            .chain(tool_homes)
            .chain(settings.agent_paths.iter().cloned())
            .chain([settings.program.clone()]);
        let own = settings.private_dirs.iter().cloned();
        let own = own.chain([settings.workspace_root.clone()]);
        let own = own.chain(settings.shared_root.clone());
        let hidden = own.chain(SECRET.into_iter().map(PathBuf::from));
        let hidden = hidden.filter_map(|dir| std::fs::canonicalize(dir).ok());
        Machine {
            reads: reads.collect(),
            hidden: hidden.collect(),
        }
    }

    /// Lets all commands read `path` as well.
    pub(crate) fn grant(&mut self, path: PathBuf) {
        self.reads.push(path);
    }

    /// What a command sees: of its own, it reads `reads` and writes `writes`.
    pub(crate) fn sandbox<'a>(
        &self,
        reads: &[&Path],
        writes: impl Iterator<Item = &'a Path>,
    ) -> Sandbox {
        let shared = SHARED.into_iter().map(PathBuf::from);
        let reads = reads.iter().map(|path| path.to_path_buf());
        Sandbox {
            reads: self.reads.iter().cloned().chain(reads).collect(),
            writes: writes.map(Path::to_path_buf).chain(shared).collect(),
            hidden: self.hidden.clone(),
        }
    }
}

/// What a folder of PATH needs: itself, and the tool chain around it.
fn tool_chain(dir: &Path) -> Vec<PathBuf> {
    let around = dir.parent().filter(|around| {
        let is_programs = named(dir).is_some_and(|name| PROGRAMS.contains(&name));
        let is_other = named(around).is_none_or(|name| NO_TOOL_CHAINS.contains(&name));
        is_programs && !is_other && !is_home(around) && around.components().count() > 2
    });
    let mut paths = vec![dir.to_path_buf()];
    match around {
        Some(around) => paths.push(around.to_path_buf()),
        // Libraries of programs that a user has installed beside secrets of their own.
        None => paths.extend(dir.parent().map(|around| around.join("lib"))),
    }
    paths
}

/// True for the home of the service's user, which no variable gives to a task, and for
/// those of others.
fn is_home(dir: &Path) -> bool {
    let own = User::from_uid(geteuid()).ok().flatten();
    own.is_some_and(|user| user.dir == dir) || dir.parent() == Some(Path::new("/home"))
}

fn named(path: &Path) -> Option<&str> {
    path.file_name().and_then(OsStr::to_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_chain_is_the_folder_around_its_programs_unless_secrets_lie_there() {
        let around = |dir: &str| tool_chain(Path::new(dir))[1].display().to_string();
        assert_eq!(around("/home/u/.nvm/v/bin"), "/home/u/.nvm/v");
        assert_eq!(around("/home/u/.pyenv/shims"), "/home/u/.pyenv");
        assert_eq!(around("/home/u/venv/bin"), "/home/u/venv");
        assert_eq!(around("/w/node_modules/.bin"), "/w/node_modules");
        assert_eq!(around("/home/u/.local/bin"), "/home/u/.local/lib");
        assert_eq!(around("/home/u/.cargo/bin"), "/home/u/.cargo/lib");
        assert_eq!(around("/home/u/bin"), "/home/u/lib");
        assert_eq!(around("/srv/bin"), "/srv/lib");
        assert_eq!(around("/home/u/tools"), "/home/u/lib");
    }
}
