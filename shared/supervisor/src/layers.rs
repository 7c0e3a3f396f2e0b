//! The layers of confinement that this host and this user have. Each is found by trying, in a process of its
//! own: `<program> supervise --layers`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::{Sandbox, check_loopback_only, try_namespaces};

/// The argument that prints them.
pub(crate) const ARGUMENT: &str = "--layers";

/// Layers that the kernel grants to this process's user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Layers {
    /// True for root.
    pub is_root: bool,
    /// Reason why commands have no namespaces of their own.
    pub no_namespaces: Option<String>,
    /// True if the kernel has Landlock.
    pub landlock: bool,
    /// Reason why commands cannot be confined to loopback, or have no filter at all.
    pub no_loopback_only: Option<String>,
}

impl Layers {
    /// Tries all of them. This process must have one thread.
    #[must_use]
    pub fn tried() -> Layers {
        Layers {
            is_root: nix::unistd::geteuid().is_root(),
            no_namespaces: try_namespaces().err().map(|why| why.to_string()),
            landlock: Sandbox::is_available(),
            no_loopback_only: check_loopback_only().err().map(|why| why.to_string()),
        }
    }

    /// Has a program try them whose `supervise` is this library's.
    ///
    /// # Errors
    /// If it cannot be started, or does not answer.
    pub fn tried_by(program: &Path) -> io::Result<Layers> {
        let output = Command::new(program)
            .args(["supervise", ARGUMENT])
            .stdin(Stdio::null())
            .output()?;
        serde_json::from_slice(&output.stdout).map_err(io::Error::other)
    }
}

/// The user ids that commands run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandUsers {
    /// A run has one of its own.
    OfRuns,
    /// All runs have the same.
    Shared(u32),
    /// The service has the same.
    OfService,
}

/// A layer as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LayerReport {
    /// Name of the layer.
    pub layer: String,
    /// True if commands have it.
    pub present: bool,
    /// True if `AWO_CONFINEMENT=require` needs it on this kind of host.
    pub required: bool,
    /// State of it.
    pub detail: String,
    /// Price of its absence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Command or setting that brings it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
}

impl Layers {
    /// All layers, for a service whose commands run as `users`; `out_of_reach` are folders of PATH that those
    /// cannot enter.
    #[must_use]
    pub fn report(&self, users: CommandUsers, out_of_reach: &[PathBuf]) -> Vec<LayerReport> {
        vec![
            self.user(users),
            self.namespaces(),
            self.landlock(),
            self.filter(),
            self.tools(out_of_reach),
        ]
    }

    fn user(&self, users: CommandUsers) -> LayerReport {
        let (detail, missing) = match users {
            CommandUsers::OfRuns => ("a user id of its own for each run".to_owned(), None),
            CommandUsers::Shared(uid) => (
                format!("user {uid} for all runs"),
                Some(
                    "runs share one user id: without namespaces, one can read and signal another's processes",
                ),
            ),
            CommandUsers::OfService => (
                "the service's own user".to_owned(),
                Some(
                    "runs have the service's user id: the other layers alone keep them from its files and processes",
                ),
            ),
        };
        LayerReport {
            layer: "user".to_owned(),
            present: missing.is_none(),
            required: self.is_root,
            detail,
            repair: missing.map(|_| match users {
                CommandUsers::Shared(_) => "unset AWO_AGENT_UID".to_owned(),
                _ => "run the service as root: it then gives each run a user id of its own"
                    .to_owned(),
            }),
            missing: missing.map(str::to_owned),
        }
    }

    fn namespaces(&self) -> LayerReport {
        let present = self.no_namespaces.is_none();
        let repair = if self.is_root {
            "run the service on the host, or its container with CAP_SYS_ADMIN and without a seccomp profile that \
             refuses unshare and mount (docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined \
             --security-opt apparmor=unconfined)"
        } else {
            "sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1 \
             kernel.apparmor_restrict_unprivileged_userns=0 (those that this kernel has); in a container docker run \
             --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined; \
             or run the service as root"
        };
        LayerReport {
            layer: "namespaces".to_owned(),
            present,
            required: true,
            detail: match &self.no_namespaces {
                None => "mount, pid, ipc and uts of each command's own".to_owned(),
                Some(why) => why.clone(),
            },
            missing: (!present).then(|| {
                "commands cannot write /tmp, /var/tmp and /dev/shm, open no terminal and use no System V \
                 objects; they see the machine's processes; a run of the service's own user can change the modes of \
                 that user's files"
                    .to_owned()
            }),
            repair: (!present).then(|| repair.to_owned()),
        }
    }

    fn landlock(&self) -> LayerReport {
        LayerReport {
            layer: "landlock".to_owned(),
            present: self.landlock,
            required: true,
            detail: if self.landlock {
                "files are granted by path".to_owned()
            } else {
                "this kernel has no Landlock".to_owned()
            },
            missing: (!self.landlock).then(|| {
                "commands read every file that their user id can read, but for what namespaces cover".to_owned()
            }),
            repair: (!self.landlock).then(|| {
                "boot Linux 5.13 or later with landlock in its lsm= parameter (see /sys/kernel/security/lsm)".to_owned()
            }),
        }
    }

    fn filter(&self) -> LayerReport {
        let present = self.no_loopback_only.is_none();
        LayerReport {
            layer: "filter".to_owned(),
            present,
            required: true,
            detail: match &self.no_loopback_only {
                None => "seccomp, with and without egress".to_owned(),
                Some(why) => why.clone(),
            },
            missing: (!present).then(|| "environments with egress are refused".to_owned()),
            repair: (!present).then(|| {
                "boot Linux 5.9 or later with seccomp filters, and let the service's container use seccomp".to_owned()
            }),
        }
    }

    fn tools(&self, out_of_reach: &[PathBuf]) -> LayerReport {
        let folders: Vec<String> = out_of_reach
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let folders = folders.join(", ");
        let present = out_of_reach.is_empty();
        LayerReport {
            layer: "tools".to_owned(),
            present,
            required: false,
            detail: if present {
                "commands reach every folder of PATH".to_owned()
            } else {
                format!("commands cannot enter {folders}")
            },
            missing: (!present).then(|| "programs of these folders are not found by agents and checks".to_owned()),
            repair: (!present).then(|| {
                "install them where all users may enter, such as /usr/local, or repair the layer namespaces".to_owned()
            }),
        }
    }
}

/// Folders that a user without rights of its own cannot enter.
#[must_use]
pub fn closed_folders(folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    const ENTER: u32 = 0o001;
    let enters = |folder: &Path| {
        std::fs::metadata(folder).is_ok_and(|folder| folder.permissions().mode() & ENTER != 0)
    };
    let there = folders.filter(|folder| folder.exists());
    let closed = there.filter(|folder| {
        !folder
            .ancestors()
            .filter(|path| !path.as_os_str().is_empty())
            .all(enters)
    });
    closed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_has_its_price_and_its_repair() {
        let none = Layers {
            is_root: false,
            no_namespaces: Some("no".to_owned()),
            landlock: false,
            no_loopback_only: Some("no".to_owned()),
        };
        let all = Layers {
            is_root: true,
            no_namespaces: None,
            landlock: true,
            no_loopback_only: None,
        };
        for layer in none.report(CommandUsers::OfService, &["/home/developer/bin".into()]) {
            assert!(
                !layer.present && layer.missing.is_some() && layer.repair.is_some(),
                "{layer:?}"
            );
        }
        for layer in all.report(CommandUsers::OfRuns, &[]) {
            assert!(
                layer.present && layer.missing.is_none() && layer.repair.is_none(),
                "{layer:?}"
            );
        }
        let shared = all.report(CommandUsers::Shared(7), &[]);
        assert!(!shared[0].present && shared[0].required, "{shared:?}");
    }
}
