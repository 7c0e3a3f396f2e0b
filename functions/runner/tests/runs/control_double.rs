//! A double of the control API, with only its rules: a nonce is valid for one token, every number
//! is accepted once and in order, a fenced runner gets 409. Once there is a stop request every
//! response carries it, and events are no longer stored; after the one last report nothing is.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use awo_domain::control::{
    ANSWER_MARK, Children, ChildrenAnswer, Claim, Configuration, Finish, IterationLog,
    NumberedEvent, Report, ReportAnswer, RunSpec, RunnerEvent, SnapshotDiff, StopRequest,
    TurnRecord,
};
use awo_domain::{Timestamp, WorkOrderId};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::Serialize;

use crate::serving::{Serving, serve};

/// How the double misbehaves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fault {
    #[default]
    None,
    /// Every second call is done, and its answer is lost.
    LosesEverySecondAnswer,
    /// The runner is fenced by the answer to its first `VerificationStarted`, which comes as soon
    /// as this file is there.
    FencesWhenThereIs(PathBuf),
    /// Reports with the end of an agent are never answered; others and heartbeats are.
    HangsOnAgentsEnd,
    /// Claims wait for [`ControlDouble::release`].
    HoldsClaims,
    /// Last reports wait for [`ControlDouble::release`].
    HoldsFinish,
    /// The last report is refused: another was first.
    RefusesFinish,
    /// Requests for children wait for [`ControlDouble::release`].
    HoldsChildren,
    /// No request for children is taken, whatever is in it.
    RefusesChildren,
    /// The first calls of everything but the claim are answered by these statuses in turn, by something in
    /// front of the control API; 0 answers nothing at all.
    InFront(&'static [u16]),
    /// What agents wrote is turned away by something in front of the control API, always.
    LogsTurnedAway,
    /// Credentials last for these seconds, one after the other, and the last ones for ever; without
    /// any there are none.
    CredentialsLast(&'static [i64]),
}

/// Between two looks whether a call is still held.
const HOLD_PAUSE: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
pub struct ControlLog {
    pub token: Option<String>,
    pub claims: u32,
    pub events: Vec<NumberedEvent>,
    pub finish: Option<Finish>,
    /// With the number of events that were kept before.
    pub logs: Vec<(usize, IterationLog)>,
    /// The diffs, in the order in which they came.
    pub diffs: Vec<SnapshotDiff>,
    pub turns: Vec<TurnRecord>,
    /// Requests for children, each once, and the answers to them.
    pub children: Vec<(Children, ChildrenAnswer)>,
    pub heartbeats: u64,
    /// How often credentials were issued.
    pub issued: usize,
    /// What the client wants from now on.
    pub stop_request: Option<StopRequest>,
    /// What iterations go by from now on, if not by the spec.
    pub configuration: Option<Configuration>,
    /// Calls that are held at present.
    pub held: u32,
    /// True once what is held goes on; or fails, with `fenced`.
    released: bool,
    pub violations: Vec<String>,
    calls: u64,
    /// Calls that something in front of this double has looked at.
    pub in_front: usize,
    pub fenced: bool,
}

pub struct ControlDouble {
    pub url: String,
    seen: Arc<Mutex<ControlLog>>,
    serving: Option<Serving>,
}

struct Api {
    spec: RunSpec,
    nonce: String,
    fault: Fault,
    seen: Arc<Mutex<ControlLog>>,
}

impl ControlDouble {
    pub fn start(spec: RunSpec, nonce: String, fault: Fault) -> ControlDouble {
        let seen = Arc::new(Mutex::new(ControlLog::default()));
        let reports = format!("/control/{}/runs/{}", spec.org_id, spec.run_id);
        let api = Arc::new(Api {
            spec,
            nonce,
            fault,
            seen: Arc::clone(&seen),
        });
        let app = Router::new()
            .route("/stage/control/claim", post(claim))
            .route(&format!("/stage{reports}/report"), post(report))
            .route(&format!("/stage{reports}/logs"), post(logs))
            .route(&format!("/stage{reports}/diff"), post(diff))
            .route(&format!("/stage{reports}/children"), post(children))
            .route(&format!("/stage{reports}/credentials"), post(credentials))
            .route(&format!("/stage{reports}/turn"), post(turn))
            .route(&format!("/stage{reports}/finish"), post(finish))
            .layer(middleware::from_fn_with_state(Arc::clone(&api), in_front))
            .with_state(api);
        let serving = serve(app);
        ControlDouble {
            url: format!("{}/stage/", serving.url),
            seen,
            serving: Some(serving),
        }
    }

    pub fn seen(&self) -> MutexGuard<'_, ControlLog> {
        self.seen.lock().unwrap()
    }

    /// Nobody answers from now on.
    pub fn go_away(&mut self) {
        drop(self.serving.take());
        let address = self.url.split('/').nth(2).unwrap();
        crate::scene::until("the control API is gone", || {
            std::net::TcpStream::connect(address).is_err()
        });
    }

    /// Lets go what is held.
    pub fn release(&self) {
        self.seen().released = true;
    }
}

type Answer = (StatusCode, Vec<u8>);

/// What stands in front of the control API, which marks its own answers.
async fn in_front(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let status = match api.fault {
        Fault::InFront(statuses) if !path.ends_with("/claim") => {
            let mut seen = api.seen.lock().unwrap();
            seen.in_front += 1;
            statuses.get(seen.in_front - 1).copied()
        }
        Fault::LogsTurnedAway if path.ends_with("/logs") => {
            api.seen.lock().unwrap().in_front += 1;
            Some(403)
        }
        _ => None,
    };
    match status {
        None => {
            let mut answer = next.run(request).await;
            let ours = HeaderValue::from_static("1");
            answer.headers_mut().insert(ANSWER_MARK, ours);
            answer
        }
        Some(0) => std::future::pending().await,
        Some(status) => {
            let status = StatusCode::from_u16(status).unwrap();
            (status, "<html>Request blocked</html>").into_response()
        }
    }
}

impl Api {
    /// Done is done, but the answer may be lost.
    fn answer(&self, seen: &mut ControlLog, body: &impl Serialize) -> Answer {
        seen.calls += 1;
        if self.fault == Fault::LosesEverySecondAnswer && seen.calls % 2 == 1 {
            return (StatusCode::BAD_GATEWAY, b"lost".to_vec());
        }
        (StatusCode::OK, serde_json::to_vec(body).unwrap())
    }

    fn refuses(&self, seen: &ControlLog, headers: &HeaderMap) -> bool {
        let wanted = format!("Bearer {}", seen.token.as_deref().unwrap_or("none"));
        let given = headers.get("authorization").and_then(|v| v.to_str().ok());
        seen.fenced || given != Some(wanted.as_str())
    }

    /// What has no place after the last report.
    fn is_closed(&self, seen: &ControlLog, headers: &HeaderMap) -> bool {
        self.refuses(seen, headers) || seen.finish.is_some()
    }

    /// Holds a call, where this double does.
    async fn hold(&self, fault: &Fault) {
        if self.fault != *fault {
            return;
        }
        self.seen.lock().unwrap().held += 1;
        while !self.seen.lock().unwrap().released {
            tokio::time::sleep(HOLD_PAUSE).await;
        }
    }

    fn take(&self, seen: &mut ControlLog, events: Vec<NumberedEvent>) -> ReportAnswer {
        for event in events {
            if seen.stop_request.is_some() {
                break;
            }
            let next = seen.events.len() as u64 + 1;
            if event.number < next {
                let index = usize::try_from(event.number).unwrap() - 1;
                if seen.events[index] != event {
                    seen.violations.push(format!("{} changed", event.number));
                }
                continue;
            }
            if event.number > next {
                let gap = format!("{} came instead of {next}", event.number);
                seen.violations.push(gap);
                break;
            }
            seen.events.push(event);
        }
        ReportAnswer {
            acknowledged: seen.events.len() as u64,
            stop_request: seen.stop_request,
            configuration: seen.configuration.clone().map(Box::new),
        }
    }
}

async fn claim(State(api): State<Arc<Api>>, body: Bytes) -> Answer {
    api.hold(&Fault::HoldsClaims).await;
    let claim: Claim = serde_json::from_slice(&body).unwrap();
    let mut seen = api.seen.lock().unwrap();
    seen.claims += 1;
    let hex: HashSet<char> = "0123456789abcdef".chars().collect();
    if claim.token.len() != 64 || !claim.token.chars().all(|c| hex.contains(&c)) {
        seen.violations
            .push("the token is not 64 hex digits".to_owned());
    }
    let first = seen.token.get_or_insert_with(|| claim.token.clone());
    if claim.nonce != api.nonce || *first != claim.token {
        return (StatusCode::CONFLICT, b"claimed by another".to_vec());
    }
    api.answer(&mut seen, &api.spec)
}

async fn report(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Answer {
    let report: Report = serde_json::from_slice(&body).unwrap();
    let ends = |event: &NumberedEvent| matches!(event.event, RunnerEvent::AgentFinished { .. });
    if api.fault == Fault::HangsOnAgentsEnd && report.events.iter().any(ends) {
        api.seen.lock().unwrap().held += 1;
        std::future::pending::<()>().await;
    }
    let mut seen = api.seen.lock().unwrap();
    if api.is_closed(&seen, &headers) {
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    seen.heartbeats += u64::from(report.events.is_empty());
    if report.events.len() > awo_domain::control::MAX_REPORTED_EVENTS {
        seen.violations
            .push("too many events in a report".to_owned());
    }
    let starts =
        |event: &NumberedEvent| matches!(event.event, RunnerEvent::VerificationStarted { .. });
    if let (Fault::FencesWhenThereIs(file), true) = (&api.fault, report.events.iter().any(starts)) {
        drop(seen);
        crate::scene::until("the tests run", || file.exists());
        api.seen.lock().unwrap().fenced = true;
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    let answer = api.take(&mut seen, report.events);
    api.answer(&mut seen, &answer)
}

async fn logs(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Answer {
    let mut seen = api.seen.lock().unwrap();
    if api.is_closed(&seen, &headers) {
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    let log: IterationLog = serde_json::from_slice(&body).unwrap();
    let known = seen.logs.iter().find(|(_, l)| l.iteration == log.iteration);
    match known {
        None => {
            let stored = seen.events.len();
            seen.logs.push((stored, log));
        }
        Some((_, known)) if *known != log => seen.violations.push("another log".to_owned()),
        Some(_) => {}
    }
    let answer = api.take(&mut seen, Vec::new());
    api.answer(&mut seen, &answer)
}

async fn diff(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Answer {
    let mut seen = api.seen.lock().unwrap();
    if api.is_closed(&seen, &headers) {
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    seen.diffs.push(serde_json::from_slice(&body).unwrap());
    let answer = api.take(&mut seen, Vec::new());
    api.answer(&mut seen, &answer)
}

async fn turn(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Answer {
    let mut seen = api.seen.lock().unwrap();
    if api.is_closed(&seen, &headers) {
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    let record: TurnRecord = serde_json::from_slice(&body).unwrap();
    seen.turns.retain(|earlier| *earlier != record);
    seen.turns.push(record);
    api.answer(&mut seen, &serde_json::json!({}))
}

/// All are opened or none; a request that comes again is answered as before.
async fn children(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Answer {
    api.hold(&Fault::HoldsChildren).await;
    let mut seen = api.seen.lock().unwrap();
    if api.is_closed(&seen, &headers) {
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    if api.fault == Fault::RefusesChildren {
        return (StatusCode::BAD_REQUEST, b"no children today".to_vec());
    }
    let asked: Children = serde_json::from_slice(&body).unwrap();
    let known = seen.children.iter().find(|(known, _)| *known == asked);
    if let Some((_, answer)) = known.cloned() {
        return api.answer(&mut seen, &answer);
    }
    let mut answer = ChildrenAnswer {
        opened: Vec::new(),
        errors: Vec::new(),
    };
    for (i, child) in asked.children.iter().enumerate() {
        if child["taskPrompt"].as_str().is_none_or(str::is_empty) {
            let error = format!("/children/{i}/taskPrompt must not be empty");
            answer.errors.push(error);
        }
        answer.opened.push(child_id(i));
    }
    if !answer.errors.is_empty() {
        answer.opened.clear();
    }
    seen.children.push((asked, answer.clone()));
    api.answer(&mut seen, &answer)
}

async fn credentials(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Answer {
    let mut seen = api.seen.lock().unwrap();
    if api.is_closed(&seen, &headers) || body != "{}" {
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    let last = match api.fault {
        Fault::CredentialsLast(seconds) => seconds.get(seen.issued).or(seconds.last()).copied(),
        _ => Some(3_600),
    };
    let Some(seconds) = last else {
        return (StatusCode::INTERNAL_SERVER_ERROR, b"no".to_vec());
    };
    seen.issued += 1;
    let issued = crate::bedrock::credentials(seen.issued, seconds);
    api.answer(&mut seen, &issued)
}

/// The id of a run's child.
pub fn child_id(number: usize) -> WorkOrderId {
    WorkOrderId::new(Timestamp::from_epoch_ms(1_790_000_001_000), number as u128)
}

async fn finish(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Answer {
    api.hold(&Fault::HoldsFinish).await;
    let mut seen = api.seen.lock().unwrap();
    if api.refuses(&seen, &headers) || api.fault == Fault::RefusesFinish {
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    let finish: Finish = serde_json::from_slice(&body).unwrap();
    let answer = api.take(&mut seen, finish.events.clone());
    if seen.finish.as_ref().is_some_and(|first| *first != finish) {
        seen.violations.push("another finish".to_owned());
    }
    seen.finish = Some(finish);
    api.answer(&mut seen, &answer)
}
