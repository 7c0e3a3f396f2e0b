//! Identifiers: a prefix for the kind, then a 26-character lower-case ULID, so that ids sort by
//! creation. The type system separates ids of different kinds.

use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::time::Timestamp;

/// A ULID in the lower-case spelling of this API.
///
/// `random` is the caller's randomness; only its low 80 bits count.
#[must_use]
pub fn ulid(at: Timestamp, random: u128) -> String {
    let ms = u64::try_from(at.epoch_ms()).unwrap_or(0);
    ulid::Ulid::from_parts(ms, random)
        .to_string()
        .to_ascii_lowercase()
}

/// True for exactly what [`ulid`] writes: other spellings of the same number are not ids.
fn is_ulid(text: &str) -> bool {
    text.len() == 26
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
        && ulid::Ulid::from_string(text)
            .is_ok_and(|parsed| parsed.to_string().eq_ignore_ascii_case(text))
}

/// The text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not an id of the form {prefix}<26 lower-case letters and digits>")]
pub struct NotAnId {
    prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The letters before the ULID.
            pub const PREFIX: &'static str = $prefix;

            /// A new id for something made at `at`.
            #[must_use]
            pub fn new(at: Timestamp, random: u128) -> Self {
                Self(format!("{}{}", $prefix, ulid(at, random)))
            }

            /// Reads an id from outside.
            ///
            /// # Errors
            /// [`NotAnId`] for anything that [`Self::new`] does not write.
            pub fn parse(text: &str) -> Result<Self, NotAnId> {
                match text.strip_prefix($prefix) {
                    Some(rest) if is_ulid(rest) => Ok(Self(text.to_owned())),
                    _ => Err(NotAnId { prefix: $prefix }),
                }
            }

            /// The time of its creation, which its first ten characters encode.
            #[must_use]
            pub fn made_at(&self) -> Timestamp {
                let ulid = self.0.strip_prefix($prefix).and_then(|text| ulid::Ulid::from_string(text).ok());
                let ms = ulid.map_or(0, |ulid| ulid.timestamp_ms());
                Timestamp::from_epoch_ms(i64::try_from(ms).unwrap_or(i64::MAX))
            }

            /// The whole id, prefix included.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;
            fn try_from(text: String) -> Result<Self, NotAnId> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let pattern = concat!("^", $prefix, "[0-9a-z]{26}$");
                crate::schema::text(pattern, concat!("An id: `", $prefix, "` and a ULID."))
            }
        }

        impl ToSchema for $name {}
    };
}

id!(
    /// An organization: the owner of everything.
    OrgId,
    "org_"
);
id!(
    /// A work order.
    WorkOrderId,
    "wo_"
);
id!(
    /// One execution attempt of a work order.
    RunId,
    "run_"
);
id!(
    /// An entry of the credit ledger.
    TransactionId,
    "txn_"
);
id!(
    /// A verification that a client asked for.
    VerificationId,
    "ver_"
);
id!(
    /// A configuration snapshot of a run.
    SnapshotId,
    "snap_"
);
id!(
    /// A webhook.
    WebhookId,
    "wh_"
);
id!(
    /// An event for webhooks: the same at each attempt, by which receivers know that
    /// they have it already.
    EventId,
    "evt_"
);
id!(
    /// The delivery of an event to a webhook.
    DeliveryId,
    "dlv_"
);
id!(
    /// An attempt of a delivery.
    AttemptId,
    "att_"
);

id!(
    /// A budget.
    BudgetId,
    "bud_"
);

id!(
    /// A schedule.
    ScheduleId,
    "sch_"
);

id!(
    /// An inbox.
    InboxId,
    "inb_"
);
id!(
    /// A delivery to an inbox.
    InboxDeliveryId,
    "idl_"
);
id!(
    /// A trigger.
    TriggerId,
    "trg_"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_creation() {
        let early = RunId::new(Timestamp::from_epoch_ms(1_000), u128::MAX);
        let late = RunId::new(Timestamp::from_epoch_ms(1_001), 0);
        assert!(early < late);
    }

    #[test]
    fn an_id_reads_back_and_nothing_else_does() {
        let id = WorkOrderId::new(Timestamp::from_epoch_ms(1_700_000_000_000), 7);
        assert_eq!(WorkOrderId::parse(id.as_str()).unwrap(), id);
        assert_eq!(id.made_at().epoch_ms(), 1_700_000_000_000);
        let upper = id.as_str().to_ascii_uppercase();
        let other_kind = id.as_str().replace("wo_", "run_");
        let too_large = "wo_8zzzzzzzzzzzzzzzzzzzzzzzzz";
        for bad in [
            "",
            "wo_",
            "wo_1",
            upper.as_str(),
            other_kind.as_str(),
            too_large,
            "wo_../../../../etc/passwd00000",
        ] {
            assert!(WorkOrderId::parse(bad).is_err(), "{bad}");
        }
    }
}
