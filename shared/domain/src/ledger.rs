//! The credit ledger's arithmetic: a hold is made when a run is created and resolved exactly once,
//! hold = deduction + release, and a run never costs more than its hold.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::environment::Size;
use crate::money::{MicroCredits, NanoUsd};

/// The compute that a hold covers at least, at the size of its task: a task takes a minute to start, and that
/// of a hold for less would be paid by nobody.
pub const LEAST_HOLD_MS: i64 = 60_000;

/// The kind of an entry; it implies the direction, amounts are always positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CreditTransactionType)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum TransactionType {
    /// Takes credits: the cost of a run.
    Deduction,
    /// Gives credits.
    Purchase,
    /// Gives credits back.
    Refund,
}

/// The work that a deduction or a refund is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CreditTransactionPurpose)]
pub enum Purpose {
    /// A run.
    Run,
    /// A manual verification of a run's workspace.
    Verification,
}

impl TransactionType {
    /// What an entry of this type does to the balance.
    #[must_use]
    pub fn signed(self, amount: MicroCredits) -> MicroCredits {
        match self {
            TransactionType::Deduction => MicroCredits::ZERO.minus(amount),
            TransactionType::Purchase | TransactionType::Refund => amount,
        }
    }
}

/// What things cost in this deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Credits for a US dollar of model cost.
    pub credits_per_usd: MicroCredits,
    /// Credits for a minute of compute, charged by the started second.
    pub credits_per_minute: MicroCredits,
}

impl Default for Rates {
    fn default() -> Self {
        Rates {
            credits_per_usd: MicroCredits::from_credits(100),
            credits_per_minute: MicroCredits::from_credits(1),
        }
    }
}

/// What a run costs before its hold limits it, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostParts {
    /// For models.
    pub model: MicroCredits,
    /// For compute.
    pub compute: MicroCredits,
}

impl CostParts {
    /// Both.
    #[must_use]
    pub fn total(self) -> MicroCredits {
        self.model.plus(self.compute)
    }

    /// The same as the ledger shows it of a deduction.
    #[must_use]
    pub fn breakdown(self, deduction: MicroCredits) -> Breakdown {
        Breakdown {
            model_credits: self.model,
            compute_credits: self.compute,
            capped_credits: self.total().minus(deduction),
        }
    }
}

/// The parts of a deduction: model + compute − capped = amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CostBreakdown)]
pub struct Breakdown {
    /// For models.
    pub model_credits: MicroCredits,
    /// For compute.
    pub compute_credits: MicroCredits,
    /// The amount above the hold, which is not charged.
    pub capped_credits: MicroCredits,
}

impl Rates {
    /// The same for a task of this size: compute costs in proportion to vCPU, and the deployment's
    /// rate is that of a medium one, and of one without a size.
    #[must_use]
    pub fn sized(self, size: Option<Size>) -> Rates {
        let milli_vcpu = size.unwrap_or(Size::Medium).milli_vcpu();
        let of_medium = i128::from(Size::Medium.milli_vcpu());
        let micro = i128::from(self.credits_per_minute.micro()) * i128::from(milli_vcpu);
        let micro = i64::try_from(ceil_div(micro, of_medium)).unwrap_or(i64::MAX);
        Rates {
            credits_per_minute: MicroCredits::from_micro(micro),
            ..self
        }
    }

    /// The least hold of a task of this size.
    #[must_use]
    pub fn least_hold(self, size: Option<Size>) -> MicroCredits {
        self.sized(size).cost(NanoUsd::ZERO, LEAST_HOLD_MS)
    }

    /// The cost of a run in micro-credits, each part rounded up.
    #[must_use]
    pub fn cost(&self, model_cost: NanoUsd, compute_ms: i64) -> MicroCredits {
        self.parts(model_cost, compute_ms).total()
    }

    /// The cost of a run, by its parts, each rounded up.
    #[must_use]
    pub fn parts(&self, model_cost: NanoUsd, compute_ms: i64) -> CostParts {
        let model = ceil_div(
            i128::from(model_cost.nano()) * i128::from(self.credits_per_usd.micro()),
            1_000_000_000,
        );
        let seconds = ceil_div(i128::from(compute_ms.max(0)), 1_000);
        let compute = ceil_div(seconds * i128::from(self.credits_per_minute.micro()), 60);
        let credits =
            |micro: i128| MicroCredits::from_micro(i64::try_from(micro).unwrap_or(i64::MAX));
        CostParts {
            model: credits(model),
            compute: credits(compute),
        }
    }
}

fn ceil_div(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0)
}

/// How a hold is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settlement {
    /// Taken from the balance.
    pub deduction: MicroCredits,
    /// No longer reserved, and not taken.
    pub release: MicroCredits,
}

/// Resolves a hold by what the run cost: at most the hold is taken.
#[must_use]
pub fn settle(hold: MicroCredits, cost: MicroCredits) -> Settlement {
    let deduction = cost.clamp(MicroCredits::ZERO, hold);
    Settlement {
        deduction,
        release: hold.minus(deduction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compute_costs_in_proportion_to_vcpu_and_models_cost_the_same() {
        let per_hour = |size| {
            let parts = Rates::default()
                .sized(size)
                .parts(NanoUsd::from_nano(1_000_000_000), 3_600_000);
            assert_eq!(parts.model, MicroCredits::from_credits(100));
            parts.compute
        };
        let credits = Size::ALL.map(|size| per_hour(Some(size)).to_decimal());
        assert_eq!(credits, [30.0, 60.0, 120.0, 240.0]);
        assert_eq!(per_hour(None), per_hour(Some(Size::Medium)));
    }
    use proptest::prelude::*;

    #[test]
    fn compute_is_charged_by_the_started_second() {
        let rates = Rates::default();
        assert_eq!(
            rates.cost(NanoUsd::ZERO, 60_000),
            MicroCredits::from_credits(1)
        );
        assert_eq!(
            rates.cost(NanoUsd::ZERO, 1),
            MicroCredits::from_micro(16_667)
        );
        assert_eq!(rates.cost(NanoUsd::ZERO, 0), MicroCredits::ZERO);
        assert_eq!(
            rates.cost(NanoUsd::from_nano(10_000_000), 0),
            MicroCredits::from_credits(1)
        );
    }

    proptest! {
        #[test]
        fn a_hold_is_the_sum_of_its_deduction_and_its_release(hold in 0i64..1_000_000_000_000, cost in 0i64..2_000_000_000_000) {
            let (hold, cost) = (MicroCredits::from_micro(hold), MicroCredits::from_micro(cost));
            let settled = settle(hold, cost);
            prop_assert_eq!(settled.deduction.plus(settled.release), hold);
            prop_assert!(settled.deduction <= hold && settled.deduction <= cost);
            prop_assert!(settled.release >= MicroCredits::ZERO);
        }

        #[test]
        fn model_and_compute_less_what_was_capped_is_the_deduction(
            usd in 0i64..10_000_000_000,
            ms in 0i64..100_000_000,
            hold in 0i64..2_000_000_000,
        ) {
            let parts = Rates::default().parts(NanoUsd::from_nano(usd), ms);
            let deduction = settle(MicroCredits::from_micro(hold), parts.total()).deduction;
            let shown = parts.breakdown(deduction);
            let sum = shown.model_credits.plus(shown.compute_credits).minus(shown.capped_credits);
            prop_assert_eq!(sum, deduction);
            prop_assert!(shown.capped_credits >= MicroCredits::ZERO);
        }
    }
}
