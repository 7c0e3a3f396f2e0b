//! The product's AWS calls and their cost: a wrapper of the SDK's HTTP client that records each
//! call with the capacity that DynamoDB reports.
//!
//! Concurrent calls are a round. Their responses are handed over together, so the number of rounds
//! depends on the code alone, and not on the speed of responses.

use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::Value;

/// Turns of the scheduler in which whatever goes on side by side makes its own calls.
const TURNS: u32 = 32;
/// How often a call checks whether the others of its round are answered.
const PAUSE: Duration = Duration::from_millis(1);

/// Calls and what they cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Costs {
    /// The names of the calls of each round, sorted; `TransactWriteItems:9` writes nine items.
    pub rounds: Vec<Vec<String>>,
    /// Read units, as DynamoDB counts them.
    pub read_units: f64,
    /// Write units, as DynamoDB counts them. It does not say what a refused write costs.
    pub write_units: f64,
}

impl Costs {
    /// How many calls there were.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    /// Adds what came after.
    pub fn add(&mut self, later: &Costs) {
        self.rounds.extend(later.rounds.iter().cloned());
        self.read_units += later.read_units;
        self.write_units += later.write_units;
    }
}

/// The rounds in their order: `A → B ‖ C`, and `A → 3 × (B ‖ C)` for equal ones behind each other.
impl Display for Costs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, equal) in self.rounds.chunk_by(|a, b| a == b).enumerate() {
            let before = if nth == 0 { "" } else { " → " };
            let round = equal[0].join(" ‖ ");
            match (equal.len(), equal[0].len()) {
                (1, _) => write!(out, "{before}{round}")?,
                (times, 1) => write!(out, "{before}{times} × {round}")?,
                (times, _) => write!(out, "{before}{times} × ({round})")?,
            }
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Record {
    costs: Costs,
    /// The number of the present round.
    round: u64,
    /// The partition of every item that a call named by itself.
    partitions: Vec<String>,
    /// Calls of the present round, and those of them that nothing has answered yet.
    calls: usize,
    unanswered: usize,
}

/// The record, shared with the client that makes it.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    record: Arc<Mutex<Record>>,
}

impl Recorder {
    /// A client that goes as `inner` does and records what goes.
    #[must_use]
    pub fn client(&self, inner: SharedHttpClient) -> SharedHttpClient {
        SharedHttpClient::new(RecordedClient {
            inner,
            recorder: self.clone(),
        })
    }

    /// What was recorded since this was last asked.
    #[expect(
        clippy::must_use_candidate,
        reason = "asking is also how recording begins"
    )]
    pub fn take(&self) -> Costs {
        let mut costs = std::mem::take(&mut self.lock().costs);
        costs.rounds.iter_mut().for_each(|round| round.sort());
        costs
    }

    /// The partitions of single items that calls named since this was last asked.
    #[must_use]
    pub fn take_partitions(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().partitions)
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a call and says in which round it is.
    fn begin(&self, name: String) -> u64 {
        let mut record = self.lock();
        if record.calls == 0 {
            record.costs.rounds.push(Vec::new());
        }
        record.calls += 1;
        record.unanswered += 1;
        let round = record.costs.rounds.last_mut();
        round.expect("a round").push(name);
        record.round
    }

    /// True if every call of the round is answered.
    fn is_over(&self, round: u64) -> bool {
        let mut record = self.lock();
        if record.round == round && record.unanswered == 0 {
            record.round += 1;
            record.calls = 0;
        }
        record.round != round
    }

    /// Returns when every call of the round is answered.
    async fn end(&self, round: u64) {
        loop {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            if self.is_over(round) {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// A call that nothing has answered yet; it is over as well when its caller gives up.
struct UnderWay<'a>(&'a Recorder);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().unanswered -= 1;
    }
}

#[derive(Debug)]
struct RecordedClient {
    inner: SharedHttpClient,
    recorder: Recorder,
}

impl HttpClient for RecordedClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(RecordedConnector {
            inner: self.inner.http_connector(settings, components),
            recorder: self.recorder.clone(),
        })
    }
}

#[derive(Debug, Clone)]
struct RecordedConnector {
    inner: SharedHttpConnector,
    recorder: Recorder,
}

impl HttpConnector for RecordedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let this = self.clone();
        HttpConnectorFuture::new(async move { this.go(request).await })
    }
}

impl RecordedConnector {
    async fn go(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let target = target.to_owned();
        let round = self.recorder.begin(name(&target, &request));
        self.recorder.lock().partitions.extend(partition(&request));
        let under_way = UnderWay(&self.recorder);
        let mut response = self.inner.call(request).await?;
        let body = std::mem::replace(response.body_mut(), SdkBody::taken());
        let bytes = ByteStream::new(body).collect().await;
        let bytes = bytes.map_err(|error| ConnectorError::io(error.into()))?;
        let bytes = bytes.into_bytes();
        if target.starts_with("DynamoDB") && response.status().is_success() {
            self.measure(&target, &bytes);
        }
        *response.body_mut() = SdkBody::from(bytes);
        drop(under_way);
        self.recorder.end(round).await;
        Ok(response)
    }

    fn measure(&self, target: &str, answer: &[u8]) {
        let answer: Value = serde_json::from_slice(answer).expect("JSON");
        let consumed = &answer["ConsumedCapacity"];
        let tables = consumed
            .as_array()
            .map_or(std::slice::from_ref(consumed), Vec::as_slice);
        let units = |table: &Value| table["CapacityUnits"].as_f64();
        let units: Option<Vec<f64>> = tables.iter().map(units).collect();
        let units = units.unwrap_or_else(|| panic!("{target} does not ask what it costs"));
        let is_read = ["Get", "Query", "Scan"]
            .iter()
            .any(|name| target.contains(name));
        let costs = &mut self.recorder.lock().costs;
        let sum = if is_read {
            &mut costs.read_units
        } else {
            &mut costs.write_units
        };
        *sum += units.iter().sum::<f64>();
    }
}

/// The operation with the index that it queries, or with how many items it is about.
fn name(target: &str, request: &HttpRequest) -> String {
    let operation = target.rsplit('.').next().unwrap_or_default();
    let body = request.body().bytes().unwrap_or_default();
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let tables = body["RequestItems"].as_object().into_iter().flatten();
    let of_tables = tables.map(|(_, of)| of.as_array().or_else(|| of["Keys"].as_array()));
    let in_batch: usize = of_tables.flatten().map(Vec::len).sum();
    let listed = ["TransactItems", "Entries"].map(|name| body[name].as_array().map(Vec::len));
    match (
        body["IndexName"].as_str(),
        listed.into_iter().flatten().next(),
    ) {
        (Some(index), _) => format!("{operation} {index}"),
        (None, Some(items)) => format!("{operation}:{items}"),
        (None, None) if in_batch > 0 => format!("{operation}:{in_batch}"),
        (None, None) if operation.is_empty() => rest_name(request),
        (None, None) => operation.to_owned(),
    }
}

/// The partition of the one item that a call is about.
fn partition(request: &HttpRequest) -> Option<String> {
    let body: Value = serde_json::from_slice(request.body().bytes()?).ok()?;
    body["Key"]["pk"]["S"].as_str().map(str::to_owned)
}

/// The operation of a call of a REST protocol: S3 has it in the query, of another service it is the path.
fn rest_name(request: &HttpRequest) -> String {
    let (path, query) = request.uri().split_once('?').unwrap_or((request.uri(), ""));
    let operation = query.split('&').find_map(|pair| pair.strip_prefix("x-id="));
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let path = path.split_once('/').map_or("", |(_, path)| path);
    operation.map_or_else(|| format!("{} {path}", request.method()), str::to_owned)
}
