//! Verifies an audit from the responses alone: a change, removal, addition or move of anything that
//! the chain covers breaks a link, and the first broken one is named.
//!
//! Everything is compared as received, field by field, without trust in the input. An attacker who
//! can rewrite all of it can build a new chain; a previously stored head reveals that, too.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Snapshot, canonical_hash, changes};
use crate::{Error, RunId};

/// The API's responses about a run's configuration.
#[derive(Debug, Clone, Copy)]
pub struct ServedAudit<'a> {
    /// The run that was asked for.
    pub run: &'a RunId,
    /// The data of `GET /api/v1/audit/runs/{runId}`.
    pub audit: &'a Value,
    /// The data of `GET /api/v1/audit/runs/{runId}/snapshots`.
    pub snapshots: &'a Value,
    /// A head of the chain that was noted before; the chain may have grown since.
    pub noted_head: Option<&'a str>,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainCheck {
    /// The hash of each snapshot as it was served, up to the first broken link.
    pub hashes: Vec<String>,
    /// The first link that does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<BrokenLink>,
}

/// A value that differs from the chain's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BrokenLink {
    /// The snapshot that holds it, from 1; absent for a field of the run's audit or of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<usize>,
    /// Its name.
    pub field: &'static str,
    /// The required value; null if it must be absent.
    pub expected: Value,
    /// The value; null if it is absent.
    pub found: Value,
}

/// Checks a run's chain of snapshots, and that its audit agrees with them.
///
/// # Errors
/// Internal, if there is no canonical JSON of something.
pub fn check(served: &ServedAudit<'_>) -> Result<ChainCheck, Error> {
    let mut checked = ChainCheck {
        hashes: Vec::new(),
        broken: None,
    };
    checked.broken = walk(served, &mut checked.hashes)?.err();
    Ok(checked)
}

type Link = Result<(), BrokenLink>;

fn walk(served: &ServedAudit<'_>, hashes: &mut Vec<String>) -> Result<Link, Error> {
    let nothing = Vec::new();
    let items = served.snapshots["items"].as_array().unwrap_or(&nothing);
    for (number, item) in (1..).zip(items) {
        let hash = canonical_hash(item)?;
        let config_hash = json!(canonical_hash(&item["config"])?);
        let linked = at(Some(number), "configHash", config_hash, item)
            .and_then(|()| at(Some(number), "previousHash", json!(hashes.last()), item));
        hashes.push(hash);
        if linked.is_err() {
            return Ok(linked);
        }
    }
    Ok(link_of(served, items, hashes))
}

/// The part of the run's audit that repeats its snapshots.
fn link_of(served: &ServedAudit<'_>, items: &[Value], hashes: &[String]) -> Link {
    let audit = served.audit;
    let of = |item: Option<&Value>, name: &str| item.map_or(Value::Null, |item| item[name].clone());
    at(None, "chainHead", json!(hashes.last()), audit)?;
    at(None, "total", json!(items.len()), served.snapshots)?;
    at(None, "snapshotsCount", json!(items.len()), audit)?;
    at(None, "runId", json!(served.run), audit)?;
    at(None, "configHash", of(items.last(), "configHash"), audit)?;
    at(None, "initialConfig", of(items.first(), "config"), audit)?;
    at(None, "finalConfig", of(items.last(), "config"), audit)?;
    at(None, "changes", expected_changes(items)?, audit)?;
    match served.noted_head {
        Some(noted) if !hashes.iter().any(|hash| hash == noted) => Err(BrokenLink {
            snapshot: None,
            field: "chainHead",
            expected: json!(noted),
            found: json!(hashes.last()),
        }),
        _ => Ok(()),
    }
}

/// The changes that follow from the snapshots.
fn expected_changes(items: &[Value]) -> Result<Value, BrokenLink> {
    let read = (1..).zip(items).map(|(number, item)| {
        serde_json::from_value::<Snapshot>(item.clone()).map_err(|why| BrokenLink {
            snapshot: Some(number),
            field: "config",
            expected: json!("a snapshot"),
            found: json!(why.to_string()),
        })
    });
    let snapshots: Vec<Snapshot> = read.collect::<Result<_, _>>()?;
    Ok(json!(changes(&snapshots)))
}

/// One field of what was served. An absent one is null, and a null that was served is not absent.
fn at(snapshot: Option<usize>, field: &'static str, expected: Value, of: &Value) -> Link {
    let found = of.get(field);
    let is_as_expected = match found {
        None => expected.is_null(),
        Some(found) => !expected.is_null() && *found == expected,
    };
    if is_as_expected {
        Ok(())
    } else {
        Err(BrokenLink {
            snapshot,
            field,
            found: found.cloned().unwrap_or_default(),
            expected,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::{SnapshotId, Timestamp};

    const FIELDS: [&str; 7] = [
        "chainHead",
        "snapshotsCount",
        "runId",
        "configHash",
        "initialConfig",
        "finalConfig",
        "changes",
    ];

    fn run() -> RunId {
        RunId::new(Timestamp::from_epoch_ms(1), 1)
    }

    /// Audit and snapshots of a run whose profile changed twice.
    fn served() -> (Value, Value) {
        let mut profile = Profile::default_profile();
        let mut taken: Vec<Snapshot> = Vec::new();
        let mut head = None;
        for iteration in 1..=3 {
            profile.loop_strategy.base_iterations = 3 + iteration;
            profile.git_ops.labels = vec![format!("of {iteration}")];
            let now = Timestamp::from_epoch_ms(i64::from(iteration));
            let id = SnapshotId::new(now, u128::from(iteration));
            let before = taken.last().zip(head.as_ref());
            let (snapshot, next) = Snapshot::take(id, iteration, &profile, before, now).unwrap();
            taken.push(snapshot);
            head = Some(next);
        }
        let (first, last) = (&taken[0], &taken[2]);
        let audit = json!({
            "runId": run(), "chainHead": head.unwrap().chain_head, "snapshotsCount": 3,
            "configHash": last.config_hash, "initialConfig": first.config,
            "finalConfig": last.config, "changes": changes(&taken),
        });
        (audit, json!({ "items": taken, "total": 3 }))
    }

    fn broken(audit: &Value, snapshots: &Value) -> Option<BrokenLink> {
        let run = run();
        let served = ServedAudit {
            run: &run,
            audit,
            snapshots,
            noted_head: None,
        };
        check(&served).unwrap().broken
    }

    #[test]
    fn the_first_broken_link_of_a_chain_is_named_with_what_it_must_be() {
        let (audit, snapshots) = served();
        assert_eq!(broken(&audit, &snapshots), None);
        let mut altered = snapshots.clone();
        altered["items"][1]["createdAt"] = json!("2026-11-20T08:00:00.000Z");
        let link = broken(&audit, &altered).unwrap();
        assert_eq!((link.snapshot, link.field), (Some(3), "previousHash"));
        assert_eq!(link.found, snapshots["items"][2]["previousHash"]);
        assert_eq!(
            link.expected,
            json!(canonical_hash(&altered["items"][1]).unwrap())
        );
        let mut altered = snapshots.clone();
        altered["items"][1]["config"]["gitOps"]["labels"][0] = json!("x");
        let link = broken(&audit, &altered).unwrap();
        assert_eq!((link.snapshot, link.field), (Some(2), "configHash"));
        let mut nameless = snapshots.clone();
        nameless["items"][0]["previousHash"] = Value::Null;
        let link = broken(&audit, &nameless).unwrap();
        assert_eq!((link.snapshot, link.field), (Some(1), "previousHash"));
    }

    #[test]
    fn a_snapshot_that_is_moved_removed_or_doubled_and_a_field_that_is_gone_break_a_chain() {
        let (audit, snapshots) = served();
        for change in [
            |items: &mut Vec<Value>| items.swap(0, 1),
            |items: &mut Vec<Value>| items.swap(1, 2),
            |items: &mut Vec<Value>| drop(items.remove(0)),
            |items: &mut Vec<Value>| drop(items.remove(1)),
            |items: &mut Vec<Value>| drop(items.pop()),
            |items: &mut Vec<Value>| items.push(items[2].clone()),
        ] {
            let mut altered = snapshots.clone();
            change(altered["items"].as_array_mut().unwrap());
            altered["total"] = json!(altered["items"].as_array().unwrap().len());
            assert!(broken(&audit, &altered).is_some(), "{altered:#}");
        }
        for field in FIELDS {
            let mut altered = audit.clone();
            altered.as_object_mut().unwrap().remove(field);
            assert_eq!(broken(&altered, &snapshots).unwrap().field, field);
        }
    }

    #[test]
    fn a_chain_that_was_made_anew_does_not_lead_to_a_head_that_was_noted() {
        let (audit, snapshots) = served();
        let run = run();
        let with = |noted: &str| {
            let served = ServedAudit {
                run: &run,
                audit: &audit,
                snapshots: &snapshots,
                noted_head: Some(noted),
            };
            check(&served).unwrap().broken
        };
        let earlier = snapshots["items"][1]["previousHash"].as_str().unwrap();
        assert_eq!(with(earlier), None, "a chain grows");
        assert_eq!(with(audit["chainHead"].as_str().unwrap()), None);
        assert_eq!(with(&"0".repeat(64)).unwrap().field, "chainHead");
    }

    #[test]
    fn a_run_without_a_configuration_has_an_empty_chain() {
        let audit = json!({ "runId": run(), "changes": [], "snapshotsCount": 0 });
        let none = json!({ "items": [], "total": 0 });
        assert_eq!(broken(&audit, &none), None);
        let (with_head, _) = served();
        assert_eq!(broken(&with_head, &none).unwrap().field, "chainHead");
    }
}
