//! One call: authentication, budget, cost, and its streamed response. A separate task talks to the
//! provider, so an agent that disconnects does not prevent the count.

use std::sync::Arc;

use awo_domain::agent::answer::{Counter, Dialect};
use awo_domain::agent::provider_error::ProviderError;
use awo_domain::control::Provider;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use subtle::ConstantTimeEq;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::answer::{Answer, Next, NoAnswer};
use super::bedrock::{Invocation, translated};
use super::outage::{CallEnd, Outage};
use super::refusal::Refusal;
use super::request::{CountableCall, Route, checked};
use super::under_way::UnderWay;
use super::upstream::Outgoing;
use super::worst_case::Bounds;
use super::{CallState, now, reach};
use crate::loopback::PipedBody;

/// Largest request, in bytes; no provider takes a larger one.
const MAX_REQUEST_BYTES: usize = 32 * 1_048_576;
/// Longest body of an error that is read, in bytes.
const MAX_ERROR_BYTES: usize = 65_536;
/// Pieces of an answer that may wait for a slow reader.
const MAX_WAITING_PIECES: usize = 16;
/// What of a provider's answer an agent gets to see.
const HEADERS: [&str; 6] = [
    "content-type",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
    "x-should-retry",
];

/// A body in pieces.
pub(super) type Pieces = UnsyncBoxBody<Bytes, BrokenAnswer>;

/// The provider broke off; so does its answer.
#[derive(Debug, thiserror::Error)]
#[error("the provider's answer ended early")]
pub(super) struct BrokenAnswer;

/// Answers one request.
pub(super) async fn answer(shared: Arc<CallState>, request: Request<Incoming>) -> Response<Pieces> {
    let route = Route::of(request.method(), request.uri().path());
    // A call without a provider gets an answer in Anthropic's format.
    let provider = route.map_or(Provider::Anthropic, |route| route.provider);
    let answered = match admitted(&shared, request.headers(), route) {
        Ok(route) => pass(shared, route, request).await,
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(|refusal| refusal.answer(provider))
}

/// The caller, and whether it may call.
fn admitted(
    shared: &CallState,
    headers: &HeaderMap,
    route: Option<Route>,
) -> Result<Route, Refusal> {
    let key = headers
        .get("x-api-key")
        .or_else(|| headers.get(AUTHORIZATION));
    let key = key.map(|key| key.as_bytes()).unwrap_or_default();
    let key = key.strip_prefix(b"Bearer ").unwrap_or(key);
    if !bool::from(key.ct_eq(shared.key.as_bytes())) {
        let message = "this key is not the key of this run";
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, message));
    }
    at_work(shared)?;
    let route = route.ok_or_else(|| {
        let message = "only /anthropic/v1/messages, /openai/v1/responses and \
                       /openai/v1/chat/completions are passed on";
        Refusal::new(StatusCode::NOT_FOUND, message)
    })?;
    if !shared.upstream.providers().contains(&route.provider) {
        let name = route.provider.as_str();
        let message = format!(
            "the organization has no key for {name}: its operator sets one with \
             `awo admin set-secret --name {name}`"
        );
        return Err(Refusal::new(StatusCode::FORBIDDEN, message));
    }
    let is_bedrock = shared.upstream.bedrock(route.provider).is_some();
    if is_bedrock && route.dialect.is_none() && !route.counts_tokens() {
        let message = "bedrock answers /v1/messages and /v1/messages/count_tokens alone";
        return Err(Refusal::new(StatusCode::NOT_FOUND, message));
    }
    Ok(route)
}

pub(super) fn at_work(shared: &CallState) -> Result<(), Refusal> {
    if *shared.attempt.borrow() > 0 {
        return Ok(());
    }
    let message = "models can be called only while the agent runs";
    Err(Refusal::new(StatusCode::FORBIDDEN, message))
}

async fn pass(
    shared: Arc<CallState>,
    route: Route,
    request: Request<Incoming>,
) -> Result<Response<Pieces>, Refusal> {
    let over = || Refusal::new(StatusCode::FORBIDDEN, "the agent's time limit is reached");
    let permit = shared.pace.turn().await?;
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_REQUEST_BYTES).collect().await;
    let body = body.map_err(|_| {
        let message = format!("a request of at most {MAX_REQUEST_BYTES} bytes is passed on");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    })?;
    let body = Vec::from(body.to_bytes());
    // Its turn and its body may have come late.
    at_work(&shared)?;
    if let Some(hosts) = shared.hosts.as_ref().filter(|_| !body.is_empty()) {
        let checked = reach::check(hosts, &body);
        checked.map_err(|why| Refusal::new(StatusCode::BAD_REQUEST, why.to_string()))?;
    }
    let target = route.target(head.uri.query());
    let (under_way, outgoing) = match route.dialect {
        Some(dialect) => {
            let begun = begin(&shared, route.provider, dialect, body, &head.headers).await?;
            let (under_way, body) = begun;
            (Some(under_way), body)
        }
        None => (None, free(&shared, route.provider, body, &head.headers)?),
    };
    let outgoing = match outgoing {
        Body::Keyed(body) => Outgoing::Keyed(head.method, target, body),
        Body::Bedrock(call) => Outgoing::Bedrock(call),
    };
    let (sender, receiver) = oneshot::channel();
    let call = Call {
        provider: shared.upstream.answering(route.provider),
        shared,
        outgoing,
        headers: head.headers,
        _permit: permit,
    };
    tokio::spawn(call.carry_out(under_way, sender));
    receiver.await.map_err(|_| over())?
}

/// The request of a call, by its provider.
enum Body {
    Keyed(Vec<u8>),
    Bedrock(Invocation),
}

/// What is sent of a call that costs nothing.
fn free(
    shared: &CallState,
    provider: Provider,
    body: Vec<u8>,
    headers: &HeaderMap,
) -> Result<Body, Refusal> {
    let Some(bedrock) = shared.upstream.bedrock(provider) else {
        return Ok(Body::Keyed(body));
    };
    let bad = |why| Refusal::new(StatusCode::BAD_REQUEST, why);
    let CountableCall { model, body, .. } = checked(Dialect::Messages, body).map_err(bad)?;
    let called = bedrock.model(&model)?;
    let body = translated(&body, &betas(headers)).map_err(bad)?;
    Invocation::count(&called, &body).map(Body::Bedrock)
}

/// Admits a call that is paid for. Where the budget does not cover all that it asks for, its limit of output is
/// lowered.
async fn begin(
    shared: &Arc<CallState>,
    provider: Provider,
    dialect: Dialect,
    body: Vec<u8>,
    headers: &HeaderMap,
) -> Result<(UnderWay, Body), Refusal> {
    let bad = |why| Refusal::new(StatusCode::BAD_REQUEST, why);
    let CountableCall {
        model,
        streams,
        mut body,
    } = checked(dialect, body).map_err(bad)?;
    let invalid = |why| {
        let message = format!("the body is not valid: {why}");
        Refusal::new(StatusCode::BAD_REQUEST, message)
    };
    let bounds = Bounds::read(&body).map_err(invalid)?;
    let bedrock = shared.upstream.bedrock(provider);
    let called = bedrock.map(|bedrock| bedrock.model(&model)).transpose()?;
    let priced_as = called.as_ref().map_or(&model, |called| &called.priced_as);
    if called.is_some() {
        bounded(shared, &bounds, priced_as)?;
    }
    let names = (model.as_str(), priced_as.as_str());
    let case = bounds.worst_case(dialect, names, &body, called.is_some());
    let under_way = UnderWay::begin(shared, dialect, &case).await?;
    shared.pace.begin(std::time::Instant::now())?;
    if under_way.call.output < case.output {
        let lowered = bounds.lowered(dialect, &body, under_way.call.output);
        body = lowered.map_err(invalid)?;
    }
    let Some(called) = called else {
        return Ok((under_way, Body::Keyed(body)));
    };
    let body = translated(&body, &betas(headers)).map_err(bad)?;
    let call = Invocation::of(called, streams, body);
    Ok((under_way, Body::Bedrock(call)))
}

/// On Bedrock the operator pays for what exceeds the worst case, so there has to be one.
fn bounded(shared: &CallState, bounds: &Bounds, priced_as: &str) -> Result<(), Refusal> {
    let why = match bounds.unbounded() {
        Some(field) => format!("{field}: nothing bounds what this call costs"),
        None if shared.meter().has_price(priced_as, now()) => return Ok(()),
        None => format!(
            "the model {priced_as:?} has no price, so nothing bounds what its calls cost: its operator adds one to \
             AWO_PRICES_FILE"
        ),
    };
    Err(Refusal::new(StatusCode::PAYMENT_REQUIRED, why))
}

/// The beta features that a call of Messages asks for, of all headers with them.
fn betas(headers: &HeaderMap) -> String {
    let all = headers.get_all("anthropic-beta").iter();
    let all: Vec<&str> = all.filter_map(|value| value.to_str().ok()).collect();
    all.join(",")
}

struct Call {
    shared: Arc<CallState>,
    /// The provider that answers.
    provider: Provider,
    outgoing: Outgoing,
    headers: HeaderMap,
    _permit: OwnedSemaphorePermit,
}

type AnswerSender = oneshot::Sender<Result<Response<Pieces>, Refusal>>;

impl Call {
    /// Talks to the provider to the end of its answer, or until the run has no more time for it.
    async fn carry_out(self, under_way: Option<UnderWay>, sender: AnswerSender) {
        let mut cut = self.shared.cut.subscribe();
        tokio::select! {
            () = self.converse(under_way, sender) => {}
            // Nothing of this attempt is waited for any more.
            _ = cut.changed() => {}
        }
    }

    async fn converse(self, mut under_way: Option<UnderWay>, answer_to: AnswerSender) {
        let Call {
            shared, provider, ..
        } = self;
        let is_paid = under_way.is_some();
        let sent = shared.upstream.send(provider, self.outgoing, &self.headers);
        // The agent has disconnected where sending fails; the usage counts nevertheless.
        let answer = match sent.await {
            Ok(answer) => answer,
            Err(NoAnswer::Outage(why)) => {
                let what = "could not be reached, or closed the connection";
                let outage = Outage::of_connection(provider, what);
                shared.last_call.ended(CallEnd::Outage(outage), is_paid);
                let _ = answer_to.send(Err(Refusal::new(StatusCode::BAD_GATEWAY, why)));
                return;
            }
            Err(NoAnswer::Refused(refusal)) => {
                shared.last_call.ended(CallEnd::Failed, is_paid);
                let _ = answer_to.send(Err(refusal));
                return;
            }
        };
        if let Some(refusal) = not_passed_on(answer.status, provider) {
            let end = CallEnd::of_answer(provider, answer.status, None, None);
            shared.last_call.ended(end, is_paid);
            let _ = answer_to.send(Err(refusal));
            return;
        }
        if let (Some(under_way), true) = (under_way.as_mut(), answer.status.is_success()) {
            under_way.answered(&answer);
        }
        let (sender, pieces) = mpsc::channel(MAX_WAITING_PIECES);
        let _ = answer_to.send(Ok(begun(&answer, pieces)));
        let (end, is_cut) = passed_on(answer, provider, under_way.as_mut(), &sender).await;
        shared.last_call.ended(end, is_paid);
        if is_cut {
            let _ = sender.send(Err(BrokenAnswer)).await;
        }
    }
}

/// Passes an answer on to its end. True beside the end if it was cut.
async fn passed_on(
    mut answer: Answer,
    provider: Provider,
    mut under_way: Option<&mut UnderWay>,
    sender: &mpsc::Sender<Piece>,
) -> (CallEnd, bool) {
    let outage = answer.outage(provider);
    let mut error = Vec::new();
    let (failed, is_cut) = loop {
        match answer.next().await {
            Next::Piece(piece) => {
                if let Some(counter) = under_way.as_mut().and_then(|u| u.counter.as_mut()) {
                    counter.push(&piece);
                }
                if !answer.status.is_success() && error.len() + piece.len() <= MAX_ERROR_BYTES {
                    error.extend_from_slice(&piece);
                }
                let _ = sender.send(Ok(piece)).await;
            }
            Next::End => break (None, false),
            Next::Failed(what) => break (Some(what), false),
            Next::Broken(what) => break (Some(what), true),
        }
    };
    let failed = failed.map(|what| Outage::of_connection(provider, &what));
    let whole = serde_json::from_slice(&error).ok();
    let whole = whole.as_ref().and_then(ProviderError::of);
    let counter = under_way.and_then(|under_way| under_way.counter.as_ref());
    let error = whole.as_ref().or(counter.and_then(Counter::error));
    let end = CallEnd::of_answer(provider, answer.status, error, outage.or(failed));
    (end, is_cut)
}

/// What the agent must not see in the provider's own words, which may quote the key; and redirects,
/// which would take it elsewhere.
fn not_passed_on(status: StatusCode, provider: Provider) -> Option<Refusal> {
    // Its answers are in words of our own already.
    if provider == Provider::Bedrock {
        return None;
    }
    let name = provider.as_str();
    let message = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => format!(
            "{name} did not accept the organization's key: its operator sets another with \
             `awo admin set-secret --name {name}`"
        ),
        status if status.is_redirection() || status.is_informational() => {
            let message = format!("{name} answered {status}, which is not followed");
            return Some(Refusal::new(StatusCode::BAD_GATEWAY, message));
        }
        _ => return None,
    };
    Some(Refusal::new(status, message))
}

fn begun(answer: &Answer, pieces: mpsc::Receiver<Piece>) -> Response<Pieces> {
    let mut begun = Response::new(PipedBody::new(pieces).boxed_unsync());
    *begun.status_mut() = answer.status;
    for name in HEADERS {
        if let Some(value) = answer.headers.get(name) {
            let name = HeaderName::from_static(name);
            begun.headers_mut().insert(name, value.clone());
        }
    }
    begun
}

type Piece = Result<Bytes, BrokenAnswer>;
