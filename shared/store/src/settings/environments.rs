//! Environments of organizations.
//!
//! An environment and the count of its organization's environments change in one transaction, so that
//! there are never more than [`MAX_ENVIRONMENTS`]. A change is written over exactly what it was made
//! from. A profile or a template that names an environment counts that at its item (`namings`), in
//! the transaction that writes the name: so it names one that is there, and a delete, which is
//! conditional on the number that it read before it searched for names, never misses one.

use awo_domain::environment::{
    Containers, Environment, EnvironmentContent, EnvironmentName, MAX_ENVIRONMENTS, SecretOwners,
    SetSecrets,
};
use awo_domain::work_order::ChosenEnvironment;
use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::idempotency::{NewResponse, RequestOutcome};
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, environments};
use crate::engine::list::Slice;
use crate::engine::transaction::{Refusal, Transaction};
use crate::settings::counted::create_outcome;
use crate::work_orders::WorkOrder;

/// An environment as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EnvironmentItem {
    name: EnvironmentName,
    content: EnvironmentContent,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    /// Its secrets whose values count; absent in an item of an earlier version, of which every value counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set_secrets: Option<SetSecrets>,
    /// How often it was written.
    revision: u32,
    /// How often a profile or a template was written that names it.
    namings: u32,
    v: u32,
}

/// An environment as it was read, to be changed or left.
#[derive(Debug, Clone)]
pub struct KnownEnvironment {
    /// The environment.
    pub environment: Environment,
    revision: u32,
    namings: u32,
}

impl From<EnvironmentItem> for KnownEnvironment {
    fn from(item: EnvironmentItem) -> KnownEnvironment {
        let set_secrets = item.set_secrets.unwrap_or_else(|| {
            let needed = item.content.needed_secrets().into_iter();
            needed
                .map(|name| (name.to_owned(), item.created_at))
                .collect()
        });
        KnownEnvironment {
            revision: item.revision,
            namings: item.namings,
            environment: Environment {
                name: item.name,
                content: item.content,
                created_at: item.created_at,
                updated_at: item.updated_at,
                set_secrets,
            },
        }
    }
}

impl Transaction {
    /// Counts that a profile or a template names an environment, which must be there.
    pub(crate) fn name_environment(
        self,
        org: &OrgId,
        name: Option<&EnvironmentName>,
    ) -> Transaction {
        let Some(name) = name else {
            return self;
        };
        let key = Key::environment(org, name);
        let named = Change::new().add("namings", 1).when_present("createdAt");
        self.update(&key, named)
    }
}

/// The fault of a profile or a template that names an environment which is not there, if nothing else
/// was refused.
#[must_use]
pub(crate) fn missing_environment(
    refusals: &[Refusal],
    name: Option<&EnvironmentName>,
) -> Option<Error> {
    let is_environment = |of: &Refusal| of.kind == ItemKind::Environment;
    if refusals.is_empty() || !refusals.iter().all(is_environment) {
        return None;
    }
    let name = name.map(EnvironmentName::as_str).unwrap_or_default();
    let message = format!(
        "is not the name of an environment: there is no {name}; GET /v1/environments lists those there \
         are"
    );
    Some(Error::invalid("/environment", message))
}

/// An environment with what it inherits. The value of a secret that the parent names is the parent's.
fn with_parent(own: Environment, parent: Option<KnownEnvironment>) -> ChosenEnvironment {
    let owned = |environment: &Environment| {
        let names = environment.set_secrets.keys();
        let owned = names.map(|secret| (secret.clone(), environment.name.clone()));
        owned.collect::<SecretOwners>()
    };
    let mut secret_owners = owned(&own);
    let Some(KnownEnvironment {
        environment: parent,
        ..
    }) = parent
    else {
        return ChosenEnvironment {
            name: own.name,
            content: own.content,
            secret_owners,
        };
    };
    let of_parent = parent.content.needed_secrets();
    secret_owners.retain(|secret, _| !of_parent.contains(&secret.as_str()));
    secret_owners.extend(owned(&parent));
    ChosenEnvironment {
        content: own.content.with_parent(&parent.content),
        name: own.name,
        secret_owners,
    }
}

impl Store {
    /// The organization's environments, newest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn environments(&self, org: &OrgId) -> Result<Vec<Environment>, Error> {
        let slice = Slice::of_partition(environments(org));
        let items: Vec<EnvironmentItem> = self.slice(slice.limit(MAX_ENVIRONMENTS)).await?.items;
        let known = items.into_iter().map(KnownEnvironment::from);
        let mut all: Vec<Environment> = known.map(|known| known.environment).collect();
        all.sort_by(|a, b| (b.created_at, &b.name).cmp(&(a.created_at, &a.name)));
        Ok(all)
    }

    /// An environment of this organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn environment(
        &self,
        org: &OrgId,
        name: &EnvironmentName,
    ) -> Result<Option<KnownEnvironment>, Error> {
        let key = Key::environment(org, name);
        let item: Option<EnvironmentItem> = self.get(&key).await?;
        Ok(item.map(KnownEnvironment::from))
    }

    /// The environment of a new run of this work order: as it is now, or, if it is deleted, as it was
    /// when the work order was made.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn environment_of(
        &self,
        org: &OrgId,
        order: &WorkOrder,
    ) -> Result<Option<ChosenEnvironment>, Error> {
        let Some(name) = &order.environment else {
            return Ok(None);
        };
        match self.inherited_environment(org, name).await? {
            Some(chosen) => Ok(Some(chosen)),
            None => order.chosen_environment(),
        }
    }

    /// An environment as it is now, with what it inherits.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn inherited_environment(
        &self,
        org: &OrgId,
        name: &EnvironmentName,
    ) -> Result<Option<ChosenEnvironment>, Error> {
        let Some(KnownEnvironment { environment, .. }) = self.environment(org, name).await? else {
            return Ok(None);
        };
        let parent = match &environment.content.extends {
            // A parent is not deleted while it is extended.
            Some(parent) => self.environment(org, parent).await?,
            None => None,
        };
        Ok(Some(with_parent(environment, parent)))
    }

    /// Adds an environment. `response` is what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there is one of that name, or if there are too many;
    /// [`Error::IdempotencyMismatch`], or internal; in every case nothing was written.
    pub async fn create_environment(
        &self,
        org: &OrgId,
        environment: &Environment,
        response: Option<&NewResponse<'_>>,
    ) -> Result<RequestOutcome, Error> {
        let now = environment.created_at;
        let item = EnvironmentItem {
            name: environment.name.clone(),
            content: environment.content.clone(),
            created_at: now,
            updated_at: None,
            set_secrets: Some(SetSecrets::new()),
            revision: 1,
            namings: 0,
            v: SCHEMA_VERSION,
        };
        let key = Key::environment(org, &environment.name);
        let count_key = Key::environment_count(org);
        let created = Transaction::new()
            .put(&key, &item)?
            .name_environment(org, environment.content.extends.as_ref())
            .count_one_more(&count_key, MAX_ENVIRONMENTS)
            .store_response(org, response, now)?
            .commit(self)
            .await?;
        let name = &environment.name;
        let taken = format!(
            "there is an environment {name} already: choose another name, or change that one with PUT"
        );
        let full = format!(
            "your organization has {MAX_ENVIRONMENTS} environments, which is the most: delete one first"
        );
        let faults = (Error::Conflict(taken), Error::Conflict(full));
        create_outcome(created, ItemKind::Environment, None, response, faults)
    }

    /// Writes `new` over what was read; false if that has changed meanwhile.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn replace_environment(
        &self,
        org: &OrgId,
        read: &KnownEnvironment,
        new: &Environment,
    ) -> Result<bool, Error> {
        let change = Change::new()
            .set("content", &new.content)
            .set_some("updatedAt", new.updated_at)
            .set("setSecrets", &new.set_secrets)
            .set("revision", read.revision + 1)
            .when("revision", read.revision)
            .when("createdAt", read.environment.created_at);
        let key = Key::environment(org, &new.name);
        let replaced = Transaction::new()
            .update(&key, change)
            .name_environment(org, new.content.extends.as_ref())
            .commit(self)
            .await?;
        Ok(replaced.is_yes())
    }

    /// Removes an environment, if no new reference to it was made since it was read; false otherwise.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn delete_environment(
        &self,
        org: &OrgId,
        read: &KnownEnvironment,
    ) -> Result<bool, Error> {
        let unnamed = Change::new()
            .when("namings", read.namings)
            .when("createdAt", read.environment.created_at);
        let key = Key::environment(org, &read.environment.name);
        let deleted = Transaction::new()
            .delete(&key, unnamed)
            .count_one_less(&Key::environment_count(org))
            .commit(self)
            .await?;
        Ok(deleted.is_yes())
    }

    /// The profiles, templates and environments that name an environment themselves, for people.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn named_by(
        &self,
        org: &OrgId,
        name: &EnvironmentName,
    ) -> Result<Vec<String>, Error> {
        let (profiles, templates, environments) = tokio::try_join!(
            self.profiles(org),
            self.templates(org),
            self.environments(org)
        )?;
        let profiles = profiles
            .values()
            .filter(|stored| stored.content.groups.environment.as_ref() == Some(name))
            .map(|stored| format!("the profile {}", stored.name));
        let templates = templates
            .iter()
            .filter(|template| template.content.environment.as_ref() == Some(name))
            .map(|template| format!("the template {}", template.id.as_str()));
        let environments = environments
            .iter()
            .filter(|environment| environment.content.extends.as_ref() == Some(name))
            .map(|environment| format!("the environment {}", environment.name));
        Ok(profiles.chain(templates).chain(environments).collect())
    }
}

impl WorkOrder {
    /// What its tasks have in the place of the deployment's image and beside the runner: as it was
    /// when the newest run was made.
    ///
    /// # Errors
    /// Internal, if what was snapshot does not read.
    pub fn own_containers(&self) -> Result<Option<Containers>, Error> {
        let chosen = match self.containers {
            Some(_) => self.chosen_environment()?,
            None => None,
        };
        let own = chosen.and_then(|chosen| Containers::of(&chosen.content));
        Ok(own.map(|own| self.sized(own)))
    }

    /// Its size prices its runs, so it stays what it was.
    fn sized(&self, own: Containers) -> Containers {
        Containers {
            size: self.size,
            ..own
        }
    }

    /// The work order for a new run whose environment is this now.
    ///
    /// # Errors
    /// Internal, if it cannot be snapshot.
    pub fn in_environment(&self, chosen: Option<&ChosenEnvironment>) -> Result<WorkOrder, Error> {
        let Some(chosen) = chosen else {
            return Ok(self.clone());
        };
        let own = Containers::of(&chosen.content).map(|own| self.sized(own));
        let snapshot = serde_json::to_string(&chosen.content).map_err(Error::internal)?;
        Ok(WorkOrder {
            environment_snapshot: Some(snapshot),
            containers: own.map(|own| own.id()),
            ..self.clone()
        })
    }

    /// Its environment as it was when the work order was made.
    ///
    /// # Errors
    /// Internal, if what was snapshot does not read.
    pub fn chosen_environment(&self) -> Result<Option<ChosenEnvironment>, Error> {
        let Some(name) = self.environment.clone() else {
            return Ok(None);
        };
        let snapshot = self.environment_snapshot.as_deref().unwrap_or_default();
        let content = serde_json::from_str(snapshot).map_err(|e| {
            Error::internal(format!(
                "the environment {name} of a work order is gone: {e}"
            ))
        })?;
        Ok(Some(ChosenEnvironment {
            name,
            content,
            secret_owners: SecretOwners::new(),
        }))
    }
}
