//! Operations of templates.

use awo_domain::api_key::Scope;
use awo_domain::template::TemplateId;
use serde_json::json;

use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success, plain_list};
use crate::page::DEFAULT_LIMIT;
use crate::routes::{Route, creating, keyed};
use crate::schema::Schemas;
use crate::templates::input::{NewTemplate, TemplateUpdate};
use crate::templates::output::TemplateShape;

/// `GET /v1/templates`
pub const LIST_TEMPLATES: Route = keyed(
    "GET",
    "/v1/templates",
    Scope::TemplatesRead,
    "list-templates",
);
/// `POST /v1/templates`
pub const CREATE_TEMPLATE: Route = creating(
    keyed(
        "POST",
        "/v1/templates",
        Scope::TemplatesWrite,
        "create-template",
    ),
    "/v1/templates",
    "/id",
);
/// `GET /v1/templates/{id}`
pub const GET_TEMPLATE: Route = keyed(
    "GET",
    "/v1/templates/{id}",
    Scope::TemplatesRead,
    "get-template",
);
/// `PUT /v1/templates/{id}`
pub const UPDATE_TEMPLATE: Route = keyed(
    "PUT",
    "/v1/templates/{id}",
    Scope::TemplatesWrite,
    "update-template",
);
/// `DELETE /v1/templates/{id}`
pub const DELETE_TEMPLATE: Route = keyed(
    "DELETE",
    "/v1/templates/{id}",
    Scope::TemplatesWrite,
    "delete-template",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_TEMPLATES,
    CREATE_TEMPLATE,
    GET_TEMPLATE,
    UPDATE_TEMPLATE,
    DELETE_TEMPLATE,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("templates", &schemas.of::<TemplateShape>());
    let list = Operation::of(
        &LIST_TEMPLATES,
        "List templates",
        "Your own, newest first, then the built-in ones.",
    );
    let get = Operation::of(
        &GET_TEMPLATE,
        "Get a template",
        "Your own or a built-in one.",
    )
    .path::<TemplateId>();
    let delete = Operation::of(
        &DELETE_TEMPLATE,
        "Delete a template",
        "Work orders that were created from it retain their resolved source. Built-in ones are 403.",
    ).path::<TemplateId>();
    vec![
        list.pages(DEFAULT_LIMIT)
            .answers(Success::with(200, "A page of templates.", page)),
        create(schemas),
        get.answers(Success::of::<TemplateShape>(schemas, 200, "The template.")),
        update(schemas),
        delete.answers(Success::nothing("It is gone.")),
    ]
}

fn create(schemas: &mut Schemas) -> Operation {
    let example = json!({
        "id": "services",
        "name": "Our services",
        "source": { "type": "git", "repository": "https://git.example.com/{{name}}.git" },
        "variables": [{ "name": "name", "description": "Which service", "required": true }],
        "hooks": { "postCreate": ["./setup --service {{name}}"] },
        "tags": ["service"],
    });
    Operation::of(
        &CREATE_TEMPLATE,
        "Create a template",
        "A workspace source with placeholders, and commands that prepare the clone. A taken id is 409.",
    )
    .body(NewTemplate.schema(schemas), example)
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<TemplateShape>(schemas, 201, "The template."))
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &UPDATE_TEMPLATE,
        "Update a template",
        "Given fields replace the present ones; the resulting template is checked. Built-in ones are 403; 409 means that concurrent requests changed it.",
    ).path::<TemplateId>()
    .body(TemplateUpdate.schema(schemas), json!({ "description": "Where our services live", "tags": [] }))
    .fails(&[Failure::Conflict])
    .answers(Success::of::<TemplateShape>(schemas, 200, "The template."))
}
