//! Operations of environments.

use awo_domain::api_key::Scope;
use awo_domain::environment::{EnvironmentName, SecretName};
use serde_json::{Value, json};

use crate::environments::input::{EnvironmentReplacement, NewEnvironment, NewSecretValue};
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
/// `PUT /v1/environments/{name}/secrets/{secret}`
pub const SET_ENVIRONMENT_SECRET: Route = keyed(
    "PUT",
    "/v1/environments/{name}/secrets/{secret}",
    Scope::EnvironmentsSecrets,
    "set-environment-secret",
);
/// `DELETE /v1/environments/{name}/secrets/{secret}`
pub const DELETE_ENVIRONMENT_SECRET: Route = keyed(
    "DELETE",
    "/v1/environments/{name}/secrets/{secret}",
    Scope::EnvironmentsSecrets,
    "delete-environment-secret",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_ENVIRONMENTS,
    CREATE_ENVIRONMENT,
    GET_ENVIRONMENT,
    UPDATE_ENVIRONMENT,
    DELETE_ENVIRONMENT,
    SET_ENVIRONMENT_SECRET,
    DELETE_ENVIRONMENT_SECRET,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("environments", &schemas.of::<EnvironmentShape>());
    let list = Operation::of(&LIST_ENVIRONMENTS, "List environments", "Newest first.");
    let get = Operation::of(
        &GET_ENVIRONMENT,
        "Get an environment",
        "Secrets appear with their names and phases and whether they are set, without values.",
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
        set_secret(schemas),
        Operation::of(
            &DELETE_ENVIRONMENT_SECRET,
            "Delete a secret's value",
            "Runs that are claimed later fail until it is set again. A name that the environment does not have is 404; a secret \
             that is not set is 204, too.",
        )
        .path::<EnvironmentName>()
        .path::<SecretName>()
        .answers(Success::nothing("It is gone.")),
    ]
}

fn set_secret(schemas: &mut Schemas) -> Operation {
    let body = NewSecretValue.schema(schemas);
    Operation::of(
        &SET_ENVIRONMENT_SECRET,
        "Set a secret's value",
        "Sets the value of a secret that the environment names in `secrets` or `registries`; no route returns it. It applies to \
         runs that are claimed later. The value is bound to the phases and registries of this moment: a replacement that \
         adds one, by a key without this scope, unsets it. 409 means that such a replacement came meanwhile.",
    )
    .path::<EnvironmentName>()
    .path::<SecretName>()
    .body(body, json!({ "value": "npm_0123456789abcdef" }))
    .fails(&[Failure::Conflict])
    .answers(Success::nothing("It is set."))
}

fn create(schemas: &mut Schemas) -> Operation {
    let body = NewEnvironment.schema(schemas);
    Operation::of(
        &CREATE_ENVIRONMENT,
        "Create an environment",
        "An environment defines where commands of runs execute: variables, secrets by phase, setup, caches, registries, size. \
         The value of a secret, and of a registry's credential, is set with \
         `PUT /v1/environments/{name}/secrets/{secret}`. A taken name is 409; a field that this \
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
