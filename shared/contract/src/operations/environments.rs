//! Operations of environments.

use awo_domain::api_key::Scope;
use awo_domain::environment::EnvironmentName;
use serde_json::{Value, json};

use crate::environments::input::{EnvironmentReplacement, NewEnvironment};
use crate::environments::output::EnvironmentShape;
use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success, plain_list};
use crate::page::DEFAULT_LIMIT;
use crate::routes::{Route, creating, keyed};
use crate::schema::Schemas;

/// `GET /v1/environments`
pub const LIST_ENVIRONMENTS: Route = keyed(
    "GET",
    "/v1/environments",
    Scope::EnvironmentsRead,
    "list-environments",
);
/// `POST /v1/environments`
pub const CREATE_ENVIRONMENT: Route = creating(
    keyed(
        "POST",
        "/v1/environments",
        Scope::EnvironmentsWrite,
        "create-environment",
    ),
    "/v1/environments",
    "/name",
);
/// `GET /v1/environments/{name}`
pub const GET_ENVIRONMENT: Route = keyed(
    "GET",
    "/v1/environments/{name}",
    Scope::EnvironmentsRead,
    "get-environment",
);
/// `PUT /v1/environments/{name}`
pub const UPDATE_ENVIRONMENT: Route = keyed(
    "PUT",
    "/v1/environments/{name}",
    Scope::EnvironmentsWrite,
    "update-environment",
);
/// `DELETE /v1/environments/{name}`
pub const DELETE_ENVIRONMENT: Route = keyed(
    "DELETE",
    "/v1/environments/{name}",
    Scope::EnvironmentsWrite,
    "delete-environment",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_ENVIRONMENTS,
    CREATE_ENVIRONMENT,
    GET_ENVIRONMENT,
    UPDATE_ENVIRONMENT,
    DELETE_ENVIRONMENT,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("environments", &schemas.of::<EnvironmentShape>());
    let list = Operation::of(&LIST_ENVIRONMENTS, "List environments", "Newest first.");
    let get = Operation::of(
        &GET_ENVIRONMENT,
        "Get an environment",
        "Secrets appear with their names and phases, without values.",
    )
    .path::<EnvironmentName>();
    let delete = Operation::of(
        &DELETE_ENVIRONMENT,
        "Delete an environment",
        "An environment that a profile or a template names is 409. Work orders that name it retain the copy that they stored.",
    ).path::<EnvironmentName>();
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
        &CREATE_ENVIRONMENT,
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
        &UPDATE_ENVIRONMENT,
        "Replace an environment",
        "Replaces the whole environment: members that the body does not contain are removed. It applies to runs that are claimed later; image and services are those of the run's creation, the size that of the work order's. 409 means that concurrent requests changed it.",
    ).path::<EnvironmentName>()
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
