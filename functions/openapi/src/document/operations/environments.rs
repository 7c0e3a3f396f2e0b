//! Operations of environments.

use awo_contract::Field;
use awo_contract::environments::input::{EnvironmentReplacement, NewEnvironment};
use awo_contract::environments::output::EnvironmentShape;
use awo_contract::schema::Schemas;
use awo_http::page::DEFAULT_LIMIT;
use awo_http::routes;
use serde_json::{Value, json};

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success, plain_list};

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("environments", &schemas.of::<EnvironmentShape>());
    let list = Operation::of(
        &routes::LIST_ENVIRONMENTS,
        "List environments",
        "Newest first.",
    );
    let get = Operation::of(
        &routes::GET_ENVIRONMENT,
        "Get an environment",
        "Secrets appear with their names and phases, without values.",
    );
    let delete = Operation::of(
        &routes::DELETE_ENVIRONMENT,
        "Delete an environment",
        "An environment that a profile or a template names is 409. Work orders that name it retain the copy that they stored.",
    );
    vec![
        list.pages(DEFAULT_LIMIT)
            .answers(Success::with(200, "A page of environments.", page)),
        create(schemas),
        get.answers(Success::of::<EnvironmentShape>(
            schemas,
            200,
            "The environment.",
        )),
        update(schemas),
        delete
            .fails(&[Failure::Conflict])
            .answers(Success::nothing("It is gone.")),
    ]
}

fn create(schemas: &mut Schemas) -> Operation {
    let body = NewEnvironment.schema(schemas);
    Operation::of(
        &routes::CREATE_ENVIRONMENT,
        "Create an environment",
        "An environment defines where commands of runs execute: variables, secrets by phase, setup, caches, registries, size. \
         An operator sets the value of a secret, and of a registry's credential, with \
         `awo admin set-secret --name env:<environment>:<NAME>`. A taken name is 409; a field that this \
         deployment cannot honour (images and services on one machine) is 400.",
    )
    .body(body, example())
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<EnvironmentShape>(
        schemas,
        201,
        "The environment.",
    ))
}

fn update(schemas: &mut Schemas) -> Operation {
    let body = EnvironmentReplacement { name: None }.schema(schemas);
    Operation::of(
        &routes::UPDATE_ENVIRONMENT,
        "Replace an environment",
        "Replaces the whole environment: members that the body does not contain are removed. It applies to runs that are claimed later; image and services are those of the run's creation, the size that of the work order's. 409 means that concurrent requests changed it.",
    )
    .body(body, example())
    .fails(&[Failure::Conflict])
    .answers(Success::of::<EnvironmentShape>(
        schemas,
        200,
        "The environment.",
    ))
}

fn example() -> Value {
    json!({
        "name": "node",
        "description": "Node with our packages",
        "variables": { "CI": "1" },
        "secrets": [{ "name": "LICENCE_KEY", "phases": ["verify"] }],
        "setup": [{ "name": "deps", "run": "npm ci", "timeoutMs": 300_000 }],
        "caches": ["node_modules", "~/.npm"],
        "registries": [{ "kind": "npm", "url": "https://npm.example.com/", "secret": "NPM_TOKEN" }],
        "size": "large",
    })
}
