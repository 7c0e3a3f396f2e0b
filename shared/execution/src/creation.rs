//! Makes a new work order of a request, for clients and for agents alike: its ids, its hold, and
//! snapshots of its profile and its environment.

use awo_cloud::{Cloud, Mint, SetupError, settings};
use awo_domain::ledger::Rates;
use awo_domain::money::MicroCredits;
use awo_domain::profile::{Profile, resolve_built_in};
use awo_domain::work_order::Order;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use awo_store::settings::profiles::json;
use awo_store::work_orders::{Account, NewWorkOrder};

/// Ids and the default hold of new work orders.
#[derive(Debug, Clone)]
pub struct Creation {
    mint: Mint,
    hold: MicroCredits,
    rates: Rates,
}

impl Creation {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting does not read.
    pub fn new(cloud: &Cloud) -> Result<Creation, SetupError> {
        Ok(Creation {
            mint: cloud.mint.clone(),
            hold: settings::default_hold(&cloud.environment)?,
            rates: settings::rates(&cloud.environment)?,
        })
    }

    /// Checks that a client's limit of credits covers the least hold of the order's tasks.
    ///
    /// # Errors
    /// [`Error::Invalid`] at the limit, or at the profile that sets it.
    pub fn check_hold(&self, order: &Order, profile: &Profile) -> Result<(), Error> {
        let own = order.terms.limits.max_credits;
        let Some(hold) = profile.max_credits(own) else {
            return Ok(());
        };
        let content = order.environment.as_ref().map(|chosen| &chosen.content);
        let least = self
            .rates
            .least_hold(content.and_then(|content| content.size));
        if hold >= least {
            return Ok(());
        }
        let least = least.to_decimal();
        let (path, what) = match own {
            Some(_) => ("/limits/maxCredits", "must be"),
            None => ("/harness", "names a profile whose maxCredits must be"),
        };
        Err(Error::invalid(
            path,
            format!(
                "{what} at least {least} credits: a minute of compute at the size of the order's tasks"
            ),
        ))
    }

    /// The new work order of a resolved request, so many levels below a root.
    ///
    /// # Errors
    /// Internal, if its profile does not write.
    pub fn new_work_order(
        &self,
        org: &OrgId,
        order: Order,
        profile: &Profile,
        depth: u32,
        now: Timestamp,
    ) -> Result<NewWorkOrder, Error> {
        let profile_snapshot = match resolve_built_in(&profile.name) {
            Some(_) => None,
            None => Some(json(profile)?),
        };
        let environment_snapshot = (order.environment.as_ref())
            .map(|chosen| json(&chosen.content))
            .transpose()?;
        Ok(NewWorkOrder {
            org: org.clone(),
            id: WorkOrderId::new(now, self.mint.random(now)),
            run_id: RunId::new(now, self.mint.random(now)),
            account: Account::default(),
            step: None,
            depth,
            asked_by: None,
            follow_up: None,
            max_iterations: profile.max_iterations(order.max_iterations),
            profile_snapshot,
            environment_snapshot,
            hold: (profile.max_credits(order.terms.limits.max_credits)).unwrap_or(self.hold),
            order,
            now,
        })
    }
}
