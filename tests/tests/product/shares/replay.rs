//! Replays a queue's history with the function that determines the turn.
//!
//! Arrivals and dispatches are observed from outside, so not every moment is known: a work order
//! waits from some moment between its `createdAt`, which is read before it is written, and the
//! arrival of the response. A run's `startedAt` is read after the queue was read and before the
//! slot was written, and a dispatch that was overtaken is lost and reads again. So a dispatch has
//! seen every work order whose response arrived before the previous dispatch read its clock, and
//! may or may not have seen a later one. Those can only have taken the turn from the dispatched
//! one; hence it must be first among the certain ones and itself.

use awo_domain::queue::{WaitingEntry, fair_order};
use awo_domain::{Timestamp, WorkOrderId};
use awo_tests::client::Client;
use serde_json::Value;

/// A work order that came.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// As the queue sees it.
    pub entry: WaitingEntry,
    /// When its answer was there.
    pub answered_at: Timestamp,
}

impl Arrival {
    /// The arrival of a work order that was just answered.
    pub fn of(order: &Value, answered_at: Timestamp) -> Arrival {
        let tenant = order["tenantContext"]["tenantId"].as_str();
        Arrival {
            entry: WaitingEntry {
                waits_for_budget: false,
                work_order_id: WorkOrderId::parse(order["id"].as_str().unwrap()).unwrap(),
                enqueued_at: time(&order["createdAt"]).unwrap(),
                tenant: tenant.unwrap_or_default().to_owned(),
            },
            answered_at,
        }
    }
}

/// A run that got a slot.
#[derive(Debug, Clone)]
pub struct Dispatch {
    pub work_order_id: WorkOrderId,
    pub at: Timestamp,
    pub status: String,
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str().map(|text| Timestamp::parse(text).unwrap())
}

/// Every run that got a slot, by `startedAt`.
pub async fn dispatches(client: &Client) -> Vec<Dispatch> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client
            .get(&format!("/v1/runs?limit=100{cursor}"))
            .await
            .body;
        let runs = page["runs"].as_array().unwrap();
        all.extend(runs.iter().filter_map(|run| {
            Some(Dispatch {
                work_order_id: WorkOrderId::parse(run["workOrderId"].as_str()?).unwrap(),
                at: time(&run["startedAt"])?,
                status: run["status"].as_str()?.to_owned(),
            })
        }));
        let Some(next) = page["nextCursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
    }
    all.sort_by_key(|dispatch| dispatch.at);
    all
}

/// Says where the slots were given out of turn, if anywhere; else in which order. Dispatches of
/// the same millisecond may have come in any order.
pub fn replay(arrivals: &[Arrival], dispatches: &[Dispatch]) -> Result<Vec<WaitingEntry>, String> {
    let mut waiting: Vec<&Arrival> = arrivals.iter().collect();
    let mut left: Vec<&Dispatch> = dispatches.iter().collect();
    let mut served: Vec<WaitingEntry> = Vec::new();
    let mut last_at = None;
    while let Some(earliest) = left.first().map(|dispatch| dispatch.at) {
        let last = served.last().map(|entry| entry.tenant.as_str());
        let at_once = left.iter().take_while(|dispatch| dispatch.at == earliest);
        let in_turn = at_once.enumerate().find_map(|(i, dispatch)| {
            let came = position(&waiting, dispatch)?;
            is_in_turn(&waiting, came, last, last_at).then_some((i, came))
        });
        let Some((i, came)) = in_turn else {
            return Err(format!("after {last:?} at {last_at:?}: {:?}", left.first()));
        };
        left.remove(i);
        served.push(waiting.remove(came).entry.clone());
        last_at = Some(earliest);
    }
    Ok(served)
}

fn position(waiting: &[&Arrival], dispatch: &Dispatch) -> Option<usize> {
    let is_it = |arrival: &&Arrival| arrival.entry.work_order_id == dispatch.work_order_id;
    waiting.iter().position(is_it)
}

/// True if this one is first among those that were seen for certain, and itself.
fn is_in_turn(
    waiting: &[&Arrival],
    came: usize,
    last: Option<&str>,
    last_at: Option<Timestamp>,
) -> bool {
    let certain = |arrival: &Arrival| last_at.is_some_and(|at| arrival.answered_at < at);
    let seen: Vec<WaitingEntry> = waiting
        .iter()
        .enumerate()
        .filter(|(i, arrival)| *i == came || certain(arrival))
        .map(|(_, arrival)| arrival.entry.clone())
        .collect();
    let first = fair_order(&seen, last).first().copied();
    first.is_some_and(|first| first.work_order_id == waiting[came].entry.work_order_id)
}

#[test]
fn a_replay_notices_a_slot_that_was_given_out_of_turn() {
    let at = Timestamp::from_epoch_ms;
    let arrival = |tenant: &str, ms| Arrival {
        entry: WaitingEntry {
            waits_for_budget: false,
            work_order_id: WorkOrderId::new(at(ms), 0),
            enqueued_at: at(ms),
            tenant: tenant.to_owned(),
        },
        answered_at: at(ms + 1),
    };
    let arrivals = [arrival("a", 1), arrival("a", 2), arrival("b", 3)];
    let given = |order: [usize; 3], times: [i64; 3]| -> Vec<Dispatch> {
        let dispatch = |(i, ms): (usize, i64)| Dispatch {
            work_order_id: arrivals[i].entry.work_order_id.clone(),
            at: at(ms),
            status: "building".to_owned(),
        };
        order.into_iter().zip(times).map(dispatch).collect()
    };
    let later = [10, 11, 12];
    assert!(replay(&arrivals, &given([0, 2, 1], later)).is_ok());
    assert!(
        replay(&arrivals, &given([0, 1, 2], later)).is_err(),
        "b was passed over"
    );
    assert!(
        replay(&arrivals, &given([1, 2, 0], [10, 11, 12])).is_ok(),
        "what came first is unknown"
    );
    assert!(
        replay(&arrivals, &given([0, 1, 2], [10, 10, 10])).is_ok(),
        "times of one moment"
    );
    assert!(
        replay(&arrivals, &given([0, 1, 2], [3, 4, 9])).is_ok(),
        "b came while a was chosen"
    );
}
