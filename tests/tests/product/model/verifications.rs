//! A manual verification of a run: what it holds and costs is so little that no budget of the model is nearer
//! to its limit by it.

use awo_domain::ledger::CostParts;
use awo_domain::manual::{Request, VerificationReport};
use awo_domain::money::MicroCredits;
use awo_domain::verification::{CombinedResult, Status};
use awo_domain::{TransactionId, VerificationId};
use awo_store::capacity::permits::MaxTasks;
use awo_store::runs::lifecycle::settle::Charge;
use awo_store::runs::verifications::Verification;
use awo_store::runs::verified_run::VerifiedRun;
use awo_tests::functions::Functions;
use serde_json::json;

use super::system::{System, TOKEN};

const HOLD: MicroCredits = MicroCredits::from_micro(100_000);
const COST: MicroCredits = MicroCredits::from_micro(10_000);
const NONCE: &str = "secret";

impl System {
    /// Everything that a verification does, until something goes wrong: then the sweep ends it.
    pub(super) async fn verify(&self, order: usize, functions: &Functions) -> bool {
        let (world, org) = (&self.world, &self.org.id);
        let run = self.newest(order).await;
        let order = world.store.work_order(org, &run.work_order_id).await;
        let order = order.expect("an answer").expect("a work order");
        let (now, mint) = (world.cloud.clock.now(), &world.cloud.mint);
        let request: Request = serde_json::from_value(json!({
            "workDir": "/w", "levels": [], "pluginIds": [], "timeoutMs": 1_000,
        }))
        .expect("a request");
        let id = VerificationId::new(now, mint.random(now));
        let subject = (request, VerifiedRun::of(&run, &order));
        let new = Verification::new(org, &id, subject, NONCE.to_owned(), now).holding(HOLD);
        let store = if std::ptr::eq(functions, &world.faulty) {
            world.faulty_store()
        } else {
            world.store.clone()
        };
        let max = MaxTasks::new(1_000).expect("a limit");
        let Ok(begun) = store.begin_verification(new, max, now).await else {
            return true;
        };
        let claimed = store.claim_verification(&begun, NONCE, TOKEN).await;
        let result = CombinedResult {
            overall_status: Status::Passed,
            results: Vec::new(),
            summary: String::new(),
            duration_ms: 1,
        };
        let reports = [
            VerificationReport::Begun {},
            VerificationReport::Finished { result },
        ];
        for report in reports {
            if claimed.is_ok() {
                drop(store.keep_verification(&begun, TOKEN, report, now).await);
            }
        }
        let Ok(Some(ended)) = store.as_it_stands(&begun).await else {
            return true;
        };
        let charge = Charge {
            cost: CostParts {
                compute: COST,
                ..CostParts::default()
            },
            compute_ms: 1_000,
            is_free: ended.executed_at.is_none(),
            transaction_id: TransactionId::new(now, mint.random(now)),
        };
        drop(store.end_verification(&ended, &charge, now).await);
        true
    }
}
