//! Profiles of organizations; the built-in ones are code, and every organization has them.
//!
//! A profile's validity depends on others: on those that it extends and on those that extend it. So
//! all changes of an organization's profiles go through one item, which counts them: a change is
//! written only if nothing has changed since the profiles were read on which it was decided. All of
//! them fit into one query.

use std::collections::BTreeMap;

use awo_domain::environment::EnvironmentName;
use awo_domain::profile::partial::{MAX_PROFILES, PartialContent};
use awo_domain::profile::{Contents, Profile, ProfileName, built_in, resolve, resolve_built_in};
use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::idempotency::{NewResponse, RequestOutcome, replay};
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{Key, profiles};
use crate::engine::list::Slice;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::settings::environments::missing_environment;
use crate::work_orders::WorkOrder;

/// A profile as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProfileItem {
    name: ProfileName,
    /// As JSON text: DynamoDB's numbers are not those of JSON.
    content: String,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    v: u32,
}

/// The item that counts the changes.
#[derive(Debug, Default, Deserialize)]
struct Changes {
    revision: i64,
}

/// A profile of an organization.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredProfile {
    /// Its name, unique in its organization.
    pub name: ProfileName,
    /// Its content.
    pub content: PartialContent,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last replaced.
    pub updated_at: Option<Timestamp>,
}

impl StoredProfile {
    fn read(item: ProfileItem) -> Result<StoredProfile, Error> {
        let content = serde_json::from_str(&item.content)
            .map_err(|e| Error::internal(format!("a profile does not read: {e}")))?;
        Ok(StoredProfile {
            name: item.name,
            content,
            created_at: item.created_at,
            updated_at: item.updated_at,
        })
    }

    fn item(&self) -> Result<ProfileItem, Error> {
        Ok(ProfileItem {
            name: self.name.clone(),
            content: json(&self.content)?,
            created_at: self.created_at,
            updated_at: self.updated_at,
            v: SCHEMA_VERSION,
        })
    }
}

/// All profiles of an organization's own.
#[derive(Debug)]
pub struct ProfileSet {
    /// By name.
    pub profiles: BTreeMap<ProfileName, StoredProfile>,
    /// How often they had changed, at most, when they were read.
    revision: i64,
}

impl ProfileSet {
    /// Their contents.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let all = self.profiles.iter();
        all.map(|(name, stored)| (name.clone(), stored.content.clone()))
            .collect()
    }
}

/// A change of an organization's profiles.
#[derive(Debug, Clone, Copy)]
pub enum ProfileChange<'a> {
    /// A new one.
    Create(&'a StoredProfile),
    /// Another one in the place of the one of that name.
    Replace(&'a StoredProfile),
    /// One less.
    Delete(&'a ProfileName),
}

impl<'a> ProfileChange<'a> {
    /// The environment that the changed profile names.
    fn environment(self) -> Option<&'a EnvironmentName> {
        match self {
            ProfileChange::Create(new) | ProfileChange::Replace(new) => {
                new.content.groups.environment.as_ref()
            }
            ProfileChange::Delete(_) => None,
        }
    }
}

impl Store {
    /// The organization's own profiles, by name.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn profiles(
        &self,
        org: &OrgId,
    ) -> Result<BTreeMap<ProfileName, StoredProfile>, Error> {
        let slice = Slice::of_partition(profiles(org)).limit(MAX_PROFILES);
        let items: Vec<ProfileItem> = self.slice(slice).await?.items;
        let read = items.into_iter().map(|item| {
            let stored = StoredProfile::read(item)?;
            Ok((stored.name.clone(), stored))
        });
        read.collect()
    }

    /// The organization's own profiles, to be changed. What it is decided on is counted before
    /// it is read, so that a change in between is noticed.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn profile_set(&self, org: &OrgId) -> Result<ProfileSet, Error> {
        let key = Key::profile_changes(org);
        let changes: Option<Changes> = self.get(&key).await?;
        Ok(ProfileSet {
            revision: changes.unwrap_or_default().revision,
            profiles: self.profiles(org).await?,
        })
    }

    /// The profile of that name, resolved: a built-in one, or one of this organization; none
    /// if there is none. It costs one query, or nothing.
    ///
    /// # Errors
    /// [`Error::Invalid`] if its chain is broken, which no change lets happen; or internal.
    pub async fn resolved_profile(
        &self,
        org: &OrgId,
        name: &ProfileName,
    ) -> Result<Option<Profile>, Error> {
        if built_in(name).is_some() {
            return Ok(resolve_built_in(name.as_str()));
        }
        let all = self.profiles(org).await?;
        let Some(own) = all.get(name) else {
            return Ok(None);
        };
        let known = |name: &ProfileName| all.get(name).map(|stored| stored.content.clone());
        let profile = resolve(name, &own.content, known);
        profile
            .map(Some)
            .map_err(|fault| Error::Invalid(vec![fault]))
    }

    /// The work order's profile as it resolves now, if there still is such a profile and a run
    /// can have it.
    pub(crate) async fn present_profile(
        &self,
        org: &OrgId,
        order: &WorkOrder,
    ) -> Result<Option<Profile>, Error> {
        let Ok(name) = ProfileName::parse(&order.terms.harness) else {
            return Ok(None);
        };
        match self.resolved_profile(org, &name).await {
            Ok(profile) => Ok(profile.filter(|profile| profile.not_runnable().is_none())),
            Err(Error::Invalid(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The effective profile of a new run of this work order: as it is now, or, if no run can
    /// have that any more, as it was when the work order was made.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn profile_of(&self, org: &OrgId, order: &WorkOrder) -> Result<Profile, Error> {
        if let Some(profile) = self.present_profile(org, order).await? {
            return Ok(profile);
        }
        let snapshot = order.profile_snapshot.as_deref().unwrap_or_default();
        serde_json::from_str(snapshot).map_err(|e| {
            let name = &order.terms.harness;
            Error::internal(format!("the profile {name} of a work order is gone: {e}"))
        })
    }

    /// Changes an organization's profiles. `response` is what a replay of the same request gets.
    /// None if the profiles are not as they were read: decide anew.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it names an environment that is not there,
    /// [`Error::IdempotencyMismatch`], or internal; in every case nothing was written.
    pub async fn change_profiles(
        &self,
        org: &OrgId,
        seen: &ProfileSet,
        change: ProfileChange<'_>,
        response: Option<&NewResponse<'_>>,
        now: Timestamp,
    ) -> Result<Option<RequestOutcome>, Error> {
        let there = || Change::new().when_present("pk");
        let transaction = Transaction::new();
        let transaction = match change {
            ProfileChange::Create(new) => {
                let key = Key::profile(org, &new.name);
                transaction.put(&key, &new.item()?)?
            }
            ProfileChange::Replace(new) => {
                let key = Key::profile(org, &new.name);
                let item = new.item()?;
                transaction.put_when(&key, &item, there())?
            }
            ProfileChange::Delete(name) => {
                let key = Key::profile(org, name);
                transaction.delete(&key, there())
            }
        };
        let counted = Change::new().add("revision", 1);
        let counted = match seen.revision {
            0 => counted.when_missing("revision"),
            revision => counted.when("revision", revision),
        };
        let key = Key::profile_changes(org);
        let environment = change.environment();
        let changed = transaction
            .update(&key, counted)
            .name_environment(org, environment)
            .store_response(org, response, now)?
            .commit(self)
            .await?;
        let refusals = match changed {
            CommitOutcome::Yes => return Ok(Some(RequestOutcome::New(()))),
            CommitOutcome::No(refusals) => refusals,
        };
        if let Some(fault) = missing_environment(&refusals, environment) {
            return Err(fault);
        }
        Ok(replay(response, &refusals)?.map(RequestOutcome::Replayed))
    }
}

/// A profile, or the content of one, as a snapshot has it.
///
/// # Errors
/// Internal, if it does not write.
pub fn json(of: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(of).map_err(Error::internal)
}
