//! `awo finance close`: an operator closes a month before the sweep does. Like `awo admin` it works on
//! the stores themselves.

use awo_cloud::Environment;
use awo_domain::OrgId;
use awo_domain::statement::Month;
use clap::Args;
use serde_json::json;

use super::statements::month;
use crate::admin::stores::{Stores, refused};
use crate::arguments::Connection;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::clean_line;
use crate::quantity;
use crate::read::field;

#[derive(Debug, Args)]
pub struct Close {
    /// Month, such as 2026-11, which must have ended an hour ago; closes all earlier months too
    #[arg(value_name = "MONTH", value_parser = month)]
    pub month: Month,
    /// Organization: org_… [default: all organizations]
    #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
    pub org: Option<OrgId>,
    /// Use the stores of the local service
    #[arg(long)]
    pub local: bool,
}

/// Closes it.
pub async fn run(
    wanted: &Close,
    connection: &Connection,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let stores = Stores::open(wanted.local, connection, environment).await?;
    let orgs = match &wanted.org {
        Some(org) => vec![stores.organization(org).await?.org_id],
        None => stores.store.organizations().await.map_err(refused)?,
    };
    let (now, mut closed) = (stores.cloud.clock.now(), Vec::new());
    for org in &orgs {
        let months = stores
            .store
            .close_months(org, Some(&wanted.month), now)
            .await;
        for statement in months.map_err(refused)? {
            closed.push(json!({ "orgId": org, "month": statement.month, "hash": statement.hash }));
        }
    }
    if output.is_json() {
        return output.line(&json!({ "closed": closed }).to_string());
    }
    for one in &closed {
        let text = |name: &str| clean_line(one[name].as_str().unwrap_or_default()).to_string();
        field(
            output,
            &text("month"),
            format!("{} closed, hash {}", text("orgId"), text("hash")),
        )?;
    }
    if closed.is_empty() {
        output.line("nothing to close: the month is closed already, or nothing was ever booked")
    } else {
        Ok(())
    }
}
