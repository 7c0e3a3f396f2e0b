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
use crate::document::schema::{Schemas, described, flag, input, list, object, text, word};

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
    let mut body = content(["name!", "source!"]);
    let id = described(
        schemas.of::<TemplateId>(),
        "Its id, unique in the organization.",
    );
    body.insert(0, ("id!", id));
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
    .body(object(body), example)
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
    .body(object(content(["name", "source"])), json!({ "description": "Where our services live", "tags": [] }))
    .fails(&[Failure::Conflict])
    .answers(Success::of::<TemplateShape>(schemas, 200, "The template."))
}

/// The members of a template's body; the given names may be required.
fn content([name, source]: [&'static str; 2]) -> Vec<(&'static str, Value)> {
    let description = described(text(0..=MAX_DESCRIPTION), "For people.");
    let variable = object([
        (
            "name!",
            json!({ "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$", "description": "Its name, as in `{{name}}`." }),
        ),
        ("description", description.clone()),
        (
            "required",
            described(flag(), "True if its value must not be empty."),
        ),
        (
            "default",
            described(text(0..=MAX_VALUE), "Its value if none is given."),
        ),
    ]);
    let variable = input(
        "TemplateVariableInput",
        "A variable that fills a placeholder.",
        variable,
    );
    let commands = described(
        list(&text(1..=MAX_COMMAND), 0..=MAX_COMMANDS),
        "They run in order after the clone, with `sh -c` in the workspace.",
    );
    let hooks = object([("postCreate", commands)]);
    let environment = json!({
        "type": ["string", "null"],
        "pattern": "^[A-Za-z0-9-]{1,128}$",
        "description": "The environment of work orders that name none; null removes it.",
    });
    vec![
        (name, described(text(1..=MAX_NAME), "For people.")),
        ("description", description),
        (source, git_source()),
        (
            "variables",
            described(
                list(&variable, 0..=MAX_VARIABLES),
                "The values of the gaps.",
            ),
        ),
        (
            "hooks",
            input(
                "TemplateHooksInput",
                "Commands that prepare the workspace.",
                hooks,
            ),
        ),
        (
            "tags",
            described(list(&text(1..=MAX_TAG), 0..=MAX_TAGS), "For finding it."),
        ),
        ("environment", environment),
    ]
}

fn git_source() -> Value {
    let source = object([
        ("type!", described(word(["git"]), "A git repository.")),
        (
            "repository!",
            described(
                text(1..=MAX_REPOSITORY),
                "Its URL; it may contain placeholders such as `{{name}}`.",
            ),
        ),
        (
            "branch",
            described(
                text(1..=MAX_BRANCH),
                "The branch; the default is the remote's default branch.",
            ),
        ),
    ]);
    input("TemplateGitSourceInput", "Sources of workspaces.", source)
}
