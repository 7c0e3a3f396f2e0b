//! Inboxes as they are stored: the only code that writes a secret of one.

use awo_domain::inbox::{Inbox, InboxContent, InboxSecret, InboxSecrets};
use awo_domain::{InboxId, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use super::CurrentInbox;
use crate::engine::item::SCHEMA_VERSION;

/// An inbox as it is stored. It is not `Debug`, as its secrets are texts here.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InboxItem {
    id: InboxId,
    org_id: OrgId,
    content: InboxContent,
    secret: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous_secret_expires_at: Option<Timestamp>,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    /// The number of writes.
    revision: u32,
    v: u32,
}

impl InboxItem {
    /// The inbox with this revision.
    pub fn of(inbox: &Inbox, revision: u32) -> InboxItem {
        let previous = inbox.secrets.previous.clone();
        let (previous_secret, previous_secret_expires_at) = previous.unzip();
        InboxItem {
            id: inbox.id.clone(),
            org_id: inbox.org_id.clone(),
            content: inbox.content.clone(),
            secret: inbox.secrets.current.reveal().to_owned(),
            previous_secret: previous_secret.map(|secret| secret.reveal().to_owned()),
            previous_secret_expires_at,
            created_at: inbox.created_at,
            updated_at: inbox.updated_at,
            revision,
            v: SCHEMA_VERSION,
        }
    }
}

impl From<InboxItem> for CurrentInbox {
    fn from(item: InboxItem) -> CurrentInbox {
        let previous = item.previous_secret.map(InboxSecret::stored);
        CurrentInbox {
            inbox: Inbox {
                id: item.id,
                org_id: item.org_id,
                content: item.content,
                secrets: InboxSecrets {
                    current: InboxSecret::stored(item.secret),
                    previous: previous.zip(item.previous_secret_expires_at),
                },
                created_at: item.created_at,
                updated_at: item.updated_at,
            },
            revision: item.revision,
        }
    }
}
