//! Results of the base commit that runs of the organization share: a run asks for them before it judges the
//! base itself, and adds what it found. Without an answer it judges, and pays, itself.

use awo_domain::control::{BaselineRequest, MAX_BASELINE_BYTES};
use awo_domain::verification::PluginResult;
use sha2::{Digest, Sha256};

use super::Work;
use crate::verify::baseline::storable;

impl Work<'_> {
    /// The stored results of the base.
    pub(super) async fn stored_base(&self) -> Vec<PluginResult> {
        self.share_base(Vec::new()).await
    }

    /// Stores results of the base, so far as they are counted.
    pub(super) async fn store_base(&self, results: &[PluginResult]) {
        let results = storable(results);
        let fits = |json: Vec<u8>| json.len() <= MAX_BASELINE_BYTES;
        if !results.is_empty() && serde_json::to_vec(&results).is_ok_and(fits) {
            self.share_base(results).await;
        }
    }

    async fn share_base(&self, results: Vec<PluginResult>) -> Vec<PluginResult> {
        let Some(plan_hash) = self.plan_hash() else {
            return Vec::new();
        };
        let request = BaselineRequest {
            commit: self.base.baseline().to_owned(),
            plan_hash,
            results,
        };
        match self.reporter.baseline(request).await {
            Ok(answer) => answer.results,
            Err(why) => {
                tracing::info!(event = "baseline_not_shared", %why, "the stored results of the base are not known");
                Vec::new()
            }
        }
    }

    /// The hash of all that decides how the base is judged, beside its commit and the environment.
    pub(super) fn plan_hash(&self) -> Option<String> {
        let verification = &self.spec.profile.verification;
        let rules = (&self.frozen, &self.spec.plugins, verification.retry_flaky);
        let rules = serde_json::to_vec(&rules).ok()?;
        Some(hex::encode(Sha256::digest(rules)))
    }
}
