//! Task definitions that no run needs any more: of environments that were changed or deleted, of
//! organizations that were deleted, and earlier revisions. The sweep takes them out of use.
//!
//! A definition that is taken away too early costs a moment: `RunTask` is refused, the family is
//! forgotten, and the next request makes it anew.

use awo_cloud::compute::Compute;
use awo_domain::environment::{Containers, ContainersId, Environment};
use awo_domain::{Error, OrgId, Timestamp};
use awo_store::Store;
use awo_store::settings::task_definitions::OwnDefinition;

/// Checks a family that is due.
///
/// # Errors
/// Internal, when a call fails; the next check continues where this one ended.
pub async fn check(
    store: &Store,
    compute: &Compute,
    family: &OwnDefinition,
    now: Timestamp,
) -> Result<(), Error> {
    let is_needed = is_needed(store, family).await?;
    let current = family.definition.as_deref().filter(|_| is_needed);
    let (revisions, has_more) = compute.active_definitions(&family.family).await?;
    let out_of_use = revisions.iter().filter(|arn| Some(arn.as_str()) != current);
    for arn in out_of_use {
        compute.deregister(arn).await?;
        tracing::info!(event = "task_definition_deregistered", org = %family.org_id, definition = arn, "took a task definition out of use");
    }
    match (has_more, is_needed) {
        // It stays due.
        (true, _) => Ok(()),
        // The deletion of its access point needs the name of that, and can be repeated.
        (false, _) if is_needed || family.access_point().is_some() => {
            store.postpone_definition(family, now).await
        }
        (false, _) => store.remove_definition(family).await,
    }
}

async fn is_needed(store: &Store, family: &OwnDefinition) -> Result<bool, Error> {
    match &family.containers {
        _ if family.retired => Ok(false),
        None => Ok(true),
        Some(id) => names(store, &family.org_id, id).await,
    }
}

/// True if an environment of the organization asks for these containers.
async fn names(store: &Store, org: &OrgId, id: &ContainersId) -> Result<bool, Error> {
    let environments = store.environments(org).await?;
    let mut contents = environments.iter().map(|one| {
        let is_parent = |other: &&Environment| one.content.extends.as_ref() == Some(&other.name);
        let parent = environments.iter().find(is_parent);
        parent.map_or_else(
            || one.content.clone(),
            |parent| one.content.with_parent(&parent.content),
        )
    });
    Ok(contents.any(|content| Containers::of(&content).is_some_and(|own| own.id() == *id)))
}
