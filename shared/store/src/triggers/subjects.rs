//! The state of triggers for subjects: issues, pull requests and branches.

use awo_domain::inbox::signature::sha256;
use awo_domain::run_report::{ReportKind, RunReport};
use awo_domain::trigger::subject::{SUBJECTS_KEPT_MS, SubjectState};
use awo_domain::{Error, OrgId, RunId, Timestamp, TriggerId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::reports::attribute;

/// The state of a trigger for a subject, as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubjectItem {
    #[serde(flatten)]
    state: SubjectState,
    /// The number of writes.
    revision: u32,
    /// Unix seconds after which DynamoDB may remove it.
    ttl: i64,
    v: u32,
}

/// The state of a trigger for a subject, as it was read.
#[derive(Debug, Clone)]
pub struct CurrentSubject {
    trigger: TriggerId,
    hash: String,
    /// The state.
    pub state: SubjectState,
    revision: u32,
}

impl Store {
    /// The state of a trigger for a subject, such as `git.example.com/acme/app#7`.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn trigger_subject(
        &self,
        org: &OrgId,
        trigger: &TriggerId,
        subject: &str,
    ) -> Result<CurrentSubject, Error> {
        let hash = sha256(subject.as_bytes());
        let key = Key::trigger_subject(org, trigger, &hash);
        let item: Option<SubjectItem> = self.get(&key).await?;
        let (state, revision) = item
            .map(|item| (item.state, item.revision))
            .unwrap_or_default();
        Ok(CurrentSubject {
            trigger: trigger.clone(),
            hash,
            state,
            revision,
        })
    }

    /// Writes a state over what was read; false if that has changed meanwhile.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn replace_trigger_subject(
        &self,
        org: &OrgId,
        read: &CurrentSubject,
        state: &SubjectState,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let replaced = Transaction::new()
            .replace_subject(org, read, state, now)?
            .commit(self)
            .await?;
        Ok(replaced.is_yes())
    }

    /// Writes the state of a subject that has no further attempts, and has the comment of this run say how many there
    /// were; false if the state has changed meanwhile.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_attempts(
        &self,
        org: &OrgId,
        (read, state): (&CurrentSubject, &SubjectState),
        comment: Option<(&RunId, u32)>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let mut transaction = Transaction::new().replace_subject(org, read, state, now)?;
        if let Some((run, attempts)) = comment {
            let kind = ReportKind::Comment;
            let ended = Change::new()
                .set("attemptsEnded", attempts)
                .set(attribute(kind), RunReport::pending(kind))
                .when_present("runId");
            transaction = transaction
                .update(&Key::run(org, run), ended)
                .report(org, run, kind, now);
        }
        Ok(transaction.commit(self).await?.is_yes())
    }
}

impl Transaction {
    pub(super) fn replace_subject(
        self,
        org: &OrgId,
        read: &CurrentSubject,
        state: &SubjectState,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let key = Key::trigger_subject(org, &read.trigger, &read.hash);
        let item = SubjectItem {
            state: state.clone(),
            revision: read.revision + 1,
            ttl: now.plus_ms(SUBJECTS_KEPT_MS).epoch_seconds(),
            v: SCHEMA_VERSION,
        };
        match read.revision {
            0 => self.put(&key, &item),
            revision => self.put_when(&key, &item, Change::new().when("revision", revision)),
        }
    }
}
