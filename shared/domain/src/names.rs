//! The names of enums' variants on the wire. strum derives them from one attribute beside serde's;
//! the test holds the two equal.

use strum::VariantArray;

use crate::agent::AgentType;
use crate::agent::answer::ServiceTier;
use crate::api_key::Scope;
use crate::budget::{OnLimit, Period};
use crate::control::Provider;
use crate::cost::report::Bucket;
use crate::environment::{RegistryKind, SecretPhase, Size};
use crate::forge::ForgeKind;
use crate::inbox::delivery::{InboxOutcome, TriggerResultKind};
use crate::inbox::{DuplicateRule, InboxKind, SignatureEncoding};
use crate::ledger::TransactionType;
use crate::profile::{Baseline, GitMode, StrategyType};
use crate::pull_request::PullRequestStatus;
use crate::run::{RunErrorCode, RunStatus};
use crate::schedule::{CatchUp, FiringResult, OriginKind, Overlap, PauseReason};
use crate::trigger::{
    OnForeign, ReviewState, TriggerAction, TriggerEvent, TriggerPauseReason, TriggerPermission,
};
use crate::webhook::{DeliveryStatus, WebhookKind};
use crate::work_order::WorkOrderStatus;

/// Every variant of an enum, in the order of its declaration.
pub(crate) const fn variants<T: VariantArray + Copy, const N: usize>() -> [T; N] {
    match T::VARIANTS.first_chunk() {
        Some(all) => *all,
        None => panic!("there are fewer variants than that"),
    }
}

macro_rules! names {
    ($($name:ident),* $(,)?) => {
        $(impl $name {
            /// Every variant, in the order of the documentation.
            pub const ALL: [$name; $name::VARIANTS.len()] = variants();

            /// The name on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                self.into()
            }

            /// The variant of that name, if there is one.
            #[must_use]
            pub fn parse(name: &str) -> Option<$name> {
                name.parse().ok()
            }
        })*
    };
}

macro_rules! names_as_serde_has_them {
    ($($name:ident),* $(,)?) => {
        names!($($name),*);

        #[cfg(test)]
        #[test]
        fn every_name_is_the_one_that_serde_writes() {
            $(for of in $name::ALL {
                let written = serde_json::to_value(of).unwrap();
                assert_eq!(written, of.as_str());
            })*
        }
    };
}

names!(Scope, ServiceTier);

names_as_serde_has_them!(
    AgentType,
    Baseline,
    Bucket,
    CatchUp,
    DeliveryStatus,
    DuplicateRule,
    FiringResult,
    ForgeKind,
    GitMode,
    InboxKind,
    InboxOutcome,
    OnForeign,
    OnLimit,
    OriginKind,
    Overlap,
    PauseReason,
    Period,
    Provider,
    PullRequestStatus,
    RegistryKind,
    ReviewState,
    RunErrorCode,
    RunStatus,
    SecretPhase,
    SignatureEncoding,
    Size,
    StrategyType,
    TransactionType,
    TriggerAction,
    TriggerEvent,
    TriggerPauseReason,
    TriggerPermission,
    TriggerResultKind,
    WebhookKind,
    WorkOrderStatus,
);
