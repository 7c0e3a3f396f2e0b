//! The parent of an environment that a request creates or replaces.

use awo_domain::api_key::Scope;
use awo_domain::environment::{Deployment, Environment, EnvironmentContent, EnvironmentName};
use awo_domain::{Error, Fault, OrgId};
use awo_http::Call;
use awo_store::Store;

/// Checks a content by itself and with what it inherits, and returns its parent; `before` is what it replaces.
///
/// # Errors
/// [`Error::Invalid`] with all faults, [`Error::MissingScope`] if an inherited secret would be given to others by a key that
/// may not set secrets, or internal.
pub async fn checked_parent(
    (store, deployment): (&Store, &Deployment),
    call: &Call,
    name: &EnvironmentName,
    content: &EnvironmentContent,
    before: Option<&EnvironmentContent>,
) -> Result<Option<Environment>, Error> {
    let mut faults = content.faults(deployment);
    let parent = parent(store, call.org(), content).await?;
    if let Some(why) = fault_of_parent(store, call.org(), name, content, parent.as_ref()).await? {
        faults.push(Fault {
            path: "/extends".to_owned(),
            message: why,
        });
    } else if let Some(parent) = &parent {
        let merged = content.with_parent(&parent.content).faults(deployment);
        faults.extend(content.inherited_faults(&faults, merged));
    }
    Error::if_any(faults)?;
    if let Some(parent) = &parent
        && !Scope::EnvironmentsSecrets.is_granted_by(&call.caller.scopes)
    {
        content.check_inherited(&parent.content, before)?;
    }
    Ok(parent)
}

/// The environment that a content extends, if it is there.
///
/// # Errors
/// Internal, when DynamoDB fails.
pub async fn parent(
    store: &Store,
    org: &OrgId,
    content: &EnvironmentContent,
) -> Result<Option<Environment>, Error> {
    let Some(parent) = &content.extends else {
        return Ok(None);
    };
    let known = store.environment(org, parent).await?;
    Ok(known.map(|known| known.environment))
}

async fn fault_of_parent(
    store: &Store,
    org: &OrgId,
    name: &EnvironmentName,
    content: &EnvironmentContent,
    parent: Option<&Environment>,
) -> Result<Option<String>, Error> {
    let Some(extended) = &content.extends else {
        return Ok(None);
    };
    if extended == name {
        return Ok(Some("must be another environment".to_owned()));
    }
    let Some(parent) = parent else {
        return Ok(Some(format!(
            "is not the name of an environment: there is no {extended}; GET /v1/environments lists those there are"
        )));
    };
    if let Some(grandparent) = &parent.content.extends {
        return Ok(Some(format!(
            "cannot be {extended}, which extends {grandparent} itself: name one that extends none"
        )));
    }
    let all = store.environments(org).await?;
    let child = all
        .iter()
        .find(|one| one.content.extends.as_ref() == Some(name));
    Ok(child.map(|child| {
        format!(
            "is not possible: {} extends this environment, which therefore cannot extend another",
            child.name
        )
    }))
}
