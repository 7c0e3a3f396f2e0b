//! `POST /v1/work-orders`: creates a work order, its first run and its queue entry, or nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use awo_cloud::queue::{RunQueue, WakeUp};
use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::work_orders::output::WorkOrderShape;
use awo_domain::Error;
use awo_domain::environment::{EnvironmentContent, EnvironmentName};
use awo_domain::profile::Profile;
use awo_domain::work_order::Order;
use awo_execution::creation::Creation;
use awo_http::work_order_request::{Defaults, NamedResources, WorkOrderRequest};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::costs::policy::CostPolicy;
use awo_store::engine::idempotency::{IdempotentRequest, RequestOutcome};
use awo_store::queue::tally::QueueLimits;
use awo_store::work_orders::Account;
use awo_store::{Store, Tries};

struct State {
    store: Store,
    queue: RunQueue,
    limits: QueueLimits,
    creation: Creation,
    defaults: Defaults,
}

/// The function `create-work-order`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        queue: cloud.run_queue()?,
        limits: settings::queue_limits(&cloud.environment)?,
        creation: Creation::new(cloud)?,
        defaults: Defaults::of(&cloud.environment)?,
    };
    HttpFunction::keyed(cloud, &routes::CREATE_WORK_ORDER, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let asked = match state.asked(&call).await {
        Ok(read) => read,
        Err(error) => return answered_before(&state, &call, idempotent.as_ref(), error).await,
    };
    let mut policy = state.store.known_cost_policy(call.org());
    let mut tries = Tries::new("create: the cost labels kept changing");
    loop {
        tries.next().await?;
        let labels = match state.labels(&call, &asked, &mut policy).await {
            Ok(labels) => labels,
            Err(error) => return answered_before(&state, &call, idempotent.as_ref(), error).await,
        };
        let account = Account::of_key(&call.caller.key_id, labels, policy.version);
        let created = state.create(&call, &asked, account, idempotent.as_ref());
        if let Some(answer) = created.await? {
            return Ok(answer);
        }
        policy = state.store.cost_policy(call.org()).await?;
    }
}

/// What is asked, with what it names.
struct CreateRequest {
    order: Order,
    profile: Profile,
    depth: u32,
    parents_labels: Option<BTreeMap<String, String>>,
}

impl State {
    /// None if the organization declares other things about its costs than was thought.
    async fn create(
        &self,
        call: &Call,
        asked: &CreateRequest,
        account: Account,
        idempotent: Option<&IdempotentRequest>,
    ) -> Result<Option<Answer>, Error> {
        let (order, depth) = (asked.order.clone(), asked.depth);
        let creation = &self.creation;
        let mut new =
            creation.new_work_order(call.org(), order, &asked.profile, depth, call.now)?;
        new.account = account;
        let (work_order, prompt) = (new.work_order(), &new.order.task_prompt);
        let answer = Answer::created(WorkOrderShape::of(&work_order, prompt))?;
        let response = call.response(idempotent, &answer);
        let store = &self.store;
        let created = store.create_work_order(&new, self.limits, response.as_ref());
        let Some(created) = created.await? else {
            return Ok(None);
        };
        if let RequestOutcome::New(()) = created {
            let wake_up = WakeUp::of(call.org());
            self.queue.wake_or_leave_to_sweep(&wake_up).await;
        }
        Ok(Some(answer.unless_replayed(created)))
    }

    /// The values of the cost labels. Before a missing one is reported, the declaration
    /// is read.
    async fn labels(
        &self,
        call: &Call,
        asked: &CreateRequest,
        policy: &mut CostPolicy,
    ) -> Result<BTreeMap<String, String>, Error> {
        let (metadata, parent) = (&asked.order.terms.metadata, asked.parents_labels.as_ref());
        if let Ok(values) = policy.labels.values(metadata, parent) {
            return Ok(values);
        }
        *policy = self.store.cost_policy(call.org()).await?;
        policy
            .labels
            .values(metadata, parent)
            .map_err(Error::Invalid)
    }

    async fn environment(
        &self,
        call: &Call,
        name: Option<EnvironmentName>,
    ) -> Result<Option<EnvironmentContent>, Error> {
        let Some(name) = name else {
            return Ok(None);
        };
        let known = self.store.environment(call.org(), &name).await?;
        Ok(known.map(|known| known.environment.content))
    }

    async fn asked(&self, call: &Call) -> Result<CreateRequest, Error> {
        let request = WorkOrderRequest::read(call.object()?, &self.defaults);
        let template = async {
            match request.template() {
                Some(id) => self.store.template(call.org(), id).await,
                None => Ok(None),
            }
        };
        let profile = async {
            match request.profile() {
                Some(name) => self.store.resolved_profile(call.org(), name).await,
                None => Ok(None),
            }
        };
        let parent = async {
            match request.parent() {
                Some(id) => self.store.work_order(call.org(), id).await,
                None => Ok(None),
            }
        };
        let (template, profile, parent) = tokio::try_join!(template, profile, parent)?;
        let template = template.as_ref().map(|known| &known.template.content);
        let environment = request.environment(template, profile.as_ref());
        let named = NamedResources {
            environment: self.environment(call, environment).await?,
            template,
            profile,
            parent: parent.as_ref(),
        };
        let (order, profile) = request.resolve(&self.defaults, named)?;
        self.creation.check_hold(&order, &profile)?;
        Ok(CreateRequest {
            order,
            profile,
            depth: parent.as_ref().map_or(0, |parent| parent.depth + 1),
            parents_labels: parent.map(|parent| parent.cost_labels),
        })
    }
}

/// The first answer to a body that was good once: its template or its profile may have changed
/// since.
async fn answered_before(
    state: &State,
    call: &Call,
    request: Option<&IdempotentRequest>,
    error: Error,
) -> Result<Answer, Error> {
    let (Some(request), Error::Invalid(_)) = (request, &error) else {
        return Err(error);
    };
    let first = state.store.stored_response(call.org(), request, call.now);
    match first.await {
        Ok(Some(first)) => Ok(Answer::replayed(201, first)),
        Ok(None) | Err(Error::IdempotencyMismatch) => Err(error),
        Err(failed) => Err(failed),
    }
}
