//! `POST /control/{orgId}/runs/{runId}/children`: an agent's request for children. All children are
//! created or none. They exceed one transaction, so each is created under its own key, and the
//! response is stored before children of a failed request are discarded. A repeated request has the
//! same result after any crash.

use awo_cloud::queue::WakeUp;
use awo_contract::body::Object;
use awo_domain::control::{Children, ChildrenAnswer};
use awo_domain::family::shares;
use awo_domain::money::MicroCredits;
use awo_domain::profile::Profile;
use awo_domain::source::Branch;
use awo_domain::stop::{Stop, StopKind};
use awo_domain::usage::{PricedUsage, sum_by_model};
use awo_domain::work_order::{DURATION_MS, Limits, MAX_CHILDREN, MAX_ITERATIONS, Order};
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use awo_execution::request::{ChildRequest, Inheritance};
use awo_http::Answer;
use awo_store::engine::idempotency::{IdempotentRequest, NewResponse, RequestOutcome};
use awo_store::ledger::holds::ParentsHold;
use awo_store::runs::Run;
use awo_store::runs::lifecycle::report::Reporter;
use awo_store::work_orders::parents::why_no_parent;
use awo_store::work_orders::{Account, WorkOrder};
use lambda_http::Request;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::State;
use crate::runner::{body, checked_commit, reporter};

/// Most faults in an agent's answer, and longest one, in characters.
const MAX_ERRORS: usize = 50;
const MAX_ERROR: usize = 500;

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let asked: Children = body(request)?;
    let branch = checked(&asked)?;
    let run = state.store.held_run(&by).await?;
    let order = state.store.work_order(&by.org, &run.work_order_id).await?;
    let asking = ChildrenRequest {
        state,
        parent: order.ok_or(Error::Unauthorized)?,
        run,
        body_hash: hash(&[&serde_json::to_vec(&asked).map_err(Error::internal)?]),
        by,
        asked,
        branch,
        now,
    };
    Answer::ok(Box::pin(asking.answer()).await?)
}

fn checked(asked: &Children) -> Result<Branch, Error> {
    if !(1..=MAX_ITERATIONS).contains(&asked.iteration) {
        let message = format!("must be from 1 to {MAX_ITERATIONS}");
        return Err(Error::invalid("/iteration", message));
    }
    checked_commit("/commit", &asked.commit)?;
    Branch::parse(&asked.branch).map_err(|why| Error::invalid("/branch", why))
}

fn hash(parts: &[&[u8]]) -> String {
    hex::encode(Sha256::digest(parts.join(&b'\n')))
}

/// The stored part of an answer.
#[derive(Debug, Serialize, Deserialize)]
struct StoredAnswer {
    answer: ChildrenAnswer,
    /// Opened before another one could not be: to be taken back.
    in_vain: Vec<WorkOrderId>,
}

impl StoredAnswer {
    /// What an agent wrote may be wrong in any number of places: some are enough, and fit.
    fn refusal(mut errors: Vec<String>, in_vain: Vec<WorkOrderId>) -> StoredAnswer {
        let opened = Vec::new();
        errors.truncate(MAX_ERRORS);
        for error in &mut errors {
            *error = error.chars().take(MAX_ERROR).collect();
        }
        StoredAnswer {
            answer: ChildrenAnswer { opened, errors },
            in_vain,
        }
    }
}

struct ChildrenRequest<'a> {
    state: &'a State,
    by: Reporter,
    parent: WorkOrder,
    run: Run,
    asked: Children,
    branch: Branch,
    body_hash: String,
    now: Timestamp,
}

impl ChildrenRequest<'_> {
    fn org(&self) -> &OrgId {
        &self.by.org
    }

    /// The key of the whole request, or of one child of it.
    fn request(&self, child: Option<usize>) -> IdempotentRequest {
        let (run, iteration) = (self.by.run_id.as_str(), self.asked.iteration.to_string());
        let child = child.map(|at| at.to_string()).unwrap_or_default();
        let parts = ["children", run, iteration.as_str(), child.as_str()];
        IdempotentRequest {
            key_hash: hash(&parts.map(str::as_bytes)),
            body_hash: self.body_hash.clone(),
        }
    }

    async fn answer(&self) -> Result<ChildrenAnswer, Error> {
        let (store, whole) = (&self.state.store, self.request(None));
        let known = store.stored_response(self.org(), &whole, self.now);
        let first = match known.await.map_err(other_request)? {
            Some(first) => first,
            None => {
                let answer = self.open_all().await?;
                let new = NewResponse {
                    request: &whole,
                    body: serde_json::to_string(&answer).map_err(Error::internal)?,
                };
                let storing = store.store_response(self.org(), &new, self.now);
                storing.await.map_err(other_request)?
            }
        };
        let stored: StoredAnswer = serde_json::from_str(&first.body).map_err(Error::internal)?;
        for child in &stored.in_vain {
            self.take_back(child).await?;
        }
        if !stored.answer.opened.is_empty() {
            let wake_up = WakeUp::of(self.org());
            self.state.queue.wake_or_leave_to_sweep(&wake_up).await;
        }
        Ok(stored.answer)
    }

    async fn open_all(&self) -> Result<StoredAnswer, Error> {
        if let Some(why) = self.at_task_limit().await? {
            return Ok(StoredAnswer::refusal(vec![why], Vec::new()));
        }
        let (mut orders, mut errors) = (Vec::new(), Vec::new());
        for (at, child) in self.asked.children.iter().enumerate() {
            match self.read(child).await {
                Ok(read) => orders.push(read),
                Err(Error::Invalid(faults)) => errors.extend(
                    faults
                        .iter()
                        .map(|fault| format!("/children/{at}{} {}", fault.path, fault.message)),
                ),
                Err(error) => return Err(error),
            }
        }
        if !errors.is_empty() {
            return Ok(StoredAnswer::refusal(errors, Vec::new()));
        }
        if let Err(why) = self.share(&mut orders).await? {
            return Ok(StoredAnswer::refusal(vec![why], Vec::new()));
        }
        let mut opened = Vec::new();
        for (at, (order, profile)) in orders.into_iter().enumerate() {
            match self.open(at, order, &profile).await {
                Ok(id) => opened.push(id),
                Err(error) => match why_not_opened(at, &error) {
                    Some(why) => return Ok(StoredAnswer::refusal(vec![why], opened)),
                    None => return Err(error),
                },
            }
        }
        let errors = Vec::new();
        Ok(StoredAnswer {
            answer: ChildrenAnswer { opened, errors },
            in_vain: Vec::new(),
        })
    }

    /// Gives each child its part of what the run has left, of its hold and of its time.
    async fn share(&self, orders: &mut [(Order, Profile)]) -> Result<Result<(), String>, Error> {
        let profile = self.state.store.profile_of(self.org(), &self.parent);
        let longest = profile
            .await?
            .max_duration_ms(self.parent.terms.limits.max_duration_ms);
        let had_ms = u64::try_from(self.run.compute_ms(self.now)).unwrap_or(0);
        let left_ms = longest.saturating_sub(had_ms);
        if left_ms < *DURATION_MS.start() {
            return Ok(Err(
                "/children cannot be opened: the run's time is used up".to_owned()
            ));
        }
        let left = MicroCredits::from_micro(self.run.hold_micro).minus(self.used());
        let asked: Vec<_> = orders
            .iter()
            .map(|(order, profile)| profile.max_credits(order.terms.limits.max_credits))
            .collect();
        let shares = shares(left, &asked);
        let least = self.state.rates.least_hold(self.parent.size);
        if shares.iter().any(|share| *share < least) {
            let left = MicroCredits::ZERO.max(left).to_decimal();
            return Ok(Err(format!(
                "/children cannot be opened: the run has {left} credits left to share with its \
                 children, and each needs {} at least: a minute of compute",
                least.to_decimal()
            )));
        }
        for ((order, profile), share) in orders.iter_mut().zip(shares) {
            let asked_ms = profile.max_duration_ms(order.terms.limits.max_duration_ms);
            order.terms.limits = Limits {
                max_credits: Some(share),
                max_duration_ms: Some(asked_ms.min(left_ms)),
            };
        }
        Ok(Ok(()))
    }

    /// The run's cost so far.
    fn used(&self) -> MicroCredits {
        let models = PricedUsage::total(&sum_by_model(&self.asked.usage));
        let rates = self.state.rates.sized(self.run.size);
        rates.cost(models, self.run.compute_ms(self.now))
    }

    /// Why so many children cannot be, if that is known before any is opened.
    async fn at_task_limit(&self) -> Result<Option<String>, Error> {
        let count = self.asked.children.len();
        let most = MAX_CHILDREN as usize;
        if !(1..=most).contains(&count) {
            return Ok(Some(format!("/children must have 1 to {most} items")));
        }
        let before = self.parent.children as usize;
        let why = why_no_parent(Some(&self.parent));
        let why = match why {
            Some(why) => why.replacen("names", "cannot be opened: the run belongs to", 1),
            None if before + count > most => format!(
                "would give this work order {} children, and it can have at most {most}",
                before + count
            ),
            None => return Ok(None),
        };
        // Unless it was this very request that took the room.
        let first = self.request(Some(0));
        let begun = self
            .state
            .store
            .stored_response(self.org(), &first, self.now);
        let begun = begun.await.map_err(other_request)?.is_some();
        Ok((!begun).then(|| format!("/children {why}")))
    }

    /// The request of one child.
    async fn read(&self, child: &serde_json::Value) -> Result<(Order, Profile), Error> {
        let store = &self.state.store;
        let json = serde_json::to_vec(child).map_err(Error::internal)?;
        let request = ChildRequest::read(Object::parse(&json)?);
        let named = match request.profile() {
            Some(name) => store.resolved_profile(self.org(), name).await?,
            None => None,
        };
        let inherited = Inheritance {
            parent: &self.parent,
            profile: store.profile_of(self.org(), &self.parent).await?,
            branch: self.branch.clone(),
            commit: self.asked.commit.clone(),
            environment: self.parent.chosen_environment()?,
        };
        request.resolve(inherited, named)
    }

    /// Opens one child, or finds the one that was opened before.
    async fn open(&self, at: usize, order: Order, profile: &Profile) -> Result<WorkOrderId, Error> {
        let (state, depth) = (self.state, self.parent.depth + 1);
        let creation = &state.creation;
        let mut new = creation.new_work_order(self.org(), order, profile, depth, self.now)?;
        new.account = Account::of_parent(&self.parent);
        new.asked_by = Some(ParentsHold {
            run_id: self.by.run_id.clone(),
            used: self.used(),
            of: self.run.reservation(),
        });
        let response = NewResponse {
            request: &self.request(Some(at)),
            body: new.id.to_string(),
        };
        let created = (state.store).create_work_order(&new, state.limits, Some(&response));
        match created.await? {
            Some(RequestOutcome::New(())) => Ok(new.id),
            Some(RequestOutcome::Replayed(first)) => {
                WorkOrderId::parse(&first.body).map_err(Error::internal)
            }
            None => Err(Error::internal("what a child holds is its root's")),
        }
    }

    /// Cancels a child that was opened in vain, so that its parent does not count it.
    async fn take_back(&self, child: &WorkOrderId) -> Result<(), Error> {
        let stop = Stop {
            kind: StopKind::Cancel,
            reason: Some("not all requested children could be opened".to_owned()),
            requested_at: self.now,
        };
        match self.state.stopper.cancel(self.org(), child, &stop).await {
            Ok(_) | Err(Error::Conflict(_) | Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        let store = &self.state.store;
        store
            .discard_child(self.org(), &self.parent.id, child)
            .await
    }
}

/// The fault in an agent's answer, if it is one that an agent can know of.
fn why_not_opened(at: usize, error: &Error) -> Option<String> {
    match error {
        Error::Invalid(_) => Some(format!(
            "/children/{at} cannot be opened: this work order accepts no more children"
        )),
        Error::QueueFull { .. } | Error::InsufficientCredits { .. } | Error::OverBudget { .. } => {
            Some(format!("/children/{at} cannot be opened: {error}"))
        }
        _ => None,
    }
}

fn other_request(error: Error) -> Error {
    match error {
        Error::IdempotencyMismatch => {
            Error::Conflict("other children were already requested in this iteration".to_owned())
        }
        error => error,
    }
}
