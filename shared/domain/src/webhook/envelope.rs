//! The body of an event for a receiver: the envelope, and the contract's part of the timeline's
//! data. Created once per event, so that all attempts send the same bytes.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::event::TimelineEvent;
use crate::{EventId, Timestamp};

/// Of a plugin's result, what receivers get; the timeline has the single checks besides.
const RESULT_FIELDS: [&str; 4] = ["pluginId", "level", "status", "summary"];

/// A delivery's body.
#[derive(Debug, Serialize)]
struct Envelope<'a> {
    id: &'a EventId,
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: Timestamp,
    data: Value,
}

/// The body of an event of a run's timeline, as it is signed and sent.
///
/// # Errors
/// When it cannot be written as JSON, which no event gives cause for.
pub fn body(id: &EventId, event: &TimelineEvent) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Envelope {
        id,
        kind: &event.kind,
        timestamp: event.timestamp,
        data: payload(event.data.clone()),
    })
}

/// The body of an event about a webhook itself, such as
/// [`super::TEST_EVENT`].
///
/// # Errors
/// As [`body`].
pub fn body_of(
    id: &EventId,
    kind: &str,
    at: Timestamp,
    data: Value,
) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Envelope {
        id,
        kind,
        timestamp: at,
        data,
    })
}

fn payload(mut data: Value) -> Value {
    let results = data.get_mut("results").and_then(Value::as_array_mut);
    for result in results.into_iter().flatten() {
        if let Some(fields) = result.as_object_mut() {
            *fields = std::mem::take(fields)
                .into_iter()
                .filter(|(name, _)| RESULT_FIELDS.contains(&name.as_str()))
                .collect::<Map<_, _>>();
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_receiver_gets_the_envelope_and_of_results_what_the_contract_has() {
        let at = Timestamp::from_epoch_ms(0);
        let id = EventId::new(at, 1);
        let event = TimelineEvent {
            sequence: 7,
            kind: "verification.failed".to_owned(),
            timestamp: at,
            data: json!({
                "iteration": 1,
                "results": [{
                    "pluginId": "built-in:tests", "level": "unit", "status": "failed",
                    "summary": "1 of 2", "checks": [{"name": "a"}], "durationMs": 3,
                }],
                "runId": "run_x",
            }),
        };
        let body: Value = serde_json::from_str(&body(&id, &event).unwrap()).unwrap();
        let expected = json!({
            "id": id, "type": "verification.failed", "timestamp": at,
            "data": {
                "iteration": 1,
                "results": [{
                    "pluginId": "built-in:tests", "level": "unit", "status": "failed",
                    "summary": "1 of 2",
                }],
                "runId": "run_x",
            },
        });
        assert_eq!(body, expected);
    }
}
