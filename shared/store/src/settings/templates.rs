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
use crate::engine::idempotency::{NewResponse, RequestOutcome, replay};
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, templates};
use crate::engine::list::Slice;
use crate::engine::transaction::{Committed, Refusal, Transaction};
use crate::settings::environments::no_environment;

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
        let count = Change::new()
            .add("count", 1)
            .at_most_or_missing("count", i64::from(MAX_TEMPLATES) - 1);
        let created = Transaction::new()
            .put(&Key::template(org, &template.id), &item)?
            .update(&Key::template_count(org), count)
            .name_environment(org, template.content.environment.as_ref())
            .store_response(org, response, now)?
            .commit(self)
            .await?;
        match created {
            Committed::Yes => Ok(RequestOutcome::New(())),
            Committed::No(refusals) => refused(template, response, &refusals),
        }
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
            Committed::Yes => Ok(true),
            Committed::No(refusals) if only_environment(&refusals) => {
                Err(no_environment(environment))
            }
            Committed::No(_) => Ok(false),
        }
    }

    /// Removes a template.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn delete_template(&self, org: &OrgId, id: &TemplateId) -> Result<(), Error> {
        let deleted = Transaction::new()
            .delete(&Key::template(org, id), Change::new().when_present("pk"))
            .update(&Key::template_count(org), Change::new().add("count", -1))
            .commit(self)
            .await?;
        match deleted {
            Committed::Yes => Ok(()),
            Committed::No(_) => Err(Error::NotFound(Resource::Template)),
        }
    }
}

/// True if nothing but the environment that is named is missing.
fn only_environment(refusals: &[Refusal]) -> bool {
    let mut guards = refusals.iter().map(|refusal| refusal.kind);
    !refusals.is_empty() && guards.all(|guard| guard == ItemKind::Environment)
}

/// What a refused create tells the caller: a replay before all else.
fn refused(
    template: &Template,
    response: Option<&NewResponse<'_>>,
    refusals: &[Refusal],
) -> Result<RequestOutcome, Error> {
    let is_unnamed = only_environment(refusals);
    let is_taken = refusals.iter().any(|of| of.kind == ItemKind::Template);
    match replay(response, refusals)? {
        Some(first) => Ok(RequestOutcome::Replayed(first)),
        None if is_taken => Err(taken_id(&template.id)),
        None if is_unnamed => Err(no_environment(template.content.environment.as_ref())),
        None => Err(Error::Conflict(format!(
            "your organization has {MAX_TEMPLATES} templates, the maximum: delete one first"
        ))),
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
