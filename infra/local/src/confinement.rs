//! The protection of the service's own data from agents on this machine: its keys, its database,
//! the secrets of organizations. In the cloud a run has a separate machine.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use awo_supervisor::{CommandUsers, LayerReport, Layers, UidRange, closed_folders};
use nix::sys::stat::{Mode, umask};

/// Others may pass through, but not list it.
const PASSABLE: u32 = 0o711;
/// What only the owner can read.
const OTHERS: u32 = 0o077;

/// Layers that hold on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    layers: Layers,
    /// The users that agents run as.
    pub users: CommandUsers,
    /// Folders of PATH that they cannot enter.
    out_of_reach: Vec<PathBuf>,
}

/// Reason why the service does not start.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfinementError {
    /// The operator named root.
    #[error("AWO_AGENT_UID is 0, and client code never runs as root")]
    Root,
    /// The users of runs cannot enter the folder above the data directory.
    #[error(
        "the users that runs have cannot enter {}, and the kernel grants no namespaces that would show them \
         their part of it ({why}): let others pass with `chmod o+x`, or choose another AWO_DATA_DIR", .folder.display()
    )]
    Closed {
        /// The folder.
        folder: PathBuf,
        /// The kernel's reason.
        why: String,
    },
    /// Numbers that the container of the service does not have.
    #[error(
        "no process of this container can have the user ids {0}: set AWO_AGENT_UIDS to ids of /proc/self/uid_map"
    )]
    Unmapped(UidRange),
    /// A setting that means nothing.
    #[error("AWO_CONFINEMENT must be `require`, or not be set")]
    Mode,
    /// Layers that are required.
    #[error("AWO_CONFINEMENT=require: {0}; `awo doctor` shows how to repair it")]
    Missing(String),
}

impl Confinement {
    /// Confinement that can be had. Root gives each run a user of its own, or all runs the one that the operator names.
    ///
    /// # Errors
    /// If client code would run as root, or could not reach its folders.
    pub fn of(
        layers: Layers,
        data_dir: &Path,
        workspace_root: &Path,
        given: Option<u32>,
    ) -> Result<Confinement, ConfinementError> {
        let users = match given {
            _ if !layers.is_root => CommandUsers::OfService,
            Some(0) => return Err(ConfinementError::Root),
            Some(uid) => CommandUsers::Shared(uid),
            None => CommandUsers::OfRuns,
        };
        let mut out_of_reach = Vec::new();
        if let (true, Some(why)) = (layers.is_root, &layers.no_namespaces) {
            let folders = [data_dir, workspace_root].into_iter();
            let outside =
                folders.filter(|folder| *folder == data_dir || !folder.starts_with(data_dir));
            let above = outside.filter_map(Path::parent).map(Path::to_path_buf);
            if let Some(folder) = closed_folders(above).pop() {
                let why = why.clone();
                return Err(ConfinementError::Closed { folder, why });
            }
            let path = std::env::var_os("PATH").unwrap_or_default();
            out_of_reach = closed_folders(std::env::split_paths(&path));
        }
        Ok(Confinement {
            layers,
            users,
            out_of_reach,
        })
    }

    /// Fails where runs are to have users of a range that this host does not have.
    ///
    /// # Errors
    /// With the range.
    pub fn check_range(&self, range: UidRange) -> Result<(), ConfinementError> {
        if self.users == CommandUsers::OfRuns && !range.is_mapped() {
            return Err(ConfinementError::Unmapped(range));
        }
        Ok(())
    }

    /// All layers, for operators.
    #[must_use]
    pub fn report(&self) -> Vec<LayerReport> {
        self.layers.report(self.users, &self.out_of_reach)
    }

    /// Fails where the operator's `AWO_CONFINEMENT` asks for more than there is.
    ///
    /// # Errors
    /// With the missing layers.
    pub fn check_mode(&self, mode: Option<&str>) -> Result<(), ConfinementError> {
        match mode {
            None => Ok(()),
            Some("require") => self.require(),
            Some(_) => Err(ConfinementError::Mode),
        }
    }

    /// Fails where a layer is missing that `AWO_CONFINEMENT=require` needs here.
    fn require(&self) -> Result<(), ConfinementError> {
        let report = self.report().into_iter();
        let missing: Vec<String> = report
            .filter(|layer| layer.required && !layer.present)
            .map(|layer| format!("{} ({})", layer.layer, layer.detail))
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(ConfinementError::Missing(format!(
                "layers are missing: {}",
                missing.join("; ")
            )))
        }
    }

    /// True if commands can be kept from all networks but loopback, and from each other's processes.
    #[must_use]
    pub fn limits_egress(&self) -> bool {
        let is_apart = self.layers.landlock || self.layers.no_namespaces.is_none();
        is_apart && self.layers.no_loopback_only.is_none()
    }

    /// True if no agent reads the service's data.
    #[must_use]
    pub fn holds(&self) -> bool {
        let is_other = self.users != CommandUsers::OfService;
        self.layers.landlock || self.layers.no_namespaces.is_none() || is_other
    }

    /// Lets other users through to the workspaces, and to nothing else of the data.
    ///
    /// # Errors
    /// When a mode cannot be changed.
    pub fn open(&self, data_dir: &Path, workspace_root: &Path) -> io::Result<()> {
        if self.users == CommandUsers::OfService {
            return Ok(());
        }
        umask(Mode::from_bits_truncate(OTHERS));
        for entry in fs::read_dir(data_dir)? {
            let entry = entry?;
            let mode = entry.metadata()?.permissions().mode();
            if !entry.file_type()?.is_symlink() && mode & OTHERS != 0 {
                fs::set_permissions(entry.path(), Permissions::from_mode(mode & !OTHERS))?;
            }
        }
        for dir in [data_dir, workspace_root] {
            fs::set_permissions(dir, Permissions::from_mode(PASSABLE))?;
        }
        Ok(())
    }

    /// Writes each layer into the log.
    pub fn log(&self) {
        for layer in self.report() {
            let LayerReport {
                layer,
                present,
                required,
                detail,
                missing,
                repair,
            } = layer;
            match (missing, repair) {
                (Some(cost), Some(repair)) => tracing::warn!(
                    event = "confinement_layer_missing",
                    layer,
                    present,
                    required,
                    detail,
                    cost,
                    repair,
                    "a layer of confinement is missing"
                ),
                _ => tracing::info!(
                    event = "confinement_layer",
                    layer,
                    present,
                    required,
                    detail,
                    "a layer of confinement"
                ),
            }
        }
    }

    /// A remark for operators, as a sentence.
    #[must_use]
    pub fn describe(&self) -> String {
        let report = self.report();
        let names = |present: bool| {
            let layers = report.iter().filter(|layer| layer.present == present);
            let names: Vec<&str> = layers.map(|layer| layer.layer.as_str()).collect();
            names.join(", ")
        };
        let (there, missing) = (names(true), names(false));
        if !self.holds() {
            format!(
                "NONE that keeps agents from what you can read; missing: {missing} (awo doctor)"
            )
        } else if missing.is_empty() {
            there
        } else {
            format!("{there}; missing: {missing} (awo doctor)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(is_root: bool, all: bool) -> Layers {
        let no = || (!all).then(|| "not here".to_owned());
        Layers {
            is_root,
            no_namespaces: no(),
            landlock: all,
            no_loopback_only: no(),
        }
    }

    #[test]
    fn client_code_never_runs_as_root() {
        let data = Path::new("/srv/awo");
        let with = |given| Confinement::of(layers(true, true), data, data, given);
        assert_eq!(with(Some(0)), Err(ConfinementError::Root));
        assert_eq!(with(None).unwrap().users, CommandUsers::OfRuns);
        assert_eq!(with(Some(7)).unwrap().users, CommandUsers::Shared(7));
        let own = Confinement::of(layers(false, true), data, data, Some(7)).unwrap();
        assert_eq!(own.users, CommandUsers::OfService);
    }

    #[test]
    fn folders_that_no_user_of_a_run_can_enter_are_refused_without_namespaces() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let closed = Permissions::from_mode(0o700);
        fs::set_permissions(dir.path(), closed).unwrap();
        let without = Confinement::of(layers(true, false), &data, &data, None);
        assert!(
            matches!(without, Err(ConfinementError::Closed { .. })),
            "{without:?}"
        );
        assert!(Confinement::of(layers(true, true), &data, &data, None).is_ok());
    }

    #[test]
    fn without_any_layer_nothing_holds_and_require_refuses() {
        let data = Path::new("/srv/awo");
        let none = Confinement::of(layers(false, false), data, data, None).unwrap();
        assert!(!none.holds() && !none.limits_egress());
        assert!(none.describe().starts_with("NONE"), "{}", none.describe());
        let refusal = none.require().unwrap_err().to_string();
        for word in ["namespaces", "landlock", "filter", "awo doctor"] {
            assert!(refusal.contains(word), "{word}: {refusal}");
        }
        let all = Confinement::of(layers(false, true), data, data, None).unwrap();
        assert_eq!(
            all.require(),
            Ok(()),
            "its own user is all that this host can give"
        );
        let shared = Confinement::of(layers(true, true), data, data, Some(7)).unwrap();
        assert!(shared.require().is_err());
    }
}
