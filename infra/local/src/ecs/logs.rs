//! Output of tasks. Invariants: each output is stored up to a limit and read to its end, so that no
//! process blocks on a full pipe; only the files of the latest tasks are retained.

use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

/// Bytes that are stored of each of a task's two outputs.
pub const LOG_BYTES: usize = 10 * 1024 * 1024;

/// Most files of outputs.
pub const LOG_FILES: usize = 2_000;

pub(crate) fn path(directory: &Path, task: &str, stream: &str) -> PathBuf {
    directory.join(format!("{task}.{stream}.log"))
}

/// Removes the oldest files beyond [`LOG_FILES`].
pub(crate) fn prune(directory: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            files.push((entry.metadata()?.modified()?, path));
        }
    }
    let surplus = files.len().saturating_sub(LOG_FILES);
    files.sort();
    for (_, path) in files.into_iter().take(surplus) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

pub(crate) fn keep(
    output: Option<impl AsyncRead + Unpin + Send + 'static>,
    path: PathBuf,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let Some(output) = output else { return };
        if let Err(error) = copy(output, &path).await {
            tracing::warn!(path = %path.display(), %error, "a task's output could not be stored");
        }
    })
}

async fn copy(mut output: impl AsyncRead + Unpin, path: &Path) -> io::Result<()> {
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    let mut file = tokio::fs::File::from_std(file);
    let mut buffer = vec![0; 16 * 1024];
    let mut left = LOG_BYTES;
    loop {
        let read = output.read(&mut buffer).await?;
        if read == 0 {
            return file.flush().await;
        }
        if left == 0 {
            continue;
        }
        let written = read.min(left);
        left -= written;
        file.write_all(&buffer[..written]).await?;
        if left == 0 {
            file.write_all(b"\n[the output exceeds the limit; the rest is not stored]\n")
                .await?;
        }
        file.flush().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_files_go() {
        let directory = tempfile::tempdir().unwrap();
        let file = |number: usize| directory.path().join(format!("{number}.stdout.log"));
        let start = SystemTime::UNIX_EPOCH;
        for number in 0..LOG_FILES + 3 {
            let written = std::fs::File::create(file(number)).unwrap();
            written
                .set_modified(start + std::time::Duration::from_secs(number as u64))
                .unwrap();
        }
        prune(directory.path()).unwrap();
        assert!(!file(2).exists() && file(3).exists());
        assert_eq!(
            std::fs::read_dir(directory.path()).unwrap().count(),
            LOG_FILES
        );
    }
}
