//! Access to the stand-ins. Invariant: only a caller that knows the access key id of this local
//! cloud passes [`AccessKey::admits`]. Other processes of the machine, above all the agents, can
//! reach the ports but do not know it.
//!
//! The key id replaces the signature: a process that can read it could sign as well, and only root
//! can listen to the loopback device.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use subtle::ConstantTimeEq;

const FILE_NAME: &str = "access-key-id";

/// Longer than any key that [`AccessKey::random`] makes.
const KEY_BYTES: u64 = 128;

/// The access key id that every client of the stand-ins has to sign with.
#[derive(Clone)]
pub struct AccessKey {
    id: String,
}

impl std::fmt::Debug for AccessKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AccessKey(..)")
    }
}

impl AccessKey {
    /// 122 random bits in the shape of an access key id.
    #[must_use]
    pub fn random() -> Self {
        Self {
            id: format!(
                "AKIA{}",
                uuid::Uuid::new_v4().simple().to_string().to_uppercase()
            ),
        }
    }

    /// The key of a data directory: read, or made on the first start, readable by the owner
    /// only.
    ///
    /// # Errors
    /// When the directory or its key file cannot be written or read, or the file is not a key.
    pub fn of_directory(directory: &Path) -> io::Result<Self> {
        let path = directory.join(FILE_NAME);
        let fresh = Self::random();
        match fresh.write(directory, &path) {
            Ok(()) => Ok(fresh),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut id = String::new();
                std::fs::File::open(&path)?
                    .take(KEY_BYTES)
                    .read_to_string(&mut id)?;
                let id = id.trim().to_owned();
                if !id.starts_with("AKIA") || id.len() < 20 {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("{} holds no access key id", path.display()),
                    ));
                }
                Ok(Self { id })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the file appear with its content, so that a crash leaves none or a whole one.
    fn write(&self, directory: &Path, path: &Path) -> io::Result<()> {
        let draft = directory.join(format!(".{FILE_NAME}.{}", uuid::Uuid::new_v4().simple()));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let linked = file
            .write_all(self.id.as_bytes())
            .and_then(|()| file.sync_all())
            // Unlike a rename, a link does not replace the key that another start made.
            .and_then(|()| std::fs::hard_link(&draft, path));
        std::fs::remove_file(&draft)?;
        linked
    }

    /// What the SDK clients are to be configured with. The secret key may be anything.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether an `Authorization` header names this key.
    pub(crate) fn admits(&self, authorization: Option<&http::HeaderValue>) -> bool {
        let named = authorization
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("AWS4-HMAC-SHA256"))
            .and_then(|rest| rest.split_once("Credential="))
            .and_then(|(_, credential)| credential.split_once('/'))
            .map(|(id, _)| id);
        named.is_some_and(|id| id.as_bytes().ct_eq(self.id.as_bytes()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(id: &str) -> http::HeaderValue {
        let text = format!(
            "AWS4-HMAC-SHA256 Credential={id}/20261120/us-east-1/sqs/aws4_request, \
             SignedHeaders=host, Signature=00"
        );
        http::HeaderValue::from_str(&text).unwrap()
    }

    #[test]
    fn only_the_own_key_is_admitted() {
        let key = AccessKey::random();
        assert!(key.admits(Some(&header(key.id()))));
        assert!(!key.admits(Some(&header("test"))));
        assert!(!key.admits(Some(&header(&format!("{}X", key.id())))));
        assert!(!key.admits(Some(&http::HeaderValue::from_static("Bearer x"))));
        assert!(!key.admits(None));
    }

    #[test]
    fn a_data_directory_keeps_its_key_for_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let first = AccessKey::of_directory(directory.path()).unwrap();
        let second = AccessKey::of_directory(directory.path()).unwrap();
        assert_eq!(first.id(), second.id());
        let mode = std::fs::metadata(directory.path().join(FILE_NAME))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
}
