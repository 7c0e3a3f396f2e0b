//! The cost of one settlement or refund, and its allocation: written once, never changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Attribution;
use super::measures::{Measures, apportion};
use crate::ledger::CostParts;
use crate::money::MicroCredits;
use crate::run::RunStatus;
use crate::usage::PricedUsage;
use crate::work_order::TenantContext;
use crate::{RunId, Timestamp, TransactionId, VerificationId, WorkOrderId};

/// What stands for a model where the cost is compute.
pub const COMPUTE: &str = "(compute)";
/// The outcome of a manual verification's cost, which is no run.
pub const VERIFICATION: &str = "verification";
/// What stands for a value that is not there.
pub const NONE: &str = "(none)";
/// The value of all further values of a dimension.
pub const OTHER: &str = "(other)";

/// What a run used of one model, and what it was charged for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The model, or [`COMPUTE`].
    pub model: String,
    /// Its measures; those of a model count the run once.
    #[serde(flatten)]
    pub measures: Measures,
}

/// A settlement, or a refund.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostRecord {
    /// The ledger entry's id, or the one it would have had.
    pub id: TransactionId,
    /// The time of the ledger entry.
    pub at: Timestamp,
    /// The run.
    pub run_id: RunId,
    /// The manual verification of the run's workspace that was charged; none for the run itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_id: Option<VerificationId>,
    /// Its work order, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_order_id: Option<WorkOrderId>,
    /// The run's end, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunStatus>,
    /// The client's customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_context: Option<TenantContext>,
    /// Its other dimensions; none for runs from before they existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// True for a refund, which is no run.
    #[serde(default)]
    pub is_refund: bool,
    /// Of a deduction, the version of the price list, as the ledger entry has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_list: Option<String>,
    /// Its amounts, by models and compute.
    pub parts: Vec<Part>,
}

/// The charge for a run.
#[derive(Debug, Clone, Copy)]
pub struct ChargeInputs<'a> {
    /// Its usage.
    pub usage: &'a [PricedUsage],
    /// How long it had compute, in milliseconds.
    pub compute_ms: i64,
    /// The cost of that.
    pub cost: CostParts,
    /// True if nothing of it is charged.
    pub is_free: bool,
    /// The deduction.
    pub deduction: MicroCredits,
}

impl ChargeInputs<'_> {
    /// By models and compute. Credits of models are the run's, divided by what each cost; what the
    /// hold did not cover is divided by what each part cost.
    #[must_use]
    pub fn parts(&self, outcome: Option<RunStatus>) -> Vec<Part> {
        let usd = |one: &PricedUsage| one.cost_usd_nano.unwrap_or(0);
        let weights: Vec<i64> = self.usage.iter().map(usd).collect();
        let mut costs = if weights.iter().any(|weight| *weight > 0) {
            apportion(self.cost.model.micro(), &weights)
        } else {
            vec![0; weights.len()]
        };
        costs.push(self.cost.compute.micro());
        let lost = self.cost.total().minus(self.deduction).micro();
        let lost = apportion(lost, &costs);
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let models = self.usage.iter().zip(&costs).map(|(one, cost)| Part {
            model: one.usage.model.clone(),
            measures: Measures {
                input_tokens: count(one.usage.input_tokens),
                cached_input_tokens: count(one.usage.cached_input_tokens),
                output_tokens: count(one.usage.output_tokens),
                model_usd_nano: usd(one),
                model_micro: *cost,
                ..outcome.map(Measures::of_run).unwrap_or_default()
            },
        });
        let compute = Part {
            model: COMPUTE.to_owned(),
            measures: Measures {
                compute_seconds: self.compute_ms.max(0).div_euclid(1_000)
                    + i64::from(self.compute_ms.max(0) % 1_000 > 0),
                compute_micro: self.cost.compute.micro(),
                ..Measures::default()
            },
        };
        let mut parts: Vec<Part> = models.chain([compute]).collect();
        for ((part, cost), lost) in parts.iter_mut().zip(costs).zip(lost) {
            let of = &mut part.measures;
            of.credits_micro = cost - lost;
            if self.is_free {
                of.free_micro = lost
            } else {
                of.capped_micro = lost
            }
        }
        parts
    }
}

impl CostRecord {
    /// The deduction, or less than nothing for a refund.
    #[must_use]
    pub fn booked(&self) -> MicroCredits {
        let measures = self.parts.iter().map(|part| &part.measures);
        let booked = measures.map(|measures| {
            measures
                .credits_micro
                .saturating_sub(measures.refunds_micro)
        });
        MicroCredits::from_micro(booked.fold(0, i64::saturating_add))
    }

    /// The refund of a run, put down to what the run was; all to compute if that is not known.
    #[must_use]
    pub fn refund(
        id: &TransactionId,
        (run_id, amount): (&RunId, MicroCredits),
        of: Option<&CostRecord>,
    ) -> CostRecord {
        let parts = of.map(|of| of.parts.as_slice()).unwrap_or_default();
        let weights: Vec<i64> = parts.iter().map(|p| p.measures.credits_micro).collect();
        let shares = apportion(amount.micro(), &weights);
        let refunded = |model: &str, share: i64| Part {
            model: model.to_owned(),
            measures: Measures {
                refunds_micro: share,
                ..Measures::default()
            },
        };
        let known = parts.iter().zip(shares).filter(|(_, share)| *share > 0);
        let parts: Vec<Part> = if parts.is_empty() {
            vec![refunded(COMPUTE, amount.micro())]
        } else {
            known
                .map(|(of, share)| refunded(&of.model, share))
                .collect()
        };
        CostRecord {
            id: id.clone(),
            at: id.made_at(),
            run_id: run_id.clone(),
            verification_id: of.and_then(|of| of.verification_id.clone()),
            work_order_id: of.and_then(|of| of.work_order_id.clone()),
            outcome: of.and_then(|of| of.outcome),
            tenant_context: of.and_then(|of| of.tenant_context.clone()),
            attribution: of.and_then(|of| of.attribution.clone()),
            is_refund: true,
            price_list: None,
            parts,
        }
    }

    /// The id under which its hold was made and settled: the verification's, else the run's.
    #[must_use]
    pub fn settled_as(&self) -> &str {
        let verification = self.verification_id.as_ref();
        verification.map_or(self.run_id.as_str(), VerificationId::as_str)
    }

    /// Time at which its hold was made, unless it waited for a budget.
    #[must_use]
    pub fn made_at(&self) -> Timestamp {
        let verification = self.verification_id.as_ref();
        verification.map_or(self.run_id.made_at(), VerificationId::made_at)
    }

    /// Outcome, as reports and exports name it.
    #[must_use]
    pub fn outcome_name(&self) -> Option<&'static str> {
        match self.verification_id {
            Some(_) => Some(VERIFICATION),
            None => self.outcome.map(RunStatus::as_str),
        }
    }

    /// All of it: the sum of its parts, and one run.
    #[must_use]
    pub fn total(&self) -> Measures {
        let mut total = match self.outcome.filter(|_| !self.is_refund) {
            Some(outcome) => Measures::of_run(outcome),
            None => Measures::default(),
        };
        for part in &self.parts {
            total.add(&Measures {
                runs: 0,
                succeeded: 0,
                failed: 0,
                canceled: 0,
                ..part.measures
            });
        }
        total
    }

    /// By model.
    pub fn by_model(&self) -> BTreeMap<&str, Measures> {
        let mut models: BTreeMap<&str, Measures> = BTreeMap::new();
        for part in &self.parts {
            models.entry(&part.model).or_default().add(&part.measures);
        }
        models
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Rates, settle};
    use crate::usage::ModelUsage;
    use proptest::prelude::*;

    fn usage(all: &[(i64, u64)]) -> Vec<PricedUsage> {
        let one = |(at, (nano, tokens)): (usize, &(i64, u64))| PricedUsage {
            usage: ModelUsage {
                model: format!("m{at}"),
                input_tokens: *tokens,
                output_tokens: 1,
                cached_input_tokens: 0,
                cache_write_tokens: 0,
                cost_usd: None,
            },
            cost_usd_nano: (*nano > 0).then_some(*nano),
        };
        all.iter().enumerate().map(one).collect()
    }

    proptest! {
        #[test]
        fn parts_come_to_the_deduction_and_a_refunds_parts_to_the_refund(
            models in proptest::collection::vec((0i64..3_000_000_000, 0u64..1_000_000), 0..6),
            compute_ms in 0i64..10_000_000,
            hold in 0i64..2_000_000_000,
            is_free in any::<bool>(),
            share in 1i64..1_000,
        ) {
            let usage = usage(&models);
            let cost = Rates::default().parts(PricedUsage::total(&usage), compute_ms);
            let hold = MicroCredits::from_micro(hold);
            let deduction = if is_free { MicroCredits::ZERO } else { settle(hold, cost.total()).deduction };
            let charged = ChargeInputs { usage: &usage, compute_ms, cost, is_free, deduction };
            let now = Timestamp::from_epoch_ms(1_795_420_800_000);
            let record = CostRecord {
                id: TransactionId::new(now, 1),
                at: now,
                run_id: RunId::new(now, 1),
                verification_id: None,
                work_order_id: None,
                outcome: Some(RunStatus::Failed),
                tenant_context: None,
                attribution: None,
                is_refund: false,
                price_list: None,
                parts: charged.parts(Some(RunStatus::Failed)),
            };
            let total = record.total();
            prop_assert_eq!(total.credits_micro, deduction.micro());
            prop_assert_eq!(total.model_micro, cost.model.micro());
            prop_assert_eq!(total.compute_micro, cost.compute.micro());
            prop_assert_eq!((total.runs, total.failed), (1, 1));
            for part in &record.parts {
                let of = &part.measures;
                let sum = of.model_micro + of.compute_micro - of.capped_micro - of.free_micro;
                prop_assert_eq!(sum, of.credits_micro);
                prop_assert!(of.credits_micro >= 0);
            }
            let amount = MicroCredits::from_micro(deduction.micro() * share / 1_000);
            let id = TransactionId::new(now, 2);
            let refund = CostRecord::refund(&id, (&record.run_id, amount), Some(&record));
            prop_assert_eq!(refund.total().refunds_micro, amount.micro());
            prop_assert_eq!(refund.total().runs, 0);
        }
    }
}
