//! Templates of organizations; the built-in ones are code, and every organization has them.
//!
//! A template and the count of its organization's templates change in one transaction, so that
//! there are never more than [`MAX_TEMPLATES`]. A change is conditional on exactly the state it was
//! made from.

use awo_domain::template::{
    MAX_TEMPLATES, Template, TemplateContent, TemplateId, built_in, built_in_template,
};
use awo_domain::{Error, OrgId, Resource, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::idempotency::{NewResponse, RequestOutcome};
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, templates};
use crate::engine::list::Slice;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::settings::counted::create_outcome;
use crate::settings::environments::missing_environment;

/// A template as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TemplateItem {
    id: TemplateId,
    content: TemplateContent,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    /// How often it was written.
    revision: u32,
    v: u32,
}

impl From<TemplateItem> for Template {
    fn from(item: TemplateItem) -> Template {
        Template {
            id: item.id,
            content: item.content,
            built_in: false,
            created_at: item.created_at,
            updated_at: item.updated_at,
        }
    }
}

/// A template as it was read, to be changed or left.
#[derive(Debug, Clone)]
pub struct CurrentTemplate {
    /// The template.
    pub template: Template,
    revision: u32,
}

impl Store {
    /// The organization's templates, newest first, and then the built-in ones.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn templates(&self, org: &OrgId) -> Result<Vec<Template>, Error> {
        let slice = Slice::of_partition(templates(org)).limit(MAX_TEMPLATES);
        let items: Vec<TemplateItem> = self.slice(slice).await?.items;
        let mut all: Vec<Template> = items.into_iter().map(Template::from).collect();
        all.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        all.extend(built_in());
        Ok(all)
    }

    /// A template of this organization, or a built-in one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn template(
        &self,
        org: &OrgId,
        id: &TemplateId,
    ) -> Result<Option<CurrentTemplate>, Error> {
        if let Some(template) = built_in_template(id) {
            let revision = 0;
            return Ok(Some(CurrentTemplate { template, revision }));
        }
        let key = Key::template(org, id);
        let item: Option<TemplateItem> = self.get(&key).await?;
        Ok(item.map(|item| CurrentTemplate {
            revision: item.revision,
            template: item.into(),
        }))
    }

    /// Adds a template. `response` is what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there is one of that id, or if there are too many; [`Error::Invalid`] if
    /// it names an environment that is not there;
    /// [`Error::IdempotencyMismatch`], or internal; in every case nothing was written.
    pub async fn create_template(
        &self,
        org: &OrgId,
        template: &Template,
        response: Option<&NewResponse<'_>>,
    ) -> Result<RequestOutcome, Error> {
        let now = template.created_at;
        let item = TemplateItem {
            id: template.id.clone(),
            content: template.content.clone(),
            created_at: now,
            updated_at: None,
            revision: 1,
            v: SCHEMA_VERSION,
        };
        let environment = template.content.environment.as_ref();
        let created = Transaction::new()
            .put(&Key::template(org, &template.id), &item)?
            .count_one_more(&Key::template_count(org), MAX_TEMPLATES)
            .name_environment(org, environment)
            .store_response(org, response, now)?
            .commit(self)
            .await?;
        let full = format!(
            "your organization has {MAX_TEMPLATES} templates, the maximum: delete one first"
        );
        let faults = (taken_id(&template.id), Error::Conflict(full));
        create_outcome(created, ItemKind::Template, environment, response, faults)
    }

    /// Writes `new` over what was read; false if that has changed meanwhile.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it names an environment that is not there; internal, when DynamoDB fails.
    pub async fn replace_template(
        &self,
        org: &OrgId,
        read: &CurrentTemplate,
        new: &Template,
    ) -> Result<bool, Error> {
        let change = Change::new()
            .set("content", &new.content)
            .set_some("updatedAt", new.updated_at)
            .set("revision", read.revision + 1)
            .when("revision", read.revision)
            .when("createdAt", read.template.created_at);
        let key = Key::template(org, &new.id);
        let environment = new.content.environment.as_ref();
        let replaced = Transaction::new()
            .update(&key, change)
            .name_environment(org, environment)
            .commit(self)
            .await?;
        match replaced {
            CommitOutcome::Yes => Ok(true),
            CommitOutcome::No(refusals) => {
                missing_environment(&refusals, environment).map_or(Ok(false), Err)
            }
        }
    }

    /// Removes a template.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn delete_template(&self, org: &OrgId, id: &TemplateId) -> Result<(), Error> {
        let deleted = Transaction::new()
            .delete(&Key::template(org, id), Change::new().when_present("pk"))
            .count_one_less(&Key::template_count(org))
            .commit(self)
            .await?;
        match deleted {
            CommitOutcome::Yes => Ok(()),
            CommitOutcome::No(_) => Err(Error::NotFound(Resource::Template)),
        }
    }
}

/// There is a template of that id.
#[must_use]
pub fn taken_id(id: &TemplateId) -> Error {
    Error::Conflict(format!(
        "the template {} already exists: choose another id, or change it with PUT",
        id.as_str()
    ))
}
