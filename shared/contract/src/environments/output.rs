//! An environment as the API shows it. Of secrets it has the names.

use awo_domain::Timestamp;
use awo_domain::environment::{Environment, EnvironmentContent, EnvironmentName};
use serde::Serialize;
use utoipa::ToSchema;

/// An environment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentShape<'a> {
    /// Its name.
    name: &'a EnvironmentName,
    #[serde(flatten)]
    content: &'a EnvironmentContent,
    /// When it was created.
    created_at: Timestamp,
    /// When it was replaced last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

impl<'a> From<&'a Environment> for EnvironmentShape<'a> {
    fn from(environment: &'a Environment) -> EnvironmentShape<'a> {
        EnvironmentShape {
            name: &environment.name,
            content: &environment.content,
            created_at: environment.created_at,
            updated_at: environment.updated_at,
        }
    }
}
