//! Creates a new work order from a request, for clients and for agents alike: its ids, and the
//! deployment's and the profile's defaults.

use awo_cloud::{Cloud, Mint, SetupError, settings};
use awo_domain::money::MicroCredits;
use awo_domain::profile::{Profile, resolve_built_in};
use awo_domain::work_order::Order;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use awo_store::settings::profiles::json;
use awo_store::work_orders::{Account, NewWorkOrder};

use crate::order::Defaults;

/// What new work orders are made with.
#[derive(Debug, Clone)]
pub struct Opening {
    mint: Mint,
    hold: MicroCredits,
    /// What holds where a body does not say.
    pub defaults: Defaults,
}

impl Opening {
    /// As the environment says.
    ///
    /// # Errors
    /// When a setting does not read.
    pub fn new(cloud: &Cloud) -> Result<Opening, SetupError> {
        let environment = &cloud.environment;
        Ok(Opening {
            mint: cloud.mint.clone(),
            hold: settings::default_hold(environment)?,
            defaults: Defaults {
                agent: settings::default_agent(environment)?,
                allow_file_repositories: settings::allow_file_repositories(environment),
            },
        })
    }

    /// A work order of what was asked, so many levels below a root.
    ///
    /// # Errors
    /// Internal, if its profile does not write.
    pub fn work_order(
        &self,
        org: &OrgId,
        order: Order,
        profile: &Profile,
        depth: u32,
        now: Timestamp,
    ) -> Result<NewWorkOrder, Error> {
        let kept_profile = match resolve_built_in(&profile.name) {
            Some(_) => None,
            None => Some(json(profile)?),
        };
        let kept_environment = (order.environment.as_ref())
            .map(|chosen| json(&chosen.content))
            .transpose()?;
        let of_profile = profile.execution_limits.max_credits;
        Ok(NewWorkOrder {
            org: org.clone(),
            id: WorkOrderId::new(now, self.mint.random(now)),
            run_id: RunId::new(now, self.mint.random(now)),
            account: Account::default(),
            depth,
            asked_by: None,
            max_iterations: profile.max_iterations(order.max_iterations),
            kept_profile,
            kept_environment,
            hold: (order.limits.max_credits)
                .or(of_profile)
                .unwrap_or(self.hold),
            order,
            now,
        })
    }
}
