//! Archives of trees that an agent may have made: packed and unpacked as the agent's user, by `tar`,
//! and never larger than a limit.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::agent_user::AgentUser;
use crate::settings::Settings;

/// What `tar` exits with when it left something out, such as a file that its user cannot read.
const LEFT_OUT: i32 = 1;

/// Packs and unpacks.
#[derive(Debug, Clone)]
pub(crate) struct Archiver {
    path: OsString,
    user: Option<AgentUser>,
}

impl Archiver {
    pub(crate) fn of(settings: &Settings) -> Archiver {
        Archiver {
            path: settings.path.clone(),
            user: settings.effective_agent_user(),
        }
    }

    /// Of this user, with the tools that this process finds.
    #[cfg(test)]
    pub(super) fn for_tests() -> Archiver {
        Archiver {
            path: std::env::var_os("PATH").unwrap_or_default(),
            user: None,
        }
    }

    /// Writes what is in `dir` to the file `draft`, which only this process can read. Its bytes.
    ///
    /// # Errors
    /// If that cannot be done, or would be more than `most` bytes.
    pub(crate) async fn pack(&self, dir: &Path, draft: &Path, most: u64) -> io::Result<u64> {
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(draft)?;
        let mut file = tokio::fs::File::from_std(file);
        let options = ["--create", "--sparse", "--ignore-failed-read"];
        let mut tar = self.tar(&options, dir)?;
        let mut child = tar
            .arg(".")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let packed = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut packed = packed.take(most + 1);
        let bytes = tokio::io::copy(&mut packed, &mut file).await?;
        if bytes > most {
            let why = format!("it is larger than {most} bytes");
            return Err(io::Error::other(why));
        }
        done(child.wait().await?)?;
        file.sync_all().await?;
        Ok(bytes)
    }

    /// Unpacks an archive into `dir`, which is the agent's and empty.
    ///
    /// # Errors
    /// If that cannot be done within `limit`.
    pub(crate) async fn unpack(
        &self,
        archive: fs::File,
        dir: &Path,
        limit: Duration,
    ) -> io::Result<()> {
        let options = ["--extract", "--preserve-permissions"];
        let mut tar = self.tar(&options, dir)?;
        tar.stdin(archive).stdout(Stdio::null());
        let unpacked = timeout(limit, tar.status()).await;
        done(unpacked.map_err(|_| io::Error::other("it took too long"))??)
    }

    /// `tar` on the agent's files, with the agent's rights, from standard input or to standard output. It stands in
    /// the folder: its user may be unable to enter those above.
    fn tar(&self, options: &[&str], dir: &Path) -> io::Result<Command> {
        let dir = fs::File::open(dir)?;
        let mut command = Command::new("tar");
        // SAFETY: the closure makes one system call between fork and exec, on a descriptor that it owns.
        unsafe {
            command.pre_exec(move || Ok(nix::unistd::fchdir(&dir)?));
        }
        command
            .args(options)
            .args(["--file", "-"])
            .env_clear()
            .env("PATH", &self.path)
            .env("LANG", "C.UTF-8")
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Some(user) = self.user {
            command.uid(user.uid).gid(user.gid);
        }
        Ok(command)
    }
}

fn done(status: ExitStatus) -> io::Result<()> {
    match status.code() {
        Some(0 | LEFT_OUT) => Ok(()),
        _ => Err(io::Error::other(format!("tar ended with {status}"))),
    }
}
