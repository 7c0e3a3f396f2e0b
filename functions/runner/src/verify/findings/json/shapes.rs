//! The parts of reports that count. What else they have is not stored.

use serde::{Deserialize, Deserializer};

/// A text that may be missing, null or of another type.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(match value {
        serde_json::Value::String(text) => text,
        serde_json::Value::Array(texts) => {
            let texts = texts.iter().filter_map(serde_json::Value::as_str);
            texts.collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JestFile {
    #[serde(default, deserialize_with = "text")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) status: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) message: String,
    #[serde(default)]
    pub(super) assertion_results: Vec<JestTest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JestTest {
    #[serde(default, deserialize_with = "text")]
    pub(super) full_name: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) title: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) status: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) failure_messages: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MochaTest {
    #[serde(default, deserialize_with = "text")]
    pub(super) full_title: String,
    #[serde(default)]
    pub(super) err: MochaError,
}

#[derive(Default, Deserialize)]
pub(super) struct MochaError {
    #[serde(default, deserialize_with = "text")]
    pub(super) message: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) stack: String,
}

#[derive(Deserialize)]
pub(super) struct PytestTest {
    #[serde(default, deserialize_with = "text")]
    pub(super) nodeid: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) outcome: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) longrepr: String,
    #[serde(default)]
    pub(super) setup: Option<PytestPhase>,
    #[serde(default)]
    pub(super) call: Option<PytestPhase>,
    #[serde(default)]
    pub(super) teardown: Option<PytestPhase>,
}

#[derive(Deserialize)]
pub(super) struct PytestPhase {
    #[serde(default, deserialize_with = "text")]
    pub(super) outcome: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) longrepr: String,
}

#[derive(Deserialize)]
pub(super) struct RspecExample {
    #[serde(default, deserialize_with = "text")]
    pub(super) full_description: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) status: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) pending_message: String,
    #[serde(default)]
    pub(super) exception: Option<RspecException>,
}

#[derive(Deserialize)]
pub(super) struct RspecException {
    #[serde(default, deserialize_with = "text")]
    pub(super) class: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) message: String,
}

#[derive(Default, Deserialize)]
pub(super) struct RspecSummary {
    #[serde(default)]
    pub(super) errors_outside_of_examples_count: u64,
}

#[derive(Deserialize)]
pub(super) struct PlaywrightSuite {
    #[serde(default, deserialize_with = "text")]
    pub(super) title: String,
    #[serde(default)]
    pub(super) specs: Vec<PlaywrightSpec>,
    #[serde(default)]
    pub(super) suites: Vec<PlaywrightSuite>,
}

#[derive(Deserialize)]
pub(super) struct PlaywrightSpec {
    #[serde(default, deserialize_with = "text")]
    pub(super) title: String,
    #[serde(default)]
    pub(super) tests: Vec<PlaywrightTest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlaywrightTest {
    #[serde(default, deserialize_with = "text")]
    pub(super) project_name: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) status: String,
    #[serde(default)]
    pub(super) results: Vec<PlaywrightResult>,
}

#[derive(Deserialize)]
pub(super) struct PlaywrightResult {
    #[serde(default)]
    pub(super) errors: Vec<MochaError>,
}

#[derive(Default, Deserialize)]
pub(super) struct Ctrf {
    #[serde(default)]
    pub(super) tests: Option<Vec<CtrfTest>>,
}

#[derive(Deserialize)]
pub(super) struct CtrfTest {
    #[serde(default, deserialize_with = "text")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) suite: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) status: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) message: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) trace: String,
}

/// An event of `go test -json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GoEvent {
    #[serde(default, deserialize_with = "text")]
    pub(super) action: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) package: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) import_path: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) test: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) output: String,
}

/// An event of libtest, or of nextest in its form.
#[derive(Deserialize)]
pub(super) struct LibtestEvent {
    #[serde(rename = "type", default, deserialize_with = "text")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) event: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) stdout: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) message: String,
}
