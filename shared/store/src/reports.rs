//! Reports of runs to forges. The transaction that begins or ends a run puts one there; it is due until it is posted or
//! given up. The run shows its state.

use awo_domain::run_report::{ReportKind, RunReport};
use awo_domain::{Error, OrgId, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{DUE_REPORTS, SCHEMA_VERSION};
use crate::engine::item_kind::Table;
use crate::engine::key::Key;
use crate::engine::table::UpdateOutcome;
use crate::engine::transaction::Transaction;
use crate::sweep::{DueCursor, DueKey, DuePage};

/// Time after which an attempt of which nothing was heard is made again.
const SENDING_MS: i64 = 120_000;

/// The name of a report of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRef {
    /// The owner.
    pub org: OrgId,
    /// The run.
    pub run_id: RunId,
    /// The kind of the report.
    pub kind: ReportKind,
}

/// A report as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportItem {
    /// Number of times that something was to be reported.
    revision: i64,
    /// Attempts of this revision.
    attempts: i64,
}

/// An attempt to post a report, which is recorded before it is made.
#[derive(Debug, Clone)]
pub struct ReportAttempt {
    /// The report.
    pub report: ReportRef,
    /// The number of the attempt, from 1.
    pub number: u32,
    revision: i64,
}

impl ReportRef {
    fn key(&self) -> Key {
        Key::report(&self.org, &self.run_id, self.kind)
    }

    /// The report of a due item.
    fn parse(key: &DueKey) -> Option<ReportRef> {
        let (org, _) = key.owner()?;
        let (run, kind) = key.sk.split_once('#')?;
        Some(ReportRef {
            org,
            run_id: RunId::parse(run).ok()?,
            kind: ReportKind::parse(kind)?,
        })
    }
}

/// The attribute of a run that shows reports of a kind.
pub(crate) fn attribute(kind: ReportKind) -> &'static str {
    match kind {
        ReportKind::Check | ReportKind::Status => "checkReport",
        ReportKind::Comment => "commentReport",
    }
}

impl Transaction {
    /// Puts a report there, or has it posted anew.
    pub(crate) fn report(
        self,
        org: &OrgId,
        run: &RunId,
        kind: ReportKind,
        now: Timestamp,
    ) -> Transaction {
        let due = Change::new()
            .set("attempts", 0)
            .set("dueShard", DUE_REPORTS)
            .set("dueAt", now.epoch_ms())
            .set("v", SCHEMA_VERSION)
            .add("revision", 1);
        self.update(&Key::report(org, run, kind), due)
    }
}

impl Store {
    /// Reports that are to be posted.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due_reports(
        &self,
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<ReportRef>, Error> {
        let partition = (Table::Work, DUE_REPORTS.to_owned());
        let page = self.due_keys(partition, after, now, limit).await?;
        Ok(DuePage {
            items: page.items.iter().filter_map(ReportRef::parse).collect(),
            next: page.next,
        })
    }

    /// Records an attempt; none if another sender makes it, or the report is posted.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn attempt_report(
        &self,
        report: &ReportRef,
        now: Timestamp,
    ) -> Result<Option<ReportAttempt>, Error> {
        let Some(item) = self.get::<ReportItem>(&report.key()).await? else {
            return Ok(None);
        };
        let change = Change::new()
            .set("attempts", item.attempts + 1)
            .set("dueAt", now.plus_ms(SENDING_MS).epoch_ms())
            .when("revision", item.revision)
            .when("attempts", item.attempts);
        let recorded = self.update(&report.key(), &change).await?;
        Ok(
            matches!(recorded, UpdateOutcome::New(_)).then(|| ReportAttempt {
                report: report.clone(),
                number: u32::try_from(item.attempts + 1).unwrap_or(u32::MAX),
                revision: item.revision,
            }),
        )
    }

    /// Ends the attempts of a report, and shows its state at the run; none to show nothing. A report that was to be
    /// posted anew meanwhile stays due.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_report(
        &self,
        attempt: &ReportAttempt,
        shown: Option<&RunReport>,
    ) -> Result<(), Error> {
        let report = &attempt.report;
        let same = Change::new().when("revision", attempt.revision);
        let run = Change::new()
            .set_or_remove(attribute(report.kind), shown)
            .when_present("runId");
        let both = Transaction::new()
            .delete(&report.key(), &same)
            .update(&Key::run(&report.org, &report.run_id), run);
        if both.commit(self).await?.is_yes()
            || self.run(&report.org, &report.run_id).await?.is_some()
        {
            return Ok(());
        }
        // The run was purged.
        let alone = Transaction::new().delete(&report.key(), &same);
        alone.commit(self).await.map(drop)
    }

    /// Has a report tried again at a time, and shows why at the run.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn delay_report(
        &self,
        attempt: &ReportAttempt,
        shown: &RunReport,
        until: Timestamp,
    ) -> Result<(), Error> {
        let report = &attempt.report;
        let delayed = Change::new()
            .set("dueAt", until.epoch_ms())
            .when("revision", attempt.revision)
            .when("attempts", attempt.number);
        let run = Change::new()
            .set(attribute(report.kind), shown)
            .when_present("runId");
        let both = Transaction::new()
            .update(&report.key(), delayed)
            .update(&Key::run(&report.org, &report.run_id), run);
        both.commit(self).await.map(drop)
    }
}
