//! Budgets as organizations set them: created, changed, deleted, read.

use std::collections::BTreeMap;

use awo_domain::budget::{Budget, Content, MAX_BUDGETS, Standing};
use awo_domain::{BudgetId, Error, OrgId, Resource, Timestamp};
use serde::Deserialize;

use super::{BudgetStanding, CounterItem};
use crate::Store;
use crate::costs::policy::CostPolicy;
use crate::engine::idempotency::{IdempotentRequest, NewResponse, RequestOutcome, replay};
use crate::engine::key::{Key, budget_counters};
use crate::engine::list::Slice;
use crate::engine::table::read;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::engine::tries::Tries;

/// Of a budget's counters, those that are read: of the present period, and of a later one by
/// another clock or another declaration.
const NEWEST: u32 = 4;

/// Counters that are few: a query reads them in one go, and for some capacity units.
const FEW: u32 = 1_000;

/// A counter with its key.
#[derive(Debug, Deserialize)]
struct StoredCounter {
    sk: String,
    #[serde(flatten)]
    counter: CounterItem,
}

/// A budget that is to be created.
#[derive(Debug, Clone)]
pub struct NewBudget {
    /// Its id.
    pub id: BudgetId,
    /// What is set of it.
    pub content: Content,
    /// When it is created.
    pub now: Timestamp,
}

/// Makes the body of the response to store for replays.
type ResponseRenderer<'a> = &'a (dyn Fn(&BudgetStanding) -> Result<String, Error> + Sync);

impl Store {
    /// The budgets of an organization, newest first, with what counts in their present periods.
    ///
    /// Counters are read beside the declaration: those of the budgets that this process knows, else all
    /// that there are, if they are few. What that leaves out is read behind it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn budgets(&self, org: &OrgId, now: Timestamp) -> Result<Vec<BudgetStanding>, Error> {
        let (policy, read) = match self.remembered_cost_policy(org) {
            Some(known) => {
                let beside = async {
                    let counters = self.counters(org, &known.budgets, now).await?;
                    let keys = known.budgets.iter().map(|of| counter_key(org, of, now).sk);
                    Ok::<_, Error>((keys.zip(counters).collect(), false))
                };
                tokio::try_join!(self.cost_policy(org), beside)?
            }
            None => tokio::try_join!(self.cost_policy(org), self.few_counters(org))?,
        };
        let (mut read, are_all): (BTreeMap<String, CounterItem>, bool) = read;
        let is_read =
            |budget: &Budget| are_all || read.contains_key(&counter_key(org, budget, now).sk);
        let counters = if policy.budgets.iter().all(is_read) {
            let keys = policy.budgets.iter().map(|of| counter_key(org, of, now).sk);
            keys.map(|key| read.remove(&key).unwrap_or_default())
                .collect()
        } else {
            self.counters(org, &policy.budgets, now).await?
        };
        let all = policy.budgets.into_iter().zip(counters);
        let mut all: Vec<BudgetStanding> = all
            .map(|(budget, counter)| BudgetStanding {
                budget,
                standing: counter.standing(),
            })
            .collect();
        all.sort_by(|a, b| b.budget.id.cmp(&a.budget.id));
        Ok(all)
    }

    /// Counters of all budgets and periods, by their keys, and whether there are no more.
    async fn few_counters(
        &self,
        org: &OrgId,
    ) -> Result<(BTreeMap<String, CounterItem>, bool), Error> {
        let slice = Slice::of_partition(budget_counters(org)).limit(FEW);
        let page = self.slice::<StoredCounter>(slice).await?;
        let counters = page.items.into_iter().map(|of| (of.sk, of.counter));
        Ok((counters.collect(), !page.has_more))
    }

    /// A budget of this organization. Its newest counters are read beside the declaration, so that
    /// an unknown budget costs the same reads.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn budget(
        &self,
        org: &OrgId,
        id: &BudgetId,
        now: Timestamp,
    ) -> Result<BudgetStanding, Error> {
        let newest = Slice::of_partition(budget_counters(org))
            .between(format!("{id}#"), format!("{id}$"))
            .newest_first()
            .limit(NEWEST);
        let (policy, newest) =
            tokio::try_join!(self.cost_policy(org), self.slice::<StoredCounter>(newest))?;
        let found = policy.budgets.into_iter().find(|budget| budget.id == *id);
        let budget = found.ok_or(Error::NotFound(Resource::Budget))?;
        let key = counter_key(org, &budget, now);
        let counter = newest.items.into_iter().find(|of| of.sk == key.sk);
        let standing = counter.map(|of| of.counter).unwrap_or_default().standing();
        Ok(BudgetStanding { budget, standing })
    }

    /// What budgets count in their present periods, in their order.
    pub(super) async fn counters(
        &self,
        org: &OrgId,
        budgets: &[Budget],
        now: Timestamp,
    ) -> Result<Vec<CounterItem>, Error> {
        if budgets.is_empty() {
            return Ok(Vec::new());
        }
        let key = |budget: &Budget| counter_key(org, budget, now);
        let mut found = self.batch(budgets.iter().map(key)).await?;
        let counter = |budget| {
            found
                .remove(&key(budget))
                .map_or(Ok(CounterItem::default()), read)
        };
        budgets.iter().map(counter).collect()
    }

    /// Creates a budget, which counts from then on what its period had before. `idempotent` makes
    /// of it what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there are too many, [`Error::Invalid`] if it is about a label that is
    /// not declared, [`Error::IdempotencyMismatch`], [`Error::Contended`] if credits were reserved
    /// and settled all the time, or internal.
    pub async fn create_budget(
        &self,
        org: &OrgId,
        new: &NewBudget,
        idempotent: Option<(&IdempotentRequest, ResponseRenderer<'_>)>,
    ) -> Result<RequestOutcome<BudgetStanding>, Error> {
        let mut tries = Tries::new("create budget: credits were reserved and settled all the time");
        loop {
            tries.next().await?;
            let changes = self.balance(org).await?.changes;
            let policy = self.cost_policy(org).await?;
            let budget = Budget::new(new.id.clone(), new.content.clone(), new.now);
            if policy.budgets.len() >= MAX_BUDGETS {
                return self.full(org, idempotent.map(|of| of.0), new.now).await;
            }
            check_label(&policy, &budget.content)?;
            let standing = Box::pin(self.budget_opening(org, &budget, new.now)).await?;
            let created = BudgetStanding { budget, standing };
            let budgets = policy
                .budgets
                .iter()
                .cloned()
                .chain([created.budget.clone()]);
            let next = policy.with_budgets(budgets.collect());
            let response = match idempotent {
                Some((request, render)) => Some(NewResponse {
                    request,
                    body: render(&created)?,
                }),
                None => None,
            };
            let committed = self
                .declaration(org, (&policy, &next), Some(changes))?
                .open_budget(org, &created, new.now)?
                .store_response(org, response.as_ref(), new.now)?
                .commit(self)
                .await?;
            let refusals = match committed {
                CommitOutcome::Yes => return Ok(RequestOutcome::New(created)),
                CommitOutcome::No(refusals) => refusals,
            };
            if let Some(first) = replay(response.as_ref(), &refusals)? {
                return Ok(RequestOutcome::Replayed(first));
            }
        }
    }

    /// A replay of the same request, or a conflict.
    async fn full(
        &self,
        org: &OrgId,
        request: Option<&IdempotentRequest>,
        now: Timestamp,
    ) -> Result<RequestOutcome<BudgetStanding>, Error> {
        if let Some(request) = request
            && let Some(first) = self.stored_response(org, request, now).await?
        {
            return Ok(RequestOutcome::Replayed(first));
        }
        Err(Error::Conflict(format!(
            "your organization has {MAX_BUDGETS} budgets, which is the most: delete one first"
        )))
    }

    /// Gives a budget other content. It counts anew if it is about other runs or periods.
    ///
    /// # Errors
    /// [`Error::NotFound`], and as [`Store::create_budget`].
    pub async fn change_budget(
        &self,
        org: &OrgId,
        id: &BudgetId,
        content: &Content,
        now: Timestamp,
    ) -> Result<BudgetStanding, Error> {
        let mut tries = Tries::new("change budget: other changes were always faster");
        loop {
            tries.next().await?;
            let changes = self.balance(org).await?.changes;
            let policy = self.cost_policy(org).await?;
            let old = policy
                .budgets
                .iter()
                .find(|budget| budget.id == *id)
                .cloned();
            let old = old.ok_or(Error::NotFound(Resource::Budget))?;
            check_label(&policy, content)?;
            let new = old.clone().changed(content.clone(), now);
            let others = policy
                .budgets
                .iter()
                .filter(|budget| budget.id != *id)
                .cloned();
            let next = policy.with_budgets(others.chain([new.clone()]).collect());
            let counts_anew = new.epoch != old.epoch;
            let standing = if counts_anew {
                Box::pin(self.budget_opening(org, &new, now)).await?
            } else {
                let counters = self.counters(org, std::slice::from_ref(&new), now).await?;
                counters
                    .first()
                    .map_or(Standing::default(), CounterItem::standing)
            };
            let changed = BudgetStanding {
                budget: new,
                standing,
            };
            let unchanged = counts_anew.then_some(changes);
            let mut transaction = self.declaration(org, (&policy, &next), unchanged)?;
            if counts_anew {
                transaction = transaction.open_budget(org, &changed, now)?;
            }
            if transaction.commit(self).await?.is_yes() {
                return Ok(changed);
            }
        }
    }

    /// Deletes a budget: nothing counts against it any more.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn delete_budget(&self, org: &OrgId, id: &BudgetId) -> Result<(), Error> {
        let mut tries = Tries::new("delete budget: other changes were always faster");
        loop {
            tries.next().await?;
            let policy = self.cost_policy(org).await?;
            let others = policy
                .budgets
                .iter()
                .filter(|budget| budget.id != *id)
                .cloned();
            let others: Vec<Budget> = others.collect();
            if others.len() == policy.budgets.len() {
                return Err(Error::NotFound(Resource::Budget));
            }
            let next = policy.with_budgets(others);
            let transaction = self.declaration(org, (&policy, &next), None)?;
            if transaction.commit(self).await?.is_yes() {
                return Ok(());
            }
        }
    }
}

/// Where a budget counts in its present period.
fn counter_key(org: &OrgId, budget: &Budget, now: Timestamp) -> Key {
    Key::budget_counter(org, budget, budget.period_start(now))
}

impl Transaction {
    /// The counter of a budget that begins to count.
    fn open_budget(
        self,
        org: &OrgId,
        of: &BudgetStanding,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let committed = of.standing.committed().micro();
        let item = CounterItem {
            committed,
            reserved: of.standing.reserved.micro(),
            alerted: None,
            seeded: committed,
        };
        self.put(&counter_key(org, &of.budget, now), &item)
    }
}

/// A budget about a label that is not declared would count nothing.
fn check_label(policy: &CostPolicy, content: &Content) -> Result<(), Error> {
    let Some(label) = &content.scope.parts().label else {
        return Ok(());
    };
    let mut declared = policy.labels.all().iter();
    if declared.any(|of| of.name == label.name) {
        Ok(())
    } else {
        Err(Error::invalid(
            "/scope/label/name",
            "is no cost label of your organization: an operator declares it first",
        ))
    }
}
