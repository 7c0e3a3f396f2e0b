//! An operator's declarations about an organization's costs.

use awo_cloud::settings;
use awo_domain::OrgId;
use awo_domain::cost::labels::CostLabels;
use serde_json::{Value, json};

use super::refused;
use super::stores::Stores;
use crate::failure::Failure;

/// Declares cost labels.
pub(super) async fn set_labels(
    stores: &Stores,
    org: &OrgId,
    labels: &[String],
    required: &[String],
) -> Result<Value, Failure> {
    let given = |names: &[String]| -> Vec<String> {
        let names = names.iter().map(|name| name.trim().to_owned());
        names.filter(|name| !name.is_empty()).collect()
    };
    let (labels, required) = (given(labels), given(required));
    let declared = CostLabels::declare(&labels, &required).map_err(Failure::Refused)?;
    stores.organization(org).await?;
    let set = stores.store.declare_cost_labels(org, &declared).await;
    set.map_err(refused)?;
    Ok(json!({ "orgId": org, "labels": labels, "required": required }))
}

/// Records what an earlier release settled.
pub(super) async fn backfill(stores: &Stores, org: Option<&OrgId>) -> Result<Value, Failure> {
    let rates = settings::rates(&stores.cloud.environment);
    let rates = rates.map_err(|why| Failure::Refused(why.to_string()))?;
    let orgs = match org {
        Some(org) => vec![org.clone()],
        None => stores.store.organizations().await.map_err(refused)?,
    };
    let mut recorded = 0;
    for org in &orgs {
        stores.organization(org).await?;
        let written = stores.store.backfill_costs(org, rates).await;
        recorded += written.map_err(refused)?;
    }
    Ok(json!({ "organizations": orgs.len(), "recorded": recorded }))
}
