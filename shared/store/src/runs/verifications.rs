//! Manual verifications under way. Each is one item and takes one of an organization's permits for
//! them, so there are never more than [`MAX_VERIFICATIONS`] at once: a permit is taken exactly as
//! long as its item exists.
//!
//! The function that requested a task removes the item when it has its response. If it cannot, the
//! sweep does: every item has a deadline. [`charge`] has its hold and its settlement.

mod charge;

use awo_domain::manual::{Request, VerificationReport};
use awo_domain::money::MicroCredits;
use awo_domain::verification::CombinedResult;
use awo_domain::{Error, OrgId, Timestamp, VerificationId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::capacity::permits::{AT_TASK_LIMIT, MaxTasks};
use crate::engine::change::Change;
use crate::engine::item::{SCHEMA_VERSION, due_shard};
use crate::engine::item_kind::ItemKind;
use crate::engine::key::Key;
use crate::engine::table::{UpdateOutcome, read};
use crate::engine::transaction::{CommitOutcome, Refusal, Transaction};
use crate::runs::verified_run::VerifiedRun;

/// Most manual verifications of an organization at once.
pub const MAX_VERIFICATIONS: u32 = 2;
/// How long a task may take from its request until it has read the workspace.
pub const BEGIN_MS: i64 = 240_000;
/// What a verification may take beyond its own time: for the death of a command, and the report.
pub const SLACK_MS: i64 = 45_000;
/// Between two readings by the sweep.
pub const LOOK_MS: i64 = 60_000;
/// How often a capacity permit is tried that others take first.
const MAX_RIVALS: u32 = 6;
/// When a client should try again that found no free permit.
const RETRY_S: i64 = 30;

/// How it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum VerificationStanding {
    /// Nothing is known of the workspace yet.
    Asked {},
    /// Its plugins run.
    Begun {},
    /// The workspace is not to be verified.
    Refused {
        /// The modified file that is wrong, from 0; the workspace where it is absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u32>,
        /// The fault of the path.
        message: String,
    },
    /// It is through.
    Finished {
        /// The answer.
        result: CombinedResult,
    },
}

/// A verification as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// The owner.
    pub org_id: OrgId,
    /// Its id.
    pub verification_id: VerificationId,
    /// The number of its permit, from 1.
    #[serde(rename = "place")]
    pub permit: u32,
    /// The shard of its task's capacity permit; none if it is older than permits.
    #[serde(rename = "taskPlace", default, skip_serializing_if = "Option::is_none")]
    pub capacity_shard: Option<u32>,
    /// The request.
    pub request: Request,
    /// The run whose environment its commands have, and to which its cost is put down; none if it is
    /// older than its charge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<VerifiedRun>,
    /// Hold in micro-credits.
    #[serde(default)]
    pub hold_micro: i64,
    /// Time from which a process of client code could run: compute is paid from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed_at: Option<Timestamp>,
    /// Arrival of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// The secret part of the nonce, until it is claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// SHA-256 of the runner's token, once it claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_hash: Option<String>,
    /// The task, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_arn: Option<String>,
    /// How it stands.
    pub standing: VerificationStanding,
    /// When it stood so last.
    pub changed_at: Timestamp,
    /// When it is overdue, whatever it does.
    pub ends_at: Timestamp,
    /// Index of due items.
    pub due_shard: String,
    /// When the sweep reads it, Unix milliseconds.
    pub due_at: i64,
    /// Shape of this item.
    pub v: u32,
}

impl Verification {
    /// One whose task is not asked for yet; its permit is not taken yet.
    #[must_use]
    pub fn new(
        org: &OrgId,
        id: &VerificationId,
        (request, run): (Request, VerifiedRun),
        nonce: String,
        now: Timestamp,
    ) -> Verification {
        let whole_ms = BEGIN_MS + request_ms(&request) + SLACK_MS;
        Verification {
            org_id: org.clone(),
            verification_id: id.clone(),
            permit: 0,
            capacity_shard: None,
            request,
            run: Some(run),
            hold_micro: 0,
            executed_at: None,
            finished_at: None,
            nonce: Some(nonce),
            token_hash: None,
            task_arn: None,
            standing: VerificationStanding::Asked {},
            changed_at: now,
            ends_at: now.plus_ms(whole_ms),
            due_shard: due_shard(id.as_str()),
            due_at: now.plus_ms(LOOK_MS).epoch_ms(),
            v: SCHEMA_VERSION,
        }
    }

    /// The same with a hold.
    #[must_use]
    pub fn holding(self, hold: MicroCredits) -> Verification {
        Verification {
            hold_micro: hold.micro(),
            ..self
        }
    }

    fn key(&self) -> Key {
        Key::verification(&self.org_id, self.permit)
    }

    /// The condition that the item is still this one's.
    fn ours(&self) -> Change {
        Change::new().when("verificationId", &self.verification_id)
    }
}

/// The client's time in milliseconds.
#[must_use]
pub fn request_ms(request: &Request) -> i64 {
    i64::try_from(request.timeout_ms).unwrap_or(i64::MAX / 4)
}

fn at_task_limit(max: MaxTasks) -> Error {
    Error::TooManyAtOnce {
        what: "tasks of this deployment",
        limit: max.get(),
        retry_after_s: RETRY_S,
    }
}

impl Store {
    /// Takes a permit of the organization, a capacity permit for its task, and its hold; the verification
    /// with all of them.
    ///
    /// # Errors
    /// [`Error::TooManyAtOnce`], [`Error::InsufficientCredits`] or [`Error::OverBudget`] if its hold does not
    /// fit, or internal.
    pub async fn begin_verification(
        &self,
        new: Verification,
        max: MaxTasks,
        now: Timestamp,
    ) -> Result<Verification, Error> {
        let (mut number, mut rivals) = (1, 0);
        while number <= MAX_VERIFICATIONS && rivals < MAX_RIVALS {
            let near = new.verification_id.as_str();
            let available = self.capacity(&new.org_id, near, max, now).await?;
            let Some(permit) = available.permit else {
                tracing::warn!(event = "task_limit", org = %new.org_id, "{AT_TASK_LIMIT}");
                return Err(at_task_limit(max));
            };
            // A capacity waiter has a waiting run, and continues to wait.
            let permit = permit.without_waiting();
            let new = Verification {
                permit: number,
                capacity_shard: Some(permit.shard),
                ..new.clone()
            };
            let taken = Transaction::new()
                .put(&new.key(), &new)?
                .take_permit(&permit)
                .hold_for_verification(&new, now)?
                .commit(self)
                .await?;
            match taken {
                CommitOutcome::Yes => return Ok(new),
                CommitOutcome::No(refusals) => {
                    let is_ours = |refusal: &Refusal| refusal.kind == ItemKind::Verification;
                    if refusals.iter().any(is_ours) {
                        number += 1
                    } else if let Some(error) = new.not_funded(refusals)? {
                        return Err(error);
                    } else {
                        rivals += 1
                    }
                }
            }
        }
        if rivals == MAX_RIVALS {
            return Err(at_task_limit(max));
        }
        Err(Error::TooManyAtOnce {
            what: "verifications of your organization",
            limit: MAX_VERIFICATIONS,
            retry_after_s: RETRY_S,
        })
    }

    /// A verification that is under way, by its id.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn verification(
        &self,
        org: &OrgId,
        id: &VerificationId,
    ) -> Result<Option<Verification>, Error> {
        for permit in 1..=MAX_VERIFICATIONS {
            let found = self.verification_at(org, permit).await?;
            let found = found.filter(|found| found.verification_id == *id);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// A verification as it is now; none if it is over.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn as_it_stands(&self, known: &Verification) -> Result<Option<Verification>, Error> {
        let found = self.verification_at(&known.org_id, known.permit).await?;
        Ok(found.filter(|found| found.verification_id == known.verification_id))
    }

    /// The verification that has this permit of the organization's now.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn verification_at(
        &self,
        org: &OrgId,
        permit: u32,
    ) -> Result<Option<Verification>, Error> {
        let key = Key::verification(org, permit);
        self.get(&key).await
    }

    /// Notes the task that was started.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn note_verification_task(
        &self,
        of: &Verification,
        task_arn: &str,
    ) -> Result<(), Error> {
        let change = of.ours().set("taskArn", task_arn);
        self.update(&of.key(), change).await?;
        Ok(())
    }

    /// Trades the nonce for a token. The same token again is answered again; another is not.
    ///
    /// # Errors
    /// [`Error::Unauthorized`], or internal.
    pub async fn claim_verification(
        &self,
        of: &Verification,
        nonce: &str,
        token_hash: &str,
    ) -> Result<(), Error> {
        if of.token_hash.as_deref() == Some(token_hash) {
            return Ok(());
        }
        let change = of
            .ours()
            .set("tokenHash", token_hash)
            .remove("nonce")
            .when("nonce", nonce)
            .when_missing("tokenHash");
        let known: Option<Verification> = match self.update(&of.key(), change).await? {
            UpdateOutcome::New(_) => return Ok(()),
            UpdateOutcome::Refused(item) => item.map(read).transpose()?,
        };
        let ours = known.is_some_and(|known| {
            known.verification_id == of.verification_id
                && known.token_hash.as_deref() == Some(token_hash)
        });
        if ours {
            Ok(())
        } else {
            Err(Error::Unauthorized)
        }
    }

    /// Stores what a runner reports; false if its reports no longer count.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn keep_verification(
        &self,
        of: &Verification,
        token_hash: &str,
        report: VerificationReport,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let standing = match report {
            VerificationReport::Begun {} => VerificationStanding::Begun {},
            VerificationReport::Refused { file, message } => {
                VerificationStanding::Refused { file, message }
            }
            VerificationReport::Finished { result } => VerificationStanding::Finished { result },
        };
        let before = match &standing {
            VerificationStanding::Finished { .. } => VerificationStanding::Begun {},
            _ => VerificationStanding::Asked {},
        };
        // What was asked for is with the runner, and an item has a largest size.
        let request = Request {
            task_prompt: None,
            modified_files: None,
            ..of.request.clone()
        };
        let change = of
            .ours()
            .set("standing", &standing)
            .set("changedAt", now)
            .set("request", request)
            .set_some("executedAt", of.executed_by(&standing, now))
            .set_some("finishedAt", of.finished_by(&standing, now))
            .when("tokenHash", token_hash)
            .when("standing", before);
        match self.update(&of.key(), change).await? {
            UpdateOutcome::New(_) => Ok(true),
            UpdateOutcome::Refused(Some(item)) => {
                let now_is: Verification = read(item)?;
                // A repetition whose answer was lost is answered again.
                Ok(now_is.verification_id == of.verification_id
                    && now_is.token_hash.as_deref() == Some(token_hash)
                    && now_is.standing == standing)
            }
            UpdateOutcome::Refused(None) => Ok(false),
        }
    }

    /// Lets the sweep read it again later.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn postpone_verification(
        &self,
        of: &Verification,
        at: Timestamp,
    ) -> Result<(), Error> {
        let change = of.ours().set("dueAt", at.epoch_ms());
        self.update(&of.key(), change).await?;
        Ok(())
    }
}
