//! Operations of templates.

use awo_domain::source::{MAX_BRANCH, MAX_REPOSITORY};
use awo_domain::template::{
    MAX_COMMAND, MAX_COMMANDS, MAX_DESCRIPTION, MAX_NAME, MAX_TAG, MAX_TAGS, MAX_VALUE,
    MAX_VARIABLES, TemplateId,
};
use awo_http::page::DEFAULT_LIMIT;
use awo_http::routes;
use awo_templates::shape::TemplateShape;
use serde_json::{Value, json};

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success, plain_list};
use crate::document::schema::{Schemas, flag, list, object, text, word};

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
        "Work orders that were made from it keep what it resolved to. Built-in ones are 403.",
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
    let mut body = content(["name!", "source!"]);
    body.insert(0, ("id!", schemas.of::<TemplateId>()));
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
        "A workspace source with gaps, and commands that prepare what was cloned. An id that is taken is 409.",
    )
    .body(object(body), example)
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<TemplateShape>(schemas, 201, "The template."))
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &routes::UPDATE_TEMPLATE,
        "Update a template",
        "The fields that are given replace those that are there; the result is checked as a whole. Built-in ones are 403; 409 means that others kept changing it.",
    )
    .body(object(content(["name", "source"])), json!({ "description": "Where our services live", "tags": [] }))
    .fails(&[Failure::Conflict])
    .answers(Success::of::<TemplateShape>(schemas, 200, "The template."))
}

/// What a body says of a template, by the names of the members that may be required.
fn content([name, source]: [&'static str; 2]) -> Vec<(&'static str, Value)> {
    let description = text(0..=MAX_DESCRIPTION);
    let variable = object([
        (
            "name!",
            json!({ "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$" }),
        ),
        ("description", description.clone()),
        ("required", flag()),
        ("default", text(0..=MAX_VALUE)),
    ]);
    let commands = list(&text(1..=MAX_COMMAND), 0..=MAX_COMMANDS);
    vec![
        (name, text(1..=MAX_NAME)),
        ("description", description),
        (source, git_source("A URL with `{{gaps}}`.")),
        ("variables", list(&variable, 0..=MAX_VARIABLES)),
        ("hooks", object([("postCreate", commands)])),
        ("tags", list(&text(1..=MAX_TAG), 0..=MAX_TAGS)),
    ]
}

fn git_source(repository: &str) -> Value {
    object([
        ("type!", word(["git"])),
        (
            "repository!",
            crate::document::schema::described(text(1..=MAX_REPOSITORY), repository),
        ),
        ("branch", text(1..=MAX_BRANCH)),
    ])
}
