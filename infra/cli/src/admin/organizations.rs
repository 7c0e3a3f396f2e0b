//! Existing organizations: list, show, rename, suspend, delete.

use awo_domain::OrgId;
use awo_domain::money::MicroCredits;
use awo_store::organizations::Organization;
use awo_store::queue::tally::Tally;
use serde_json::{Value, json};

use super::stores::{Stores, refused, unset};
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;

/// An organization's state as operators see it, the gravest first.
pub fn status(organization: &Organization, tally: &Tally) -> &'static str {
    if organization.deleted_at.is_some() {
        "deleted"
    } else if organization.is_suspended() {
        "suspended"
    } else if tally.paused_at.is_some() {
        "paused"
    } else {
        "active"
    }
}

/// All organizations, oldest first.
pub async fn all(stores: &Stores) -> Result<Vec<Organization>, Failure> {
    let mut all = stores.store.all_organizations().await.map_err(refused)?;
    all.sort_by(|a, b| a.org_id.as_str().cmp(b.org_id.as_str()));
    Ok(all)
}

/// Lists all organizations.
pub async fn list(stores: &Stores, output: &Output) -> Result<(), Failure> {
    let mut shown = Vec::new();
    for organization in all(stores).await? {
        shown.push(shape(stores, &organization).await?);
    }
    if output.is_json() {
        return output.line(&json!({ "organizations": shown }).to_string());
    }
    let mut grid = Grid::new(&[
        Column::whole("organization", 0),
        Column::cut("name", 0),
        Column::whole("status", 0),
        Column::number("running", 2),
        Column::number("waiting", 2),
        Column::number("available", 1),
        Column::whole("created", 3),
    ]);
    for one in &shown {
        let text = |name: &str| one[name].as_str().unwrap_or_default();
        grid.row(vec![
            Entry::text(text("orgId")),
            Entry::text(text("name")),
            Entry::text(text("status")),
            Entry::text(&one["running"]),
            Entry::text(&one["waiting"]),
            Entry::text(&one["available"]),
            Entry::time(text("createdAt"), output),
        ]);
    }
    grid.show(shown.len() as u64, "organizations", output)
}

/// Shows one.
pub async fn show(stores: &Stores, org: &OrgId, output: &Output) -> Result<(), Failure> {
    let shown = shape(stores, &stores.organization(org).await?).await?;
    if output.is_json() {
        return output.line(&shown.to_string());
    }
    for (name, value) in shown.as_object().into_iter().flatten() {
        match value.as_str() {
            Some(text) => field(output, name, clean_line(text))?,
            None => field(output, name, value)?,
        }
    }
    Ok(())
}

async fn shape(stores: &Stores, organization: &Organization) -> Result<Value, Failure> {
    let org = &organization.org_id;
    let tally = stores.store.tally(org).await.map_err(refused)?;
    let balance = stores.store.balance(org).await.map_err(refused)?;
    let keys = stores.store.list_keys(org).await.map_err(refused)?;
    let providers = stores.store.providers(org).await.map_err(refused)?;
    let hosts = stores.store.hosts(org).await.map_err(refused)?;
    let alive = keys.iter().filter(|key| key.revoked_at.is_none()).count();
    let mut shape = json!({
        "orgId": org,
        "name": organization.name,
        "status": status(organization, &tally),
        "createdAt": organization.created_at,
        "keys": alive,
        "running": tally.slots,
        "waiting": tally.waiting,
        "workOrders": tally.work_orders(None),
        "runs": tally.runs(None),
        "balance": MicroCredits::from_micro(balance.balance),
        "available": MicroCredits::from_micro(balance.available),
    });
    let rest = [
        ("maxConcurrent", json!(tally.max_concurrent)),
        ("maxQueueSize", json!(tally.max_queue_size)),
        ("messagesProvider", json!(providers.messages_provider)),
        ("anthropicBaseUrl", json!(providers.anthropic_base_url)),
        ("openaiBaseUrl", json!(providers.openai_base_url)),
        ("suspendedAt", json!(organization.suspended_at)),
        ("pausedAt", json!(tally.paused_at)),
        ("deletedAt", json!(organization.deleted_at)),
    ];
    if !hosts.is_empty() {
        shape["forges"] = json!(hosts);
    }
    for (name, value) in rest {
        if !value.is_null() {
            shape[name] = value;
        }
    }
    Ok(shape)
}

fn gone(org: &OrgId) -> Failure {
    Failure::Refused(format!("there is no organization {org}"))
}

/// Calls one something else.
pub async fn rename(stores: &Stores, org: &OrgId, name: &str) -> Result<Value, Failure> {
    let renamed = stores.store.rename_organization(org, name).await;
    if renamed.map_err(refused)? {
        Ok(json!({ "orgId": org, "name": name }))
    } else {
        Err(gone(org))
    }
}

/// Suspends one.
pub async fn suspend(stores: &Stores, org: &OrgId) -> Result<Value, Failure> {
    let now = stores.cloud.clock.now();
    if stores.store.suspend(org, now).await.map_err(refused)? {
        Ok(json!({ "orgId": org, "status": "suspended" }))
    } else {
        Err(gone(org))
    }
}

/// Ends a suspension.
pub async fn reinstate(stores: &Stores, org: &OrgId) -> Result<Value, Failure> {
    if stores.store.reinstate(org).await.map_err(refused)? {
        Ok(json!({ "orgId": org, "status": "active" }))
    } else {
        Err(gone(org))
    }
}

/// Deletes one, its secrets, and its access point to the file system of tasks.
pub async fn delete(stores: &Stores, org: &OrgId, yes: bool) -> Result<Value, Failure> {
    let organization = stores.organization(org).await?;
    if !yes {
        return Err(Failure::Usage(format!(
            "this permanently deletes {} ({org}); to confirm, add --yes",
            clean_line(&organization.name)
        )));
    }
    let now = stores.cloud.clock.now();
    let deleted = stores.store.delete_organization(org, now).await;
    deleted.map_err(|error| match refused(error) {
        Failure::Refused(why) => Failure::Refused(format!(
            "{why}\n  what to do: end its work (`awo purge` with one of its keys that has the scope \
             *), then `awo admin suspend-org`, then delete it"
        )),
        other => other,
    })?;
    let secrets = stores.cloud.secrets().map_err(unset)?;
    for name in secrets.names(org).await.map_err(refused)? {
        secrets.delete(org, &name).await.map_err(refused)?;
    }
    delete_access_point(stores, org).await?;
    Ok(json!({ "orgId": org, "status": "deleted" }))
}

/// A file system has a limited number of access points. Its name in the tables goes last, so that an
/// interrupted deletion can be repeated.
async fn delete_access_point(stores: &Stores, org: &OrgId) -> Result<(), Failure> {
    let store = &stores.store;
    for family in store.own_definitions(org).await.map_err(refused)? {
        let Some((file_system, access_point)) = family.access_point() else {
            continue;
        };
        let files = stores.cloud.file_system(file_system.to_owned());
        let deleted = files.delete_access_point(access_point).await;
        deleted.map_err(refused)?;
        let noted = store.note_access_point_deleted(&family).await;
        noted.map_err(refused)?;
    }
    Ok(())
}
