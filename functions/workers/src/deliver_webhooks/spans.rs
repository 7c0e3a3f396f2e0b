//! Spans of a run: the body for a webhook of the kind `otlp`. It is made of what is stored, once the run is settled,
//! and is the same at each attempt. A run never waits for it.

use awo_domain::event::{TimelineEvent, TimelineEventType as T};
use awo_domain::money::MicroCredits;
use awo_domain::otlp::{Attribute, SpanEvent, SpanId, SpanStatus, TraceId, TraceSpan, request};
use awo_domain::run::RunStatus;
use awo_domain::usage::PricedUsage;
use awo_domain::{Error, OrgId, RunId, Timestamp};
use awo_store::Store;
use awo_store::runs::Run;
use awo_store::work_orders::WorkOrder;
use serde_json::Value;

/// Events of one page, and pages that are read at most: beyond them a run has its root alone for the rest.
const PAGE: u32 = 100;
const MAX_PAGES: u32 = 40;

/// The state of a run's spans.
#[derive(Debug)]
pub(super) enum SpansOutcome {
    /// The body of a request.
    Ready(String),
    /// The run is not settled.
    Unsettled,
    /// The run was purged.
    Gone,
}

/// Opening, end and place of a span.
struct Phase {
    name: &'static str,
    opens: T,
    ends: &'static [T],
    /// True if it lies in the iteration that is open.
    is_of_iteration: bool,
}

/// Every span below the root but the queue's, by the timeline's events; the end of a run ends all.
const PHASES: [Phase; 8] = [
    Phase {
        name: "prepare",
        opens: T::RunStarted,
        ends: &[
            T::WorkspaceReady,
            T::IterationStarted,
            T::VerificationStarted,
        ],
        is_of_iteration: false,
    },
    Phase {
        name: ITERATION,
        opens: T::IterationStarted,
        ends: &[
            T::IterationStarted,
            T::DeliveryStarted,
            T::RunWaiting,
            T::IntegrationStarted,
        ],
        is_of_iteration: false,
    },
    Phase {
        name: AGENT,
        opens: T::IterationStarted,
        ends: &[T::AgentFinished],
        is_of_iteration: true,
    },
    Phase {
        name: "wait_for_provider",
        opens: T::ProviderWaiting,
        ends: &[T::ProviderResumed, T::AgentFinished],
        is_of_iteration: true,
    },
    Phase {
        name: "verify",
        opens: T::VerificationStarted,
        ends: &[T::VerificationPassed, T::VerificationFailed],
        is_of_iteration: true,
    },
    Phase {
        name: "wait_for_children",
        opens: T::RunWaiting,
        ends: &[T::RunIntegrating],
        is_of_iteration: false,
    },
    Phase {
        name: "integrate",
        opens: T::IntegrationStarted,
        ends: &[T::IterationStarted, T::DeliveryStarted],
        is_of_iteration: false,
    },
    Phase {
        name: "deliver",
        opens: T::DeliveryStarted,
        ends: &[T::DeliveryFinished, T::DeliverySkipped],
        is_of_iteration: false,
    },
];
const ITERATION: &str = "iteration";
const AGENT: &str = "invoke_agent";

/// Reads a run and makes its spans.
///
/// # Errors
/// Internal, when DynamoDB fails.
pub(super) async fn of_run(
    store: &Store,
    (org, run): (&OrgId, &RunId),
    now: Timestamp,
) -> Result<SpansOutcome, Error> {
    let Some(run) = store.run(org, run).await? else {
        return Ok(SpansOutcome::Gone);
    };
    if run.settled_at.is_none() {
        return Ok(SpansOutcome::Unsettled);
    }
    let order = store.work_order(org, &run.work_order_id).await?;
    let events = events(store, org, &run.run_id, now).await?;
    let trace = TraceId::of(run.run_id.as_str());
    let mut spans = vec![root(&trace, &run, order.as_ref())];
    spans.push(queue(&trace, &run));
    spans.extend(phases(&trace, &run, order.as_ref(), &events));
    Ok(SpansOutcome::Ready(request(&trace, &spans)))
}

async fn events(
    store: &Store,
    org: &OrgId,
    run: &RunId,
    now: Timestamp,
) -> Result<Vec<TimelineEvent>, Error> {
    let mut events: Vec<TimelineEvent> = Vec::new();
    for _ in 0..MAX_PAGES {
        let after = events.last().map_or(0, |event| event.sequence);
        let page = store.events(org, run, after, PAGE, now).await?;
        events.extend(page.items);
        if !page.has_more {
            break;
        }
    }
    Ok(events)
}

fn root_id(trace: &TraceId) -> SpanId {
    trace.span("run")
}

fn end_of(run: &Run) -> Timestamp {
    run.completed_at.unwrap_or(run.created_at)
}

fn root(trace: &TraceId, run: &Run, order: Option<&WorkOrder>) -> TraceSpan {
    let mut attributes = vec![
        Attribute::text("awo.run.id", run.run_id.as_str()),
        Attribute::text("awo.work_order.id", run.work_order_id.as_str()),
        Attribute::text("awo.run.status", run.status.as_str()),
        Attribute::flag("awo.run.verified", run.verified),
        Attribute::whole("awo.run.iterations", i64::from(run.iteration)),
    ];
    if let Some(order) = order {
        let repository = order.source.repository.as_str();
        attributes.push(Attribute::text("awo.repository", repository));
        attributes.push(Attribute::text("awo.harness", &order.terms.harness));
        attributes.extend(agent(order));
    }
    if let Some(tenant) = &run.tenant_context {
        attributes.push(Attribute::text("awo.tenant.id", &tenant.tenant_id));
    }
    if let Some(cost) = &run.cost {
        let credits = MicroCredits::from_micro(cost.credits_micro).to_decimal();
        attributes.push(Attribute::number("awo.cost.credits", credits));
        attributes.push(Attribute::number("awo.cost.usd", usd(cost.usd_nano)));
    }
    if let Some(url) = &run.pr_url {
        attributes.push(Attribute::text("awo.pull_request.url", url.as_str()));
    }
    attributes.extend(tokens(
        run.usage
            .iter()
            .map(|one| (one.usage.input_tokens, one.usage.output_tokens)),
    ));
    if let Some(error) = &run.error {
        attributes.push(Attribute::text("error.type", error.code.as_str()));
    }
    let ended_at = end_of(run);
    let message = run.error.as_ref().map(|error| error.message.clone());
    let status = match run.status {
        RunStatus::Succeeded => SpanStatus::Ok,
        RunStatus::Failed => SpanStatus::Error,
        _ => SpanStatus::Unset,
    };
    TraceSpan {
        name: "run".to_owned(),
        id: root_id(trace),
        parent: None,
        time: (run.created_at, ended_at),
        attributes,
        events: run.usage.iter().map(|one| used(one, ended_at)).collect(),
        status: (status, message),
    }
}

/// Usage of one model: runs may use several, which attributes of one span cannot tell apart.
fn used(one: &PricedUsage, moment: Timestamp) -> SpanEvent {
    let usage = &one.usage;
    let mut attributes = vec![Attribute::text("gen_ai.request.model", &usage.model)];
    attributes.extend(tokens([(usage.input_tokens, usage.output_tokens)]));
    let cached = i64::try_from(usage.cached_input_tokens).unwrap_or(i64::MAX);
    attributes.push(Attribute::whole(
        "gen_ai.usage.cache_read.input_tokens",
        cached,
    ));
    if let Some(nano) = one.cost_usd_nano {
        attributes.push(Attribute::number("awo.cost.usd", usd(nano)));
    }
    SpanEvent::new("gen_ai.usage", moment, attributes)
}

fn agent(order: &WorkOrder) -> Vec<Attribute> {
    let agent = &order.terms.agent;
    let name = Attribute::text("gen_ai.agent.name", agent.kind.as_str());
    let model = agent.model.as_ref();
    let model = model.map(|model| Attribute::text("gen_ai.request.model", model));
    [name].into_iter().chain(model).collect()
}

/// Attributes of input and output, without any if nothing was used.
fn tokens(counts: impl IntoIterator<Item = (u64, u64)>) -> Vec<Attribute> {
    let (input, output) = counts
        .into_iter()
        .fold((0, 0), |(input, output): (u64, u64), one| {
            (input.saturating_add(one.0), output.saturating_add(one.1))
        });
    let whole = |key, count| Attribute::whole(key, i64::try_from(count).unwrap_or(i64::MAX));
    if input == 0 && output == 0 {
        return Vec::new();
    }
    vec![
        whole("gen_ai.usage.input_tokens", input),
        whole("gen_ai.usage.output_tokens", output),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "a price, for people")]
fn usd(nano: i64) -> f64 {
    nano as f64 / 1e9
}

/// The time until the run got its slot.
fn queue(trace: &TraceId, run: &Run) -> TraceSpan {
    let until = run.started_at.unwrap_or_else(|| end_of(run));
    TraceSpan {
        name: "queue".to_owned(),
        id: trace.span("queue"),
        parent: Some(root_id(trace)),
        time: (run.created_at, until),
        attributes: Vec::new(),
        events: Vec::new(),
        status: (SpanStatus::Unset, None),
    }
}

/// A phase that has begun.
struct OpenPhase<'a> {
    phase: &'a Phase,
    span: TraceSpan,
}

fn phases(
    trace: &TraceId,
    run: &Run,
    order: Option<&WorkOrder>,
    events: &[TimelineEvent],
) -> Vec<TraceSpan> {
    let (mut open, mut spans): (Vec<OpenPhase<'_>>, Vec<TraceSpan>) = (Vec::new(), Vec::new());
    for event in events {
        let Some(kind) = T::parse(&event.kind) else {
            continue;
        };
        let (ended, others) = open
            .into_iter()
            .partition::<Vec<_>, _>(|one| one.phase.ends.contains(&kind));
        open = others;
        spans.extend(ended.into_iter().map(|one| closed(one, event)));
        for phase in PHASES.iter().filter(|phase| phase.opens == kind) {
            let iteration = open.iter().find(|one| one.phase.name == ITERATION);
            let parent = iteration.filter(|_| phase.is_of_iteration);
            let parent = parent.map_or_else(|| root_id(trace), |one| one.span.id.clone());
            open.push(OpenPhase {
                phase,
                span: begun(trace, phase, parent, event, order),
            });
        }
    }
    let ended_at = end_of(run);
    spans.extend(open.into_iter().map(|one| TraceSpan {
        time: (one.span.time.0, ended_at),
        ..one.span
    }));
    spans
}

fn begun(
    trace: &TraceId,
    phase: &Phase,
    parent: SpanId,
    event: &TimelineEvent,
    order: Option<&WorkOrder>,
) -> TraceSpan {
    let mut attributes = Vec::new();
    if let Some(iteration) = event.data["iteration"].as_i64() {
        attributes.push(Attribute::whole("awo.iteration", iteration));
    }
    let mut name = phase.name.to_owned();
    if phase.name == AGENT {
        attributes.push(Attribute::text("gen_ai.operation.name", AGENT));
        if let Some(order) = order {
            // The name that the conventions for agents ask for.
            name = format!("{AGENT} {}", order.terms.agent.kind.as_str());
            attributes.extend(agent(order));
        }
    }
    TraceSpan {
        name,
        id: trace.span(&format!("{}/{}", phase.name, event.sequence)),
        parent: Some(parent),
        time: (event.timestamp, event.timestamp),
        attributes,
        events: Vec::new(),
        status: (SpanStatus::Unset, None),
    }
}

/// The span of a phase that an event ends, with what the event tells of it.
fn closed(open: OpenPhase<'_>, event: &TimelineEvent) -> TraceSpan {
    let (data, mut span) = (&event.data, open.span);
    span.time.1 = event.timestamp;
    if open.phase.name == AGENT {
        let usage = data["usage"].as_array().map_or(&[][..], Vec::as_slice);
        let count = |one: &Value, key: &str| one[key].as_u64().unwrap_or(0);
        let counts = usage
            .iter()
            .map(|one| (count(one, "inputTokens"), count(one, "outputTokens")));
        span.attributes.extend(tokens(counts));
        if let Some(code) = data["exitCode"].as_i64() {
            span.attributes
                .push(Attribute::whole("process.exit.code", code));
        }
        if data["completed"] == false {
            span.status = (SpanStatus::Error, None);
        }
    }
    if T::parse(&event.kind) == Some(T::VerificationFailed)
        && open.phase.opens == T::VerificationStarted
    {
        span.status = (SpanStatus::Error, None);
    }
    span
}
