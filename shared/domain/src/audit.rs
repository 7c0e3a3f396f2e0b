//! The audit of a run's configuration: a snapshot of its resolved profile before it begins, and one
//! more at each iteration that finds it changed.
//!
//! The snapshots of a run are a hash chain: each names the hash of its complete predecessor, as
//! served, so a reader who stored the last hash detects a change of an earlier one. Hashes are
//! lower-case hex SHA-256 of RFC 8785 canonical JSON.

pub mod chain;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::profile::Profile;
use crate::{Error, SnapshotId, Timestamp};

/// The hash of a value's canonical JSON.
///
/// # Errors
/// Internal, if it has none.
pub fn canonical_hash(of: &impl Serialize) -> Result<String, Error> {
    let canonical = serde_json_canonicalizer::to_vec(of)
        .map_err(|e| Error::internal(format!("no canonical JSON: {e}")))?;
    Ok(hex::encode(Sha256::digest(canonical)))
}

/// A run's configuration at one moment; its JSON is the item that is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ConfigSnapshot)]
pub struct Snapshot {
    /// Its id.
    pub id: SnapshotId,
    /// The iteration that was about to begin.
    pub iteration: u32,
    /// The hash of `config`.
    pub config_hash: String,
    /// The hash of the snapshot before it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_hash: Option<String>,
    /// The resolved profile.
    #[schema(value_type = Profile)]
    pub config: Value,
    /// When it was taken.
    pub created_at: Timestamp,
}

/// What is known of a run's snapshots without reading them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditHead {
    /// How many there are.
    pub snapshots: u32,
    /// How many values changed between them.
    pub changes: u32,
    /// The hash of the last one's configuration.
    pub config_hash: String,
    /// The hash of the last one.
    pub chain_head: String,
}

impl Snapshot {
    /// The snapshot of a profile, with the head of the chain as it is then. `before` is the last
    /// snapshot before it with the head as it was.
    ///
    /// # Errors
    /// Internal, if there is no canonical JSON of it.
    pub fn take(
        id: SnapshotId,
        iteration: u32,
        profile: &Profile,
        before: Option<(&Snapshot, &AuditHead)>,
        now: Timestamp,
    ) -> Result<(Snapshot, AuditHead), Error> {
        let config = serde_json::to_value(profile).map_err(Error::internal)?;
        let snapshot = Snapshot {
            id,
            iteration,
            config_hash: canonical_hash(&config)?,
            previous_hash: before.map(|(_, head)| head.chain_head.clone()),
            config,
            created_at: now,
        };
        let changed = before.map_or(0, |(last, _)| {
            differences(&last.config, &snapshot.config).len()
        });
        let known = before.map(|(_, head)| head);
        let head = AuditHead {
            snapshots: known.map_or(0, |head| head.snapshots) + 1,
            changes: known.map_or(0, |head| head.changes)
                + u32::try_from(changed).unwrap_or(u32::MAX),
            config_hash: snapshot.config_hash.clone(),
            chain_head: canonical_hash(&snapshot)?,
        };
        Ok((snapshot, head))
    }

    /// The profile in it.
    ///
    /// # Errors
    /// Internal, if what is stored is none.
    pub fn profile(&self) -> Result<Profile, Error> {
        serde_json::from_value(self.config.clone())
            .map_err(|e| Error::internal(format!("a snapshot holds no profile: {e}")))
    }
}

/// A value that is another one from an iteration on.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigChange {
    /// The first iteration with the new value.
    pub iteration: u32,
    /// Its dotted path.
    pub path: String,
    /// The value before; null if it was absent.
    pub previous_value: Value,
    /// The value; null if it is absent.
    pub new_value: Value,
    /// When the run took it over.
    pub changed_at: Timestamp,
}

/// The changes from snapshot to snapshot, in their order.
#[must_use]
pub fn changes(snapshots: &[Snapshot]) -> Vec<ConfigChange> {
    let steps = snapshots.windows(2).flat_map(|two| {
        let differences = differences(&two[0].config, &two[1].config).into_iter();
        differences.map(|(path, previous_value, new_value)| ConfigChange {
            iteration: two[1].iteration,
            path,
            previous_value,
            new_value,
            changed_at: two[1].created_at,
        })
    });
    steps.collect()
}

/// The paths of changes, each once and in order.
#[must_use]
pub fn changed_paths(changes: &[ConfigChange]) -> BTreeSet<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

/// Where two configurations differ: objects deep, everything else as a whole.
fn differences(old: &Value, new: &Value) -> Vec<(String, Value, Value)> {
    let mut found = Vec::new();
    differ("", Some(old), Some(new), &mut found);
    found
}

fn differ(
    path: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    found: &mut Vec<(String, Value, Value)>,
) {
    if let (Some(Value::Object(old)), Some(Value::Object(new))) = (old, new) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let inner = match path {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            differ(&inner, old.get(name), new.get(name), found);
        }
    } else if old != new {
        let or_null = |value: Option<&Value>| value.cloned().unwrap_or(Value::Null);
        found.push((path.to_owned(), or_null(old), or_null(new)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn take(
        iteration: u32,
        profile: &Profile,
        before: Option<(&Snapshot, &AuditHead)>,
    ) -> (Snapshot, AuditHead) {
        let now = Timestamp::from_epoch_ms(i64::from(iteration));
        let id = SnapshotId::new(now, u128::from(iteration));
        Snapshot::take(id, iteration, profile, before, now).unwrap()
    }

    #[test]
    fn canonical_json_is_that_of_rfc_8785() {
        // Numbers as ECMAScript writes them, names in order, no white space.
        let value = json!({ "b": 1e21, "a": [1.0, 0.000_001, -0.0], "\u{20ac}": "\u{1f}\"" });
        let text = serde_json_canonicalizer::to_string(&value).unwrap();
        assert_eq!(
            text,
            "{\"a\":[1,0.000001,0],\"b\":1e+21,\"\u{20ac}\":\"\\u001f\\\"\"}"
        );
        let empty = canonical_hash(&json!({})).unwrap();
        assert_eq!(
            empty,
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }

    #[test]
    fn a_chain_of_snapshots_names_the_hash_of_each_one_before() {
        let mut profile = Profile::default_profile();
        let (first, head) = take(1, &profile, None);
        assert_eq!((first.previous_hash.as_ref(), head.changes), (None, 0));
        assert_eq!(first.profile().unwrap(), profile);
        profile.loop_strategy.base_iterations = 4;
        profile.git_ops.labels = vec!["a".to_owned()];
        profile.execution_limits.max_total_tokens = Some(5);
        let (second, last) = take(3, &profile, Some((&first, &head)));
        assert_eq!(second.previous_hash, Some(canonical_hash(&first).unwrap()));
        assert_eq!(last.chain_head, canonical_hash(&second).unwrap());
        assert_eq!((last.snapshots, last.changes), (2, 3));
        let all = changes(&[first, second]);
        let found: Vec<_> = (all.iter())
            .map(|c| {
                (
                    c.iteration,
                    c.path.as_str(),
                    &c.previous_value,
                    &c.new_value,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                (3, "executionLimits.maxTotalTokens", &json!(null), &json!(5)),
                (3, "gitOps.labels", &json!([]), &json!(["a"])),
                (3, "loopStrategy.baseIterations", &json!(3), &json!(4)),
            ]
        );
    }
}
