//! Operations of templates.

use awo_contract::Field;
use awo_contract::schema::Schemas;
use awo_contract::templates::input::{NewTemplate, TemplateUpdate};
use awo_contract::templates::output::TemplateShape;
use awo_http::page::DEFAULT_LIMIT;
use awo_http::routes;
use serde_json::json;

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success, plain_list};

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("templates", &schemas.of::<TemplateShape>());
    let list = Operation::of(
        &routes::LIST_TEMPLATES,
        "List templates",
        "Your own, newest first, then the built-in ones.",
    );
    let get = Operation::of(
        &routes::GET_TEMPLATE,
        "Get a template",
        "Your own or a built-in one.",
    );
    let delete = Operation::of(
        &routes::DELETE_TEMPLATE,
        "Delete a template",
        "Work orders that were created from it retain their resolved source. Built-in ones are 403.",
    );
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
        &routes::CREATE_TEMPLATE,
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
        &routes::UPDATE_TEMPLATE,
        "Update a template",
        "Given fields replace the present ones; the resulting template is checked. Built-in ones are 403; 409 means that concurrent requests changed it.",
    )
    .body(TemplateUpdate.schema(schemas), json!({ "description": "Where our services live", "tags": [] }))
    .fails(&[Failure::Conflict])
    .answers(Success::of::<TemplateShape>(schemas, 200, "The template."))
}
