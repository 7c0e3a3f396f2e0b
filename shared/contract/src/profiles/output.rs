//! Profiles as the API shows them.

use awo_domain::environment::EnvironmentName;
use awo_domain::profile::partial::{Groups, PartialContent};
use awo_domain::profile::{
    ExecutionLimits, GitOps, LoopStrategy, Profile, ProfileName, Verification,
};
use awo_domain::{Fault, Timestamp};
use awo_store::settings::profiles::StoredProfile;
use serde::Serialize;
use utoipa::ToSchema;

/// A profile in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProfileSummary)]
pub struct ProfileItemShape {
    /// Its name.
    name: ProfileName,
    /// A description for people.
    description: String,
    /// The profile that fills its gaps, or null.
    #[schema(required)]
    extends: Option<ProfileName>,
    /// True if it belongs to the product and cannot be changed.
    is_built_in: bool,
}

impl ProfileItemShape {
    /// A profile by its name and content.
    #[must_use]
    pub fn of(name: ProfileName, content: PartialContent, is_built_in: bool) -> ProfileItemShape {
        ProfileItemShape {
            name,
            description: content.description,
            extends: content.extends,
            is_built_in,
        }
    }
}

/// All profiles: the organization's own, newest first, then the built-in ones.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProfileListShape {
    /// At most 104.
    pub items: Vec<ProfileItemShape>,
    /// The number of items.
    pub total: usize,
}

/// A profile that was made.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedProfileShape {
    /// The profile.
    #[serde(flatten)]
    pub profile: ProfileItemShape,
    /// For people.
    pub message: String,
}

/// A profile as it was written.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileShape {
    #[serde(flatten)]
    profile: ProfileItemShape,
    #[serde(flatten)]
    groups: Groups,
    /// When it was created; absent for a built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    /// When it was replaced last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

impl ProfileShape {
    /// A profile of an organization.
    #[must_use]
    pub fn own(stored: StoredProfile) -> ProfileShape {
        let groups = stored.content.groups.clone();
        ProfileShape {
            profile: ProfileItemShape::of(stored.name, stored.content, false),
            groups,
            created_at: Some(stored.created_at),
            updated_at: stored.updated_at,
        }
    }

    /// A built-in profile.
    #[must_use]
    pub fn built_in(name: ProfileName, content: PartialContent) -> ProfileShape {
        let groups = content.groups.clone();
        ProfileShape {
            profile: ProfileItemShape::of(name, content, true),
            groups,
            created_at: None,
            updated_at: None,
        }
    }

    /// The same with the settings of its chain.
    #[must_use]
    pub fn resolved(self, whole: Profile, config_hash: String) -> ResolvedProfileShape {
        ResolvedProfileShape {
            profile: self.profile,
            loop_strategy: whole.loop_strategy,
            verification: whole.verification,
            git_ops: whole.git_ops,
            execution_limits: whole.execution_limits,
            environment: whole.environment,
            config_hash,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// A profile with its gaps filled.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedProfileShape {
    #[serde(flatten)]
    profile: ProfileItemShape,
    /// How often the agent may try.
    loop_strategy: LoopStrategy,
    /// The verification.
    verification: Verification,
    /// The delivery of the result.
    git_ops: GitOps,
    /// Limits of each run.
    execution_limits: ExecutionLimits,
    /// The environment of work orders that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<EnvironmentName>,
    /// The hash of this configuration, as a run's audit has it.
    config_hash: String,
    /// When it was created; absent for a built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    /// When it was replaced last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

/// Something to know about a profile.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProfileFinding)]
pub struct FaultShape {
    /// JSON pointer into the profile.
    pub path: String,
    /// The fault there, or the setting without effect.
    pub message: String,
}

impl From<Fault> for FaultShape {
    fn from(fault: Fault) -> FaultShape {
        FaultShape {
            path: fault.path,
            message: fault.message,
        }
    }
}

/// The outcome of a validation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProfileValidation)]
pub struct ValidationShape {
    /// True if there are no errors.
    pub valid: bool,
    /// The faults for which a create or a replacement would be refused.
    pub errors: Vec<FaultShape>,
    /// Members that would be stored without effect, or would prevent runs from beginning.
    pub warnings: Vec<FaultShape>,
}
