//! Operations of environments.

use awo_domain::environment::{
    EnvironmentName, MAX_CACHES, MAX_COMMAND, MAX_DESCRIPTION, MAX_HOSTS, MAX_IMAGE, MAX_NAME,
    MAX_PATH, MAX_REGISTRIES, MAX_SECRETS, MAX_SERVICES, MAX_STEP_NAME, MAX_STEPS, MAX_URL,
    MAX_VALUE, MAX_VARIABLES, RegistryKind, STEP_MS, SecretPhase, Size,
};
use awo_environments::shape::EnvironmentShape;
use awo_http::page::DEFAULT_LIMIT;
use awo_http::routes;
use serde_json::{Value, json};

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success, plain_list};
use crate::document::schema::{Schemas, described, list, map, object, text, whole};

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
        "Of secrets it has the names and the phases.",
    );
    let delete = Operation::of(
        &routes::DELETE_ENVIRONMENT,
        "Delete an environment",
        "One that a profile or a template names is 409. Work orders that name it keep what it was when they were made.",
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
    let body = body(schemas, "name!");
    Operation::of(
        &routes::CREATE_ENVIRONMENT,
        "Create an environment",
        "Where the commands of runs happen: variables, secrets by phase, setup, caches, registries, size. \
         An operator sets the value of a secret, and of a registry's credential, with \
         `awo admin set-secret --name env:<environment>:<NAME>`. A name that is taken is 409; what this \
         deployment cannot give (images and services on one machine, egress) is 400.",
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
    let body = body(schemas, "name");
    Operation::of(
        &routes::UPDATE_ENVIRONMENT,
        "Replace an environment",
        "Whole: what the body does not say is gone. Runs whose compute begins later see it; their size is that of the moment at which their work order was made. 409 means that others kept changing it.",
    )
    .body(body, example())
    .fails(&[Failure::Conflict])
    .answers(Success::of::<EnvironmentShape>(
        schemas,
        200,
        "The environment.",
    ))
}

fn body(schemas: &mut Schemas, name: &'static str) -> Value {
    let variables = map(&text(0..=MAX_VALUE), MAX_VARIABLES, 1..=MAX_NAME);
    let variable = json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$" });
    let phases = list(&schemas.of::<SecretPhase>(), 1..=SecretPhase::ALL.len());
    let secret = object([("name!", variable.clone()), ("phases!", phases)]);
    let step = object([
        ("name!", text(1..=MAX_STEP_NAME)),
        (
            "run!",
            described(text(1..=MAX_COMMAND), "Goes to `sh -c` in the checkout."),
        ),
        ("timeoutMs", whole(STEP_MS)),
    ]);
    let registry = object([
        ("kind!", schemas.of::<RegistryKind>()),
        (
            "url!",
            described(text(1..=MAX_URL), "https, without user, query or fragment."),
        ),
        (
            "secret!",
            described(
                variable,
                "The secret with its credential: a token, or `user:password`.",
            ),
        ),
    ]);
    let service = object([
        ("name!", text(1..=MAX_STEP_NAME)),
        ("image!", text(1..=MAX_IMAGE)),
        ("port!", whole(1..=65_535)),
        ("variables", variables.clone()),
        ("ready", text(1..=MAX_COMMAND)),
    ]);
    let image = described(text(1..=MAX_IMAGE), "Pinned by its digest.");
    object([
        (name, schemas.of::<EnvironmentName>()),
        ("description", text(0..=MAX_DESCRIPTION)),
        ("variables", variables),
        ("secrets", list(&secret, 0..=MAX_SECRETS)),
        ("setup", list(&step, 0..=MAX_STEPS)),
        ("caches", list(&text(1..=MAX_PATH), 0..=MAX_CACHES)),
        ("registries", list(&registry, 0..=MAX_REGISTRIES)),
        ("image", image),
        ("size", schemas.of::<Size>()),
        ("services", list(&service, 0..=MAX_SERVICES)),
        ("egress", list(&text(1..=253), 0..=MAX_HOSTS)),
    ])
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
