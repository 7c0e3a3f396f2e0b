//! Metrics of the local service for Prometheus, on a separate port: the counts of the deployment's
//! metric filters (`template.yaml`), from the same log lines, and the numbers of waiting and
//! running work, read at each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};

use awo_store::Store;
use http::{Method, Response, StatusCode, header};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};
use tokio::net::TcpListener;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::serve::{self, Answer, Limits, Server};
use crate::shutdown::Shutdown;

/// Where Prometheus asks.
pub const PATH: &str = "/metrics";
/// Organizations whose queues are read for one answer; further ones are left out of its sums.
const MAX_ORGANIZATIONS: usize = 1_000;
const LIMITS: Limits = Limits {
    connections: 8,
    head_bytes: 16_384,
    head_time: std::time::Duration::from_secs(120),
};
/// Bounds of the time of a request, in seconds.
const REQUEST_SECONDS: [f64; 9] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];
/// Bounds of the time until an agent starts, in seconds.
const START_SECONDS: [f64; 8] = [0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0];

type Label = (&'static str, String);

/// The counters. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Counts>);

struct Counts {
    registry: Registry,
    requests: Family<[Label; 1], Counter>,
    request_seconds: Histogram,
    errors: Counter,
    dispatched: Counter,
    settled: Family<[Label; 1], Counter>,
    run_minutes: Counter<f64, AtomicU64>,
    run_credits: Counter<f64, AtomicU64>,
    agent_start_seconds: Histogram,
    at_task_limit: Counter,
    waiting: Gauge<i64, AtomicI64>,
    running: Gauge<i64, AtomicI64>,
}

/// Registers a metric, and gives what counts it.
fn registered<M: Metric + Clone>(
    registry: &mut Registry,
    (name, help): (&'static str, &'static str),
    metric: M,
) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// Registers a histogram of seconds, and gives what observes it.
fn seconds<const N: usize>(
    registry: &mut Registry,
    (name, help): (&'static str, &'static str),
    bounds: [f64; N],
) -> Histogram {
    let histogram = Histogram::new(bounds);
    registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
    histogram
}

impl Default for Metrics {
    fn default() -> Metrics {
        let mut all = Registry::with_prefix("awo");
        let of = &mut all;
        let requests = ("requests", "Answers of the API, by status");
        let request = (
            "request_duration",
            "Time from a request to the head of its answer",
        );
        let errors = ("errors_logged", "Lines of the log of level error");
        let dispatched = ("runs_dispatched", "Runs that got a slot");
        let settled = ("runs_settled", "Runs whose charge is known, by outcome");
        let minutes = ("run_minutes", "Minutes of settled runs");
        let credits = ("run_credits", "Credits of settled runs");
        let start = (
            "agent_start",
            "Time from the creation of a run to its first agent process",
        );
        let at_limit = (
            "at_task_limit",
            "Dispatches that found the deployment at its task limit",
        );
        let waiting = ("queue_waiting", "Work orders that wait in queues");
        let running = ("slots_taken", "Slots that are taken");
        Metrics(Arc::new(Counts {
            requests: registered(of, requests, Family::default()),
            request_seconds: seconds(of, request, REQUEST_SECONDS),
            errors: registered(of, errors, Counter::default()),
            dispatched: registered(of, dispatched, Counter::default()),
            settled: registered(of, settled, Family::default()),
            run_minutes: registered(of, minutes, Counter::default()),
            run_credits: registered(of, credits, Counter::default()),
            agent_start_seconds: seconds(of, start, START_SECONDS),
            at_task_limit: registered(of, at_limit, Counter::default()),
            waiting: registered(of, waiting, Gauge::default()),
            running: registered(of, running, Gauge::default()),
            registry: all,
        }))
    }
}

impl Metrics {
    /// Serves them on loopback until the shutdown.
    ///
    /// # Errors
    /// When the listener is not on loopback.
    pub(crate) fn serve(
        &self,
        listener: TcpListener,
        store: Store,
        shutdown: Shutdown,
    ) -> std::io::Result<Server> {
        let metrics = self.clone();
        serve::serve(listener, LIMITS, shutdown, move |request, _| {
            let (metrics, store) = (metrics.clone(), store.clone());
            async move {
                match (request.method(), request.uri().path()) {
                    (&Method::GET, PATH) => metrics.answer(&store).await,
                    _ => plain(StatusCode::NOT_FOUND, format!("Metrics are at {PATH}.\n")),
                }
            }
        })
    }

    async fn answer(&self, store: &Store) -> Answer {
        if let Err(error) = self.read_queues(store).await {
            tracing::error!(
                event = "metrics_not_read",
                ?error,
                "the queues could not be read"
            );
            let why = "the queues could not be read\n".to_owned();
            return plain(StatusCode::SERVICE_UNAVAILABLE, why);
        }
        let mut text = String::new();
        match encode(&mut text, &self.0.registry) {
            Ok(()) => plain(StatusCode::OK, text),
            Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, String::new()),
        }
    }

    async fn read_queues(&self, store: &Store) -> Result<(), awo_domain::Error> {
        let (mut waiting, mut running) = (0, 0);
        for org in store.organizations().await?.iter().take(MAX_ORGANIZATIONS) {
            let tally = store.tally(org).await?;
            waiting += tally.waiting;
            running += tally.slots;
        }
        self.0.waiting.set(waiting);
        self.0.running.set(running);
        Ok(())
    }

    fn count(&self, line: &Line) {
        let counts = &self.0;
        match line.event.as_str() {
            "request" | "request_failed" => {
                let status = line.status.to_string();
                counts.requests.get_or_create(&[("status", status)]).inc();
                counts.request_seconds.observe(line.ms / 1_000.0);
            }
            "dispatched" => drop(counts.dispatched.inc()),
            "run_settled" => {
                let outcome = match line.succeeded {
                    Some(0) => "failed",
                    Some(_) => "succeeded",
                    None => "canceled",
                };
                let outcome = [("outcome", outcome.to_owned())];
                counts.settled.get_or_create(&outcome).inc();
                counts.run_minutes.inc_by(line.minutes.max(0.0));
                counts.run_credits.inc_by(line.credits.max(0.0));
            }
            "first_agent_started" => counts.agent_start_seconds.observe(line.seconds),
            "task_limit" => drop(counts.at_task_limit.inc()),
            _ => {}
        }
    }
}

fn plain(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(serve::whole(text));
    *answer.status_mut() = status;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    answer
}

/// The fields of a line of the log that something is counted by.
#[derive(Default)]
struct Line {
    event: String,
    status: u64,
    ms: f64,
    succeeded: Option<u64>,
    minutes: f64,
    credits: f64,
    seconds: f64,
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "event" {
            value.clone_into(&mut self.event);
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "status" => self.status = value,
            "succeeded" => self.succeeded = Some(value),
            "ms" => self.ms = value as f64,
            _ => {}
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        if let Ok(value) = u64::try_from(value) {
            self.record_u64(field, value);
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        match field.name() {
            "ms" => self.ms = value,
            "minutes" => self.minutes = value,
            "credits" => self.credits = value,
            "seconds" => self.seconds = value,
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl<S: Subscriber> Layer<S> for Metrics {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == Level::ERROR {
            self.0.errors.inc();
        }
        let mut line = Line::default();
        event.record(&mut line);
        self.count(&line);
    }
}
