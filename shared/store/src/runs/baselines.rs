//! Results of base commits, shared by the runs of an organization: one item for a repository, commit, plan
//! and environment, which expires. Two runs may add to it at once; the later one's addition may be lost, and
//! another run makes it again.

use awo_domain::control::MAX_BASELINE_BYTES;
use awo_domain::verification::{Check, PluginResult};
use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::runs::Run;
use crate::runs::lifecycle::report::Reporter;

/// Retention of a base commit's results.
const KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// The name of a base commit's results: a hash of repository, commit, plan and environment.
#[derive(Debug, Clone)]
pub struct BaselineKey {
    org: OrgId,
    hash: String,
}

impl BaselineKey {
    /// The results of this hash, of an organization.
    #[must_use]
    pub fn new(org: &OrgId, hash: String) -> BaselineKey {
        BaselineKey {
            org: org.clone(),
            hash,
        }
    }

    fn item(&self) -> Key {
        Key::baseline(&self.org, &self.hash)
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BaselineItem {
    results: Vec<PluginResult>,
    /// Unix seconds after which DynamoDB may remove it.
    ttl: i64,
    /// Time from which it no longer counts.
    expires_at: Timestamp,
    v: u32,
}

impl Store {
    /// The run of a runner that holds its lease.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, or internal.
    pub async fn reporting_run(&self, by: &Reporter) -> Result<Run, Error> {
        self.held_lease(by).await?;
        let run = self.run(&by.org, &by.run_id).await?;
        run.ok_or_else(|| Error::internal("the run of a lease is missing"))
    }

    /// The results that are stored.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn baseline(
        &self,
        key: &BaselineKey,
        now: Timestamp,
    ) -> Result<Vec<PluginResult>, Error> {
        let item: Option<BaselineItem> = self.get(&key.item()).await?;
        let item = item.filter(|item| now < item.expires_at);
        Ok(item.map(|item| item.results).unwrap_or_default())
    }

    /// Adds results of checks that have none yet; all that are stored then.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn add_to_baseline(
        &self,
        key: &BaselineKey,
        more: Vec<PluginResult>,
        now: Timestamp,
    ) -> Result<Vec<PluginResult>, Error> {
        let mut results = self.baseline(key, now).await?;
        for result in more.clone() {
            add(&mut results, result);
        }
        let json = serde_json::to_vec(&results).map_err(Error::internal)?;
        if json.len() > MAX_BASELINE_BYTES {
            results = more;
        }
        let expires_at = now.plus_ms(KEPT_MS);
        let item = BaselineItem {
            results,
            ttl: expires_at.epoch_seconds() + 1,
            expires_at,
            v: SCHEMA_VERSION,
        };
        let stored = Transaction::new().put_when(&key.item(), &item, Change::new())?;
        stored.commit(self).await?;
        Ok(item.results)
    }
}

fn add(results: &mut Vec<PluginResult>, more: PluginResult) {
    let mut own_results = results.iter_mut();
    let same = own_results.find(|of| of.plugin_id == more.plugin_id);
    let Some(same) = same else {
        results.push(more);
        return;
    };
    let is_new = |check: &Check| !same.checks.iter().any(|one| one.name == check.name);
    let new: Vec<Check> = more.checks.into_iter().filter(is_new).collect();
    same.checks.extend(new);
}
