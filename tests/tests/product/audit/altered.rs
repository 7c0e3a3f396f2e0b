//! The result of verifying a chain after a change of any part.

use awo_domain::RunId;
use awo_domain::audit::chain::{ServedAudit, check};
use awo_tests::client::Client;
use serde_json::{Value, json};

use super::chain::read;

/// What the chain says nothing about: whatever else is in a run's audit, it covers.
const NOT_COVERED: [&str; 5] = [
    "workOrderId",
    "startedAt",
    "completedAt",
    "iterations",
    "stop",
];

/// Every place in a value, from the outside in.
fn places(value: &Value) -> Vec<String> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => (members.iter())
            .map(|(name, inner)| {
                (
                    format!("/{}", name.replace('~', "~0").replace('/', "~1")),
                    inner,
                )
            })
            .collect(),
        Value::Array(items) => (items.iter().enumerate())
            .map(|(at, inner)| (format!("/{at}"), inner))
            .collect(),
        _ => Vec::new(),
    };
    let mut all = Vec::new();
    for (at, inner) in inner {
        all.push(at.clone());
        all.extend(places(inner).iter().map(|below| format!("{at}{below}")));
    }
    all
}

/// Another value of the same kind.
fn another(value: &Value) -> Value {
    match value {
        Value::Null => json!(0),
        Value::Bool(is) => json!(!is),
        Value::Number(number) => json!(number.as_f64().unwrap() + 1.0),
        Value::String(text) => json!(format!("{text}x")),
        Value::Array(items) => json!([items.as_slice(), &[json!("x")]].concat()),
        Value::Object(_) => {
            let mut more = value.clone();
            more["x"] = json!(1);
            more
        }
    }
}

/// Takes what stands at a place away.
fn without(value: &Value, place: &str) -> Value {
    let mut rest = value.clone();
    let (parent, name) = place.rsplit_once('/').unwrap();
    match rest.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(&name.replace("~1", "/").replace("~0", "~"))),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        other => panic!("{other}"),
    }
    rest
}

/// The chain of a run holds, and with any single field of the answers altered or taken away it
/// does not.
pub async fn every_single_alteration_is_found(client: &Client, run: &str) {
    let audit = read(client, run, "").await;
    let snapshots = read(client, run, "/snapshots").await;
    let run = RunId::parse(run).unwrap();
    let is_whole = |audit: &Value, snapshots: &Value| {
        let noted_head = None;
        let served = ServedAudit {
            run: &run,
            audit,
            snapshots,
            noted_head,
        };
        check(&served).unwrap().broken.is_none()
    };
    assert!(is_whole(&audit, &snapshots));
    let covered = |place: &String| {
        let field = place.split('/').nth(1).unwrap();
        !NOT_COVERED.contains(&field)
    };
    let mut tried = 0;
    for place in places(&audit).into_iter().filter(covered) {
        let mut altered = audit.clone();
        let there = altered.pointer_mut(&place).unwrap();
        *there = another(there);
        assert!(!is_whole(&altered, &snapshots), "{place}");
        assert!(!is_whole(&without(&audit, &place), &snapshots), "{place}");
        tried += 1;
    }
    for place in places(&snapshots) {
        let mut altered = snapshots.clone();
        let there = altered.pointer_mut(&place).unwrap();
        *there = another(there);
        assert!(!is_whole(&audit, &altered), "{place}");
        assert!(!is_whole(&audit, &without(&snapshots, &place)), "{place}");
        tried += 1;
    }
    assert!(tried > 100, "{tried}");
}
