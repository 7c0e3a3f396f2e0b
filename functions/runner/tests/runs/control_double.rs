//! Stands in for the control API, with its rules and nothing else: a nonce is good for one token,
//! every number is taken once and in order, a fenced runner hears 409.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use awo_domain::control::{
    Claim, Finish, NumberedEvent, Report, ReportAnswer, RunSpec, RunnerEvent,
};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde::Serialize;

/// How the double misbehaves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fault {
    #[default]
    None,
    /// Every second call is done, and its answer is lost.
    LosesEverySecondAnswer,
    /// The runner is fenced by the answer to its first `IterationStarted`, which comes as soon as
    /// this file is there.
    FencesWhenThereIs(PathBuf),
}

#[derive(Debug, Default)]
pub struct Seen {
    pub token: Option<String>,
    pub claims: u32,
    pub events: Vec<NumberedEvent>,
    pub finish: Option<Finish>,
    pub violations: Vec<String>,
    calls: u64,
    fenced: bool,
}

pub struct ControlDouble {
    pub url: String,
    seen: Arc<Mutex<Seen>>,
    _stop: tokio::sync::oneshot::Sender<()>,
}

struct Api {
    spec: RunSpec,
    nonce: String,
    fault: Fault,
    seen: Arc<Mutex<Seen>>,
}

impl ControlDouble {
    pub fn start(spec: RunSpec, nonce: String, fault: Fault) -> ControlDouble {
        let seen = Arc::new(Mutex::new(Seen::default()));
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
            .route(&format!("/stage{reports}/finish"), post(finish))
            .with_state(api);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/stage/", listener.local_addr().unwrap());
        let (stop, stopped) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    served = axum::serve(listener, app) => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        ControlDouble {
            url,
            seen,
            _stop: stop,
        }
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }
}

type Answer = (StatusCode, Vec<u8>);

impl Api {
    /// Done is done, but the answer may be lost.
    fn answer(&self, seen: &mut Seen, body: &impl Serialize) -> Answer {
        seen.calls += 1;
        if self.fault == Fault::LosesEverySecondAnswer && seen.calls % 2 == 1 {
            return (StatusCode::BAD_GATEWAY, b"lost".to_vec());
        }
        (StatusCode::OK, serde_json::to_vec(body).unwrap())
    }

    fn refuses(&self, seen: &Seen, headers: &HeaderMap) -> bool {
        let wanted = format!("Bearer {}", seen.token.as_deref().unwrap_or("none"));
        let given = headers.get("authorization").and_then(|v| v.to_str().ok());
        seen.fenced || given != Some(wanted.as_str())
    }

    fn take(&self, seen: &mut Seen, events: Vec<NumberedEvent>) -> ReportAnswer {
        for event in events {
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
            wish: None,
        }
    }
}

async fn claim(State(api): State<Arc<Api>>, body: Bytes) -> Answer {
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
    let mut seen = api.seen.lock().unwrap();
    if api.refuses(&seen, &headers) {
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    let report: Report = serde_json::from_slice(&body).unwrap();
    if report.events.len() > awo_domain::control::MAX_REPORTED_EVENTS {
        seen.violations
            .push("too many events in a report".to_owned());
    }
    let starts =
        |event: &NumberedEvent| matches!(event.event, RunnerEvent::IterationStarted { .. });
    if let (Fault::FencesWhenThereIs(file), true) = (&api.fault, report.events.iter().any(starts)) {
        drop(seen);
        crate::scene::until("the agent runs", || file.exists());
        api.seen.lock().unwrap().fenced = true;
        return (StatusCode::CONFLICT, b"fenced".to_vec());
    }
    let answer = api.take(&mut seen, report.events);
    api.answer(&mut seen, &answer)
}

async fn finish(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Answer {
    let mut seen = api.seen.lock().unwrap();
    if api.refuses(&seen, &headers) {
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
