//! Alerts of budgets and of the balance. What an organization was alerted of stands on the counter
//! and on the balance, and changes in the transaction that puts the event into the outbox: each
//! percentage of a period and each fall of the balance makes one event.

use awo_domain::budget::{BudgetThresholdData, CreditsLowData, Standing};
use awo_domain::money::MicroCredits;
use awo_domain::webhook::EventType;
use awo_domain::webhook::envelope::body_of;
use awo_domain::webhook::identity::event_id_of;
use awo_domain::{Error, EventId, OrgId, Timestamp};
use serde_json::{Value, json};

use super::{BudgetStanding, CounterItem};
use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::ledger::credits::BalanceItem;
use crate::webhooks::outbox::OutboxEvent;

/// Since when the organization knows that its credits are low.
const LOW_SINCE: &str = "lowSince";

/// What an organization is alerted of.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// The event's type.
    pub kind: EventType,
    /// Its data.
    pub data: Value,
}

impl Alert {
    fn of_budget(of: &BudgetStanding, percent: u8, now: Timestamp) -> Alert {
        let limit = MicroCredits::from_micro(of.budget.content.limit_micro);
        let Standing { spent, reserved } = of.standing;
        Alert {
            kind: EventType::BudgetThreshold,
            data: json!(BudgetThresholdData {
                budget_id: of.budget.id.clone(),
                name: of.budget.content.name.clone(),
                percent,
                spent_credits: spent,
                reserved_credits: reserved,
                limit_credits: limit,
                period_start: of.budget.period_start(now),
            }),
        }
    }

    fn of_credits(balance: &BalanceItem, threshold: MicroCredits) -> Alert {
        Alert {
            kind: EventType::CreditsLow,
            data: json!(CreditsLowData {
                available: MicroCredits::from_micro(balance.available),
                threshold,
            }),
        }
    }
}

impl Store {
    /// Finds what an organization is to be alerted of, and puts it into the outbox.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn alert(&self, org: &OrgId, now: Timestamp) -> Result<(), Error> {
        let policy = self.cost_policy(org).await?;
        let counters = self.counters(org, &policy.budgets, now).await?;
        for (budget, counter) in policy.budgets.into_iter().zip(counters) {
            let standing = counter.standing();
            let of = BudgetStanding { budget, standing };
            self.alert_of_budget(org, &of, &counter, now).await?;
        }
        if let Some(threshold) = policy.credits_low_micro {
            self.alert_of_credits(org, threshold, now).await?;
        }
        Ok(())
    }

    async fn alert_of_budget(
        &self,
        org: &OrgId,
        of: &BudgetStanding,
        counter: &CounterItem,
        now: Timestamp,
    ) -> Result<(), Error> {
        let budget = &of.budget;
        let known = counter.alerted.clone().unwrap_or_default();
        let reached = budget.reached(of.standing);
        let new: Vec<u8> = reached.filter(|percent| !known.contains(percent)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let start = budget.period_start(now);
        let all: Vec<u8> = known.into_iter().chain(new.iter().copied()).collect();
        let change = Change::new()
            .set("alerted", all)
            .when_option("alerted", counter.alerted.as_ref());
        let key = Key::budget_counter(org, budget, start);
        let mut transaction = Transaction::new().update(&key, change);
        for percent in new {
            let parts = [key.sk.as_str(), &percent.to_string()];
            let alert = Alert::of_budget(of, percent, now);
            let event = event_id_of(&parts, now);
            transaction = transaction.event(OutboxEvent::of_alert(org, event, &alert, now)?);
        }
        // Refused, somebody else was faster.
        transaction.commit(self).await?;
        Ok(())
    }

    async fn alert_of_credits(
        &self,
        org: &OrgId,
        threshold: i64,
        now: Timestamp,
    ) -> Result<(), Error> {
        let balance = self.balance(org).await?;
        let key = Key::balance(org);
        let is_low = balance.available < threshold;
        let change = match (is_low, balance.low_since) {
            (true, None) => Change::new()
                .set(LOW_SINCE, now)
                .when_missing(LOW_SINCE)
                .compare("available", "<", threshold),
            (false, Some(_)) => {
                Change::new()
                    .remove(LOW_SINCE)
                    .compare("available", ">=", threshold)
            }
            _ => return Ok(()),
        };
        let mut transaction = Transaction::new().update(&key, change);
        if is_low {
            let alert = Alert::of_credits(&balance, MicroCredits::from_micro(threshold));
            let event = event_id_of(&[org.as_str(), alert.kind.as_str()], now);
            transaction = transaction.event(OutboxEvent::of_alert(org, event, &alert, now)?);
        }
        // Refused, somebody else was faster, or it has changed.
        transaction.commit(self).await?;
        Ok(())
    }
}

impl Alert {
    /// The body as receivers get it.
    pub(crate) fn body(&self, id: &EventId, now: Timestamp) -> Result<String, Error> {
        body_of(id, self.kind.as_str(), now, self.data.clone()).map_err(Error::internal)
    }
}
