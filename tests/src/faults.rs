//! Faults between the product and AWS: a wrapper of the SDK's HTTP client that makes one chosen
//! call fail in one chosen way. All code above it is the product's own.

use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// How a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// AWS never hears of it.
    LoseRequest,
    /// AWS does it, the caller never hears.
    LoseReply,
    /// AWS is busy.
    Throttle,
    /// Another transaction holds an item.
    TransactionConflict,
    /// AWS hears it twice.
    Duplicate,
    /// The handler stops before the call.
    CrashBefore,
    /// The handler stops after the call.
    CrashAfter,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Fault; 7] = [
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::Throttle,
        Fault::TransactionConflict,
        Fault::Duplicate,
        Fault::CrashBefore,
        Fault::CrashAfter,
    ];
}

#[derive(Debug, Default)]
struct Plan {
    calls: u32,
    fault: Option<(u32, Fault)>,
    seen: Vec<String>,
    refused: u32,
}

/// The plan of what goes wrong, shared with the client that carries it out.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    plan: Arc<Mutex<Plan>>,
    crashed: Arc<Notify>,
}

impl Faults {
    /// From now on, the `nth` call (from 1) goes wrong, once.
    pub fn arm(&self, nth: u32, fault: Fault) {
        *self.lock() = Plan {
            fault: Some((nth, fault)),
            ..Plan::default()
        };
    }

    /// From now on nothing goes wrong. True if something did.
    pub fn disarm(&self) -> bool {
        let mut plan = self.lock();
        let fired = plan.fault.is_none();
        *plan = Plan::default();
        fired
    }

    /// The calls since the plan was made.
    #[must_use]
    pub fn seen(&self) -> Vec<String> {
        self.lock().seen.clone()
    }

    /// How many of the calls since the plan was made were answered with a refusal.
    #[must_use]
    pub fn refused(&self) -> u32 {
        self.lock().refused
    }

    /// Runs a handler until it ends or crashes; none if it crashed.
    pub async fn until_crash<T>(&self, handler: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = handler => Some(done),
            () = self.crashed.notified() => None,
        }
    }

    /// A client that goes as `inner` does but for the planned fault.
    #[must_use]
    pub fn client(&self, inner: SharedHttpClient) -> SharedHttpClient {
        SharedHttpClient::new(FaultyClient {
            inner,
            faults: self.clone(),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, request: &HttpRequest) -> Option<Fault> {
        let mut plan = self.lock();
        plan.calls += 1;
        let target = request
            .headers()
            .get("x-amz-target")
            .unwrap_or_default()
            .to_owned();
        plan.seen.push(target);
        let (nth, fault) = plan.fault?;
        (nth == plan.calls).then(|| {
            plan.fault = None;
            fault
        })
    }
}

#[derive(Debug)]
struct FaultyClient {
    inner: SharedHttpClient,
    faults: Faults,
}

impl HttpClient for FaultyClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(FaultyConnector {
            inner,
            faults: self.faults.clone(),
        })
    }
}

#[derive(Debug, Clone)]
struct FaultyConnector {
    inner: SharedHttpConnector,
    faults: Faults,
}

impl HttpConnector for FaultyConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let this = self.clone();
        HttpConnectorFuture::new(async move { this.go(request).await })
    }
}

impl FaultyConnector {
    async fn go(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let fault = self.faults.next(&request);
        let faults = self.faults.clone();
        let answer = self.come(request, fault).await;
        let is_refused = |answer: &HttpResponse| answer.status().is_client_error();
        let refused = answer.as_ref().is_ok_and(is_refused);
        faults.lock().refused += u32::from(refused);
        answer
    }

    /// How the call goes, with its fault if it has one.
    async fn come(
        self,
        request: HttpRequest,
        fault: Option<Fault>,
    ) -> Result<HttpResponse, ConnectorError> {
        let target = request
            .headers()
            .get("x-amz-target")
            .unwrap_or_default()
            .to_owned();
        match fault {
            None => self.inner.call(request).await,
            Some(Fault::LoseRequest) => Err(lost()),
            Some(Fault::LoseReply) => {
                self.inner.call(request).await?;
                Err(lost())
            }
            Some(Fault::Throttle) => Ok(refusal(&json!({
                "__type": "com.amazonaws#ThrottlingException", "message": "Rate exceeded",
            }))),
            Some(Fault::TransactionConflict) => match conflict(&target, &request) {
                Some(body) => Ok(refusal(&body)),
                None => self.inner.call(request).await,
            },
            Some(Fault::Duplicate) => {
                if let Some(twin) = request.try_clone() {
                    self.inner.call(twin).await?;
                }
                self.inner.call(request).await
            }
            Some(Fault::CrashBefore) => self.crash().await,
            Some(Fault::CrashAfter) => {
                self.inner.call(request).await?;
                self.crash().await
            }
        }
    }

    /// The handler is dropped where it stands.
    async fn crash(&self) -> Result<HttpResponse, ConnectorError> {
        self.faults.crashed.notify_one();
        std::future::pending().await
    }
}

fn lost() -> ConnectorError {
    ConnectorError::timeout("an injected fault lost this call".into())
}

fn refusal(body: &Value) -> HttpResponse {
    let status = StatusCode::try_from(400).expect("400 is a status");
    HttpResponse::new(status, SdkBody::from(body.to_string()))
}

/// What DynamoDB answers when another transaction holds an item; other calls never say so.
fn conflict(target: &str, request: &HttpRequest) -> Option<Value> {
    let operation = target.split('.').next_back()?;
    match operation {
        "TransactWriteItems" => {
            let body: Value = serde_json::from_slice(request.body().bytes()?).ok()?;
            let items = body["TransactItems"].as_array()?.len();
            let mut reasons = vec![json!({ "Code": "None" }); items];
            reasons[items - 1] = json!({ "Code": "TransactionConflict" });
            Some(json!({
                "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                "Message": "Transaction cancelled",
                "CancellationReasons": reasons,
            }))
        }
        "UpdateItem" | "PutItem" | "DeleteItem" => Some(json!({
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionConflictException",
            "message": "Transaction is ongoing for the item",
        })),
        _ => None,
    }
}
