//! Opens a work order of a client's request: reads the resources that the request names, and creates the
//! work order with its first run and its queue entry, or nothing. It knows no HTTP, so a worker can open
//! one, too.

use std::collections::BTreeMap;

use awo_cloud::queue::{RunQueue, WakeUp};
use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::body::Object;
use awo_domain::api_key::KeyId;
use awo_domain::environment::{EnvironmentContent, EnvironmentName};
use awo_domain::profile::Profile;
use awo_domain::work_order::Order;
use awo_domain::{Error, OrgId, Resource, Timestamp, WorkOrderId};
use awo_store::costs::policy::CostPolicy;
use awo_store::engine::idempotency::{NewResponse, RequestOutcome};
use awo_store::queue::tally::QueueLimits;
use awo_store::schedules::ScheduleStep;
use awo_store::triggers::TriggerStep;
use awo_store::work_orders::threads::FollowUp;
use awo_store::work_orders::{Account, NewWorkOrder, OriginStep};
use awo_store::{Store, Tries};

use crate::creation::Creation;
use crate::request::{Defaults, FollowUpRequest, NamedResources, TurnBefore, WorkOrderRequest};

/// Opens work orders.
#[derive(Debug)]
pub struct Opener {
    store: Store,
    queue: RunQueue,
    limits: QueueLimits,
    creation: Creation,
    defaults: Defaults,
}

/// A request for a work order.
#[derive(Debug)]
pub struct OpenRequest<'a> {
    /// The organization.
    pub org: &'a OrgId,
    /// Who asks for it.
    pub requester: Requester<'a>,
    /// The body, as it was read.
    pub body: RequestBody,
    /// Time of the request.
    pub now: Timestamp,
}

/// The body of a request.
#[derive(Debug)]
pub enum RequestBody {
    /// Of a create, by [`Opener::read`].
    Create(WorkOrderRequest),
    /// Of a follow-up.
    FollowUp {
        /// A turn of the thread.
        turn: WorkOrderId,
        /// The body.
        body: FollowUpRequest,
    },
}

/// The requester of a work order, to whom it is attributed.
#[derive(Debug, Clone, Copy)]
pub enum Requester<'a> {
    /// A client with this API key.
    Client(&'a KeyId),
    /// A schedule, by a step that is part of the creation.
    Schedule(&'a ScheduleStep),
    /// A trigger, by a step that is part of the creation.
    Trigger(&'a TriggerStep),
}

/// Outcome of a request.
#[derive(Debug)]
pub enum OpenOutcome<A> {
    /// The work order exists.
    Done {
        /// The caller's answer.
        answer: A,
        /// Creation by this request, or by an earlier one with the same key.
        outcome: RequestOutcome<()>,
    },
    /// The request has faults, or names what does not exist; nothing was written.
    Refused(Error),
}

/// A request with the resources that it names.
struct ResolvedRequest {
    order: Order,
    profile: Profile,
    depth: u32,
    /// The labels of the parent, or of the turn before.
    parents_labels: Option<BTreeMap<String, String>>,
    follow_up: Option<FollowUp>,
    /// Metadata that a follow-up names; no cost label may be among it.
    named_labels: Option<BTreeMap<String, String>>,
}

impl Opener {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting is missing or not valid.
    pub fn new(cloud: &Cloud) -> Result<Opener, SetupError> {
        Ok(Opener {
            store: cloud.store()?,
            queue: cloud.run_queue()?,
            limits: settings::queue_limits(&cloud.environment)?,
            creation: Creation::new(cloud)?,
            defaults: Defaults::of(&cloud.environment)?,
        })
    }

    /// Reads a body. Faults are reported by [`Opener::open_work_order`], together with those of the
    /// resources that it names.
    #[must_use]
    pub fn read(&self, body: Object) -> WorkOrderRequest {
        WorkOrderRequest::read(body, &self.defaults)
    }

    /// Opens a work order. `respond` returns the caller's answer, and the response that is stored with
    /// the work order for repetitions of the request.
    ///
    /// # Errors
    /// Those of the creation: credits, budgets, a full queue.
    pub async fn open_work_order<'r, A>(
        &self,
        request: OpenRequest<'_>,
        respond: impl Fn(&NewWorkOrder) -> Result<(A, Option<NewResponse<'r>>), Error>,
    ) -> Result<OpenOutcome<A>, Error> {
        let (org, requester, now) = (request.org, request.requester, request.now);
        let (first, again) = match request.body {
            RequestBody::Create(body) => (self.resolved(org, body).await, None),
            RequestBody::FollowUp { turn, body } => {
                let first = self.resolved_follow_up(org, &turn, body.clone());
                (first.await, Some((turn, body)))
            }
        };
        let mut resolved = match first {
            Ok(resolved) => resolved,
            Err(error) => return Ok(OpenOutcome::Refused(error)),
        };
        let mut policy = self.store.known_cost_policy(org);
        let mut tries = Tries::new("create: the cost labels kept changing");
        loop {
            tries.next().await?;
            let labels = match self.labels(org, &resolved, &mut policy).await {
                Ok(labels) => labels,
                Err(error) => return Ok(OpenOutcome::Refused(error)),
            };
            let (order, depth) = (resolved.order.clone(), resolved.depth);
            let mut new =
                (self.creation).new_work_order(org, order, &resolved.profile, depth, now)?;
            match requester {
                Requester::Client(key) => {
                    new.account = Account::of_key(key, labels, policy.version);
                }
                Requester::Schedule(step) => {
                    new.account = Account::of_schedule(&step.new, labels, policy.version);
                    new.step = Some(OriginStep::Schedule(Box::new(step.clone())));
                }
                Requester::Trigger(step) => {
                    new.account = Account::of_trigger(&step.new, labels, policy.version);
                    new.step = Some(OriginStep::Trigger(Box::new(step.clone())));
                }
            }
            new.follow_up.clone_from(&resolved.follow_up);
            let (answer, response) = respond(&new)?;
            let created = (self.store).create_work_order(&new, self.limits, response.as_ref());
            if let Some(outcome) = created.await? {
                if let RequestOutcome::New(()) = outcome {
                    self.queue.wake_or_leave_to_sweep(&WakeUp::of(org)).await;
                }
                return Ok(OpenOutcome::Done { answer, outcome });
            }
            // The organization has declared other cost labels meanwhile, or the thread has another turn.
            policy = self.store.cost_policy(org).await?;
            if let Some((turn, body)) = &again {
                resolved = match self.resolved_follow_up(org, turn, body.clone()).await {
                    Ok(resolved) => resolved,
                    Err(error) => return Ok(OpenOutcome::Refused(error)),
                };
            }
        }
    }

    /// Checks a body as far as it depends on what the organization has now.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault.
    pub async fn check(&self, org: &OrgId, body: WorkOrderRequest) -> Result<(), Error> {
        let resolved = self.resolved(org, body).await?;
        let mut policy = self.store.cost_policy(org).await?;
        self.labels(org, &resolved, &mut policy).await?;
        Ok(())
    }

    /// The values of the cost labels. Before a missing one is reported, the declaration is read.
    async fn labels(
        &self,
        org: &OrgId,
        request: &ResolvedRequest,
        policy: &mut CostPolicy,
    ) -> Result<BTreeMap<String, String>, Error> {
        let metadata = &request.order.terms.metadata;
        let parent = request.parents_labels.as_ref();
        if request.follow_up.is_some() {
            let named = request.named_labels.iter().flatten();
            let faults = policy
                .labels
                .faults_of_fixed(named.map(|(name, _)| name.as_str()));
            Error::if_any(faults)?;
            return Ok(parent.cloned().unwrap_or_default());
        }
        if let Ok(values) = policy.labels.values(metadata, parent) {
            return Ok(values);
        }
        *policy = self.store.cost_policy(org).await?;
        policy
            .labels
            .values(metadata, parent)
            .map_err(Error::Invalid)
    }

    async fn environment(
        &self,
        org: &OrgId,
        name: Option<EnvironmentName>,
    ) -> Result<Option<EnvironmentContent>, Error> {
        let Some(name) = name else {
            return Ok(None);
        };
        let known = self.store.inherited_environment(org, &name).await?;
        Ok(known.map(|known| known.content))
    }

    async fn resolved(
        &self,
        org: &OrgId,
        request: WorkOrderRequest,
    ) -> Result<ResolvedRequest, Error> {
        let template = async {
            match request.template() {
                Some(id) => self.store.template(org, id).await,
                None => Ok(None),
            }
        };
        let profile = async {
            match request.profile() {
                Some(name) => self.store.resolved_profile(org, name).await,
                None => Ok(None),
            }
        };
        let parent = async {
            match request.parent() {
                Some(id) => self.store.work_order(org, id).await,
                None => Ok(None),
            }
        };
        let (template, profile, parent) = tokio::try_join!(template, profile, parent)?;
        let template = template.as_ref().map(|stored| &stored.template.content);
        let environment = request.environment(template, profile.as_ref());
        let named = NamedResources {
            environment: self.environment(org, environment).await?,
            template,
            profile,
            parent: parent.as_ref(),
        };
        let (order, profile) = request.resolve(&self.defaults, named)?;
        self.creation.check_hold(&order, &profile)?;
        Ok(ResolvedRequest {
            order,
            profile,
            depth: parent.as_ref().map_or(0, |parent| parent.depth + 1),
            parents_labels: parent.map(|parent| parent.cost_labels),
            follow_up: None,
            named_labels: None,
        })
    }
    /// A follow-up with its thread as it is now.
    async fn resolved_follow_up(
        &self,
        org: &OrgId,
        turn: &WorkOrderId,
        body: FollowUpRequest,
    ) -> Result<ResolvedRequest, Error> {
        let order = self.store.work_order(org, turn).await?;
        let order = order.ok_or(Error::NotFound(Resource::WorkOrder))?;
        let follow_up = self.store.follow_up(org, &order).await?;
        let previous = follow_up.previous.as_ref();
        let named = async {
            match body.profile() {
                Some(name) => self.store.resolved_profile(org, name).await,
                None => Ok(None),
            }
        };
        let (profile, named, content, environment) = tokio::try_join!(
            self.store.profile_of(org, previous),
            named,
            self.environment(org, body.environment().cloned()),
            self.store.environment_of(org, previous),
        )?;
        let named_labels = body.metadata().cloned();
        let before = TurnBefore {
            order: previous,
            profile,
            named,
            content,
            environment,
        };
        let (order, profile) = body.resolve(before)?;
        self.creation.check_hold(&order, &profile)?;
        Ok(ResolvedRequest {
            order,
            profile,
            depth: 0,
            parents_labels: Some(previous.cost_labels.clone()),
            named_labels,
            follow_up: Some(follow_up),
        })
    }
}
