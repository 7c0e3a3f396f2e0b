//! Files in a home that a process may have filled: no link on the way is followed.

use std::fs;
use std::io;
use std::path::Path;

use crate::agent_user::AgentUser;
use crate::layout::{self, make_agents_dir};

/// Writes a file anew that belongs to the agent's user, with the folders above it.
pub(super) fn write(
    user: Option<AgentUser>,
    home: &Path,
    path: &Path,
    text: &str,
) -> io::Result<()> {
    let mut folder = home.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(io::Error::other("a folder of the home is none")),
            Err(why) if why.kind() == io::ErrorKind::NotFound => make_agents_dir(&folder, user)?,
            Err(why) => return Err(why),
        }
    }
    let file = home.join(path);
    layout::write_anew(&file, text.as_bytes())?;
    layout::give(&file, user)
}
