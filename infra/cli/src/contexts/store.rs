//! The file of contexts: services by name, and the selected one. Only its owner may read it.

use std::collections::BTreeMap;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use awo_cloud::{Environment, personal};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

const FILE: &str = "contexts.json";
/// The context of the local service, which no file holds.
pub const LOCAL: &str = "local";

/// A service and the key to it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceContext {
    /// Its base URL.
    pub url: String,
    /// The key.
    pub api_key: String,
}

/// All contexts.
#[derive(Default, Serialize, Deserialize)]
pub struct Contexts {
    /// The one in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// By name.
    #[serde(default)]
    pub contexts: BTreeMap<String, ServiceContext>,
}

impl Contexts {
    /// The contexts of this person; none where there is no file.
    pub fn read(environment: &Environment) -> Result<Contexts, Failure> {
        match personal::config_dir(environment) {
            Some(dir) => read(&dir.join(FILE)),
            None => Ok(Contexts::default()),
        }
    }

    /// A context that must be there.
    pub fn named(&self, name: &str) -> Result<&ServiceContext, Failure> {
        self.contexts.get(name).ok_or_else(|| {
            Failure::Usage(format!(
                "there is no context {name}\n  what to do: `awo context list` lists the \
                 contexts; `awo login URL --name {name}` creates it"
            ))
        })
    }
}

fn read(path: &PathBuf) -> Result<Contexts, Failure> {
    let broken = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
    let meta = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Contexts::default());
        }
        meta => meta.map_err(|e| broken(e.to_string()))?,
    };
    if meta.permissions().mode() & 0o077 != 0 {
        return Err(broken(format!(
            "other users can read this file, which contains keys\n  what to do: chmod 600 {}",
            path.display()
        )));
    }
    let text = std::fs::read(path).map_err(|e| broken(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| {
        broken(format!(
            "cannot be read ({e})\n  what to do: correct it, or delete it and run `awo login` again"
        ))
    })
}

/// Changes the contexts. Two changes at once take turns.
pub fn change<T>(
    environment: &Environment,
    change: impl FnOnce(&mut Contexts) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let dir = personal::config_dir(environment).ok_or_else(|| {
        Failure::Usage("there is no folder for settings: set HOME or AWO_CONFIG_DIR".to_owned())
    })?;
    let failed = |error: std::io::Error| {
        Failure::Broken(format!("cannot write to {}: {error}", dir.display()))
    };
    personal::make_dir(&dir).map_err(failed)?;
    let lock = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(dir.join("contexts.lock"))
        .map_err(failed)?;
    lock.lock().map_err(failed)?;
    let path = dir.join(FILE);
    let mut contexts = read(&path)?;
    let done = change(&mut contexts)?;
    let text = serde_json::to_vec_pretty(&contexts).map_err(|e| failed(e.into()))?;
    personal::write(&path, &text).map_err(failed)?;
    Ok(done)
}
