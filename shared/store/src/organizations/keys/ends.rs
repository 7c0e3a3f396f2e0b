//! The state of keys: their last use, their expiry, and the suspension of their organization.

use awo_domain::api_key::KeyId;
use awo_domain::{Error, OrgId, Timestamp};

use super::{Credential, StoredKey};
use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::queue::tally::SUSPENDED;

impl Store {
    /// Has a key refused from a time on; false if there is none of that id that is not revoked.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn expire_key(&self, key: &KeyId, at: Timestamp) -> Result<bool, Error> {
        let key_at = Key::api_key(key);
        let Some(stored) = self.get::<StoredKey>(&key_at).await? else {
            return Ok(false);
        };
        let ends = || Change::new().set("expiresAt", at);
        let credential = Key::credential(&stored.hash);
        let committed = Transaction::new()
            .update(&key_at, ends().when_missing("revokedAt"))
            .update(&credential, ends().when_present("keyId"))
            .commit(self)
            .await?;
        Ok(committed.is_yes())
    }

    /// A key by its id.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn key(&self, key: &KeyId) -> Result<Option<StoredKey>, Error> {
        self.get(&Key::api_key(key)).await
    }

    /// The minute in which a key was used last; none if it never was, or is revoked.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn last_use(&self, key: &StoredKey) -> Result<Option<Timestamp>, Error> {
        let at = Key::credential(&key.hash);
        let credential: Option<Credential> = self.get(&at).await?;
        let window = credential.map(|credential| credential.window_start);
        Ok(window
            .filter(|start| *start > 0)
            .map(Timestamp::from_epoch_ms))
    }

    /// Marks what authenticates the keys of an organization as suspended, or takes the mark away.
    pub(crate) async fn mark_keys(
        &self,
        org: &OrgId,
        suspended_at: Option<Timestamp>,
    ) -> Result<(), Error> {
        for key in self.list_keys(org).await? {
            let change = match suspended_at {
                Some(at) => Change::new().set(SUSPENDED, at),
                None => Change::new().remove(SUSPENDED),
            };
            // A key that was revoked has nothing to mark.
            let change = change.when_present("keyId");
            self.update(&Key::credential(&key.hash), change).await?;
        }
        Ok(())
    }

    /// Deletes all keys of an organization, and what authenticates them.
    pub(crate) async fn delete_keys(&self, org: &OrgId) -> Result<(), Error> {
        for key in self.list_keys(org).await? {
            let any = Change::new;
            Transaction::new()
                .delete(&Key::credential(&key.hash), any())
                .delete(&Key::api_key(&key.key_id), any())
                .delete(&Key::key_index(org, &key.key_id), any())
                .commit(self)
                .await?;
        }
        Ok(())
    }
}
