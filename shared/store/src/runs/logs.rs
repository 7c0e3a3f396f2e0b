//! Agent logs by iteration: the end of the output, as gzip, under a limit for the whole run.
//!
//! Gzip from a runner may be a bomb: it is never unpacked beyond [`MAX_LOG_BYTES`].

use std::io::Read;

use awo_domain::control::{MAX_DIFF_GZIP_BYTES, MAX_LOG_BYTES, ReportAnswer, StopRequest};
use awo_domain::{Error, OrgId, RunId, Timestamp};
use aws_sdk_dynamodb::types::AttributeValue;
use flate2::bufread::GzDecoder;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, logs};
use crate::engine::list::{Page, Slice};
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::engine::tries::Tries;
use crate::runs::lifecycle::lease::lease_lost;
use crate::runs::lifecycle::report::Reporter;

/// What the logs of one run may take, in bytes of gzip: 4 MiB together with its diff.
pub const MAX_RUN_LOG_BYTES: usize = 4 * 1_048_576 - MAX_DIFF_GZIP_BYTES;
/// Largest gzip of one iteration, in bytes: what does not shrink grows by its header only, and
/// an item has its limit.
pub const MAX_GZIP_BYTES: usize = MAX_LOG_BYTES + 4_096;

/// The log of an iteration as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    /// From 1.
    pub iteration: u32,
    /// The end of what was written, at most [`MAX_LOG_BYTES`] of it; absent where the run had no
    /// room left for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gzip: Option<ByteBuf>,
    /// How many bytes were written in all.
    pub bytes: u64,
    /// True if not all of them are stored.
    pub truncated: bool,
    /// When it was stored.
    pub created_at: Timestamp,
    /// Shape of this item.
    pub v: u32,
}

impl Log {
    /// A log that was checked.
    #[must_use]
    pub fn new(iteration: u32, gzip: Vec<u8>, bytes: u64, truncated: bool, now: Timestamp) -> Log {
        Log {
            iteration,
            gzip: Some(ByteBuf::from(gzip)),
            bytes,
            truncated,
            created_at: now,
            v: SCHEMA_VERSION,
        }
    }

    /// What is stored of it, as text: bytes that are not UTF-8 are replaced. None if what is stored
    /// does not unpack to at most [`MAX_LOG_BYTES`].
    #[must_use]
    pub fn output(&self) -> Option<String> {
        match &self.gzip {
            None => Some(String::new()),
            Some(gzip) => unpacked(gzip).map(|bytes| text(&bytes)),
        }
    }

    /// The note that stays of it where there is no room.
    fn cut(&self) -> Log {
        Log {
            gzip: None,
            truncated: self.truncated || self.bytes > 0,
            ..self.clone()
        }
    }
}

/// The content of a gzip that is one whole member of at most [`MAX_LOG_BYTES`], and nothing else.
#[must_use]
pub fn unpacked(gzip: &[u8]) -> Option<Vec<u8>> {
    unpacked_within(gzip, MAX_LOG_BYTES)
}

/// The content of a gzip that is one whole member of at most `most` bytes, and nothing else.
#[must_use]
pub fn unpacked_within(gzip: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut reader = GzDecoder::new(gzip).take(most as u64 + 1);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).ok()?;
    let rest = reader.into_inner().into_inner();
    (bytes.len() <= most && rest.is_empty()).then_some(bytes)
}

/// The end of a text may begin within a character, which is left out rather than replaced.
fn text(bytes: &[u8]) -> String {
    let is_inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let inside = bytes.iter().take(3).take_while(|b| is_inside(b)).count();
    String::from_utf8_lossy(&bytes[inside..]).into_owned()
}

/// What keeping a log or a diff needs to know of the run's lease.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeaseView {
    token_hash: Option<String>,
    closed_at: Option<Timestamp>,
    /// A client's stop request: the run's runner may still report what its agent wrote.
    stop_request: Option<StopRequest>,
    #[serde(default)]
    reported: u64,
    #[serde(default)]
    log_bytes: usize,
    #[serde(default)]
    diff_iteration: u32,
}

impl LeaseView {
    pub fn answer(&self) -> ReportAnswer {
        ReportAnswer {
            acknowledged: self.reported,
            stop_request: self.stop_request,
            configuration: None,
        }
    }

    /// True if the diff of this iteration, or of a later one, is stored.
    pub fn has_diff_of(&self, iteration: u32) -> bool {
        self.diff_iteration >= iteration
    }

    pub fn is_held_by(&self, by: &Reporter) -> bool {
        self.token_hash.as_deref() == Some(&by.token_hash)
            && (self.closed_at.is_none() || self.stop_request.is_some())
    }
}

impl Store {
    /// The lease that a reporter holds.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it is lost, or internal.
    pub(crate) async fn held_lease(&self, by: &Reporter) -> Result<LeaseView, Error> {
        let lease: Option<LeaseView> = self.get(&Key::lease(&by.org, &by.run_id)).await?;
        let lease = lease.filter(|lease| lease.is_held_by(by));
        lease.ok_or_else(lease_lost)
    }

    /// Keeps the log of an iteration, or, where the run has no room left, a note that it was cut.
    /// A log that is there already stays as it is.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, or internal.
    pub async fn store_log(&self, by: &Reporter, log: &Log) -> Result<ReportAnswer, Error> {
        let lease_key = Key::lease(&by.org, &by.run_id);
        let mut tries = Tries::new("store log: the lease kept changing");
        loop {
            tries.next().await?;
            let lease = self.held_lease(by).await?;
            let size = log.gzip.as_ref().map_or(0, |gzip| gzip.len());
            let fits = lease.log_bytes.saturating_add(size) <= MAX_RUN_LOG_BYTES;
            let (stored, size) = if fits {
                (log.clone(), size)
            } else {
                (log.cut(), 0)
            };
            let change = Change::new()
                .add("logBytes", number(size))
                .when("tokenHash", &by.token_hash)
                .when_missing_unless("closedAt", "stopRequest")
                .at_most_or_missing("logBytes", number(MAX_RUN_LOG_BYTES - size));
            let key = Key::log(&by.org, &by.run_id, log.iteration);
            let committed = Transaction::new()
                .update(&lease_key, change)
                .put(&key, &self.details.expiring(&stored, stored.created_at))?
                .commit(self)
                .await?;
            match committed {
                CommitOutcome::Yes => return Ok(lease.answer()),
                CommitOutcome::No(refusals) if refusals.iter().any(|r| r.kind == ItemKind::Log) => {
                    return Ok(lease.answer());
                }
                CommitOutcome::No(_) => {}
            }
        }
    }

    /// Logs of a run's iterations after one, oldest first, but for those that have expired. Of another organization's run there
    /// are none.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn logs(
        &self,
        org: &OrgId,
        run: &RunId,
        after: u32,
        limit: u32,
        now: Timestamp,
    ) -> Result<Page<Log>, Error> {
        let from = AttributeValue::S(Key::log(org, run, after).sk);
        let slice = Slice::of_partition(logs(org, run))
            .range("sk", ">", from)
            .limit(limit)
            .unexpired(now);
        self.slice(slice).await
    }
}

fn number(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_gzip_unpacks_up_to_the_limit_and_no_further() {
        for size in [0, 1, MAX_LOG_BYTES] {
            assert_eq!(
                unpacked(&packed(&vec![b'a'; size])).map(|b| b.len()),
                Some(size)
            );
        }
        assert_eq!(unpacked(&packed(&vec![b'a'; MAX_LOG_BYTES + 1])), None);
        let bomb = packed(&vec![0; 300_000_000]);
        assert!(bomb.len() < 400_000);
        assert_eq!(unpacked(&bomb), None);
    }

    #[test]
    fn what_is_no_whole_gzip_does_not_unpack() {
        let good = packed(b"what the agent wrote");
        let trailing = [good.clone(), vec![0]].concat();
        let mut wrong_sum = good.clone();
        let sum_at = wrong_sum.len() - 8;
        wrong_sum[sum_at] ^= 1;
        for bad in [
            &[][..],
            b"not gzip",
            &good[..good.len() - 1],
            &trailing,
            &wrong_sum,
        ] {
            assert_eq!(unpacked(bad), None);
        }
    }

    #[test]
    fn the_rest_of_a_cut_character_is_left_out() {
        assert_eq!(text(&"\u{20ac}uro".as_bytes()[1..]), "uro");
        assert_eq!(text(&"\u{1f980}!".as_bytes()[1..]), "!");
        assert_eq!(text(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(text(b""), "");
    }

    #[test]
    fn an_item_keeps_its_bytes_as_bytes() {
        let log = Log::new(1, vec![31, 139, 0], 9, true, Timestamp::from_epoch_ms(0));
        let item: crate::engine::item::Item = serde_dynamo::to_item(&log).unwrap();
        assert!(
            matches!(&item["gzip"], AttributeValue::B(bytes) if bytes.as_ref() == [31, 139, 0])
        );
        let read: Log = crate::engine::table::read(item).unwrap();
        assert_eq!(read.gzip, log.gzip);
    }
}
