//! A template as the API shows it.

use awo_domain::Timestamp;
use awo_domain::template::{Template, TemplateContent, TemplateId};
use serde::Serialize;
use utoipa::ToSchema;

/// A template.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateShape<'a> {
    /// Its id.
    id: &'a TemplateId,
    #[serde(flatten)]
    content: &'a TemplateContent,
    /// True if it belongs to the product and cannot be changed.
    built_in: bool,
    /// When it was created.
    created_at: Timestamp,
    /// When it was changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

impl<'a> From<&'a Template> for TemplateShape<'a> {
    fn from(template: &'a Template) -> TemplateShape<'a> {
        TemplateShape {
            id: &template.id,
            content: &template.content,
            built_in: template.built_in,
            created_at: template.created_at,
            updated_at: template.updated_at,
        }
    }
}
