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
use crate::document::schema::{Schemas, described, input, list, map, object, text, whole};

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
    let body = body(schemas, "name!");
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
    let body = body(schemas, "name");
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

fn body(schemas: &mut Schemas, name: &'static str) -> Value {
    let hosts = list(&text(1..=253), 0..=MAX_HOSTS);
    let caches = list(&text(1..=MAX_PATH), 0..=MAX_CACHES);
    let registries = list(&registry(schemas), 0..=MAX_REGISTRIES);
    object([
        (
            name,
            described(schemas.of::<EnvironmentName>(), "Its name."),
        ),
        (
            "description",
            described(text(0..=MAX_DESCRIPTION), "A description for people."),
        ),
        ("variables", variables()),
        (
            "secrets",
            described(
                list(&secret(schemas), 0..=MAX_SECRETS),
                "Secrets by their names, and the phases that get them.",
            ),
        ),
        (
            "setup",
            described(
                list(&step(), 0..=MAX_STEPS),
                "Commands before the agent and before each verification, in this order.",
            ),
        ),
        (
            "caches",
            described(
                caches,
                "Folders that are cached between runs, by lock files.",
            ),
        ),
        (
            "registries",
            described(registries, "Registries that require a credential."),
        ),
        (
            "image",
            described(
                text(1..=MAX_IMAGE),
                "The image of the task, built on the runner's base and pinned by its digest; only in the cloud.",
            ),
        ),
        (
            "size",
            described(schemas.of::<Size>(), "The size of the task."),
        ),
        (
            "services",
            described(
                list(&service(), 0..=MAX_SERVICES),
                "Containers beside the runner's, on its loopback; only in the cloud, and not with caches.",
            ),
        ),
        (
            "egress",
            described(
                hosts,
                "The hosts that commands may connect to, each by its name or as `*.` and a name; all hosts if there are none. Not with services.",
            ),
        ),
    ])
}

fn variables() -> Value {
    let variables = map(&text(0..=MAX_VALUE), MAX_VARIABLES, 1..=MAX_NAME);
    described(variables, "Environment variables by their names.")
}

fn variable(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$", "description": description })
}

fn secret(schemas: &mut Schemas) -> Value {
    let phases = list(&schemas.of::<SecretPhase>(), 1..=SecretPhase::ALL.len());
    let secret = object([
        ("name!", variable("Its name, and that of its variable.")),
        ("phases!", described(phases, "When it exists.")),
    ]);
    input("EnvironmentSecretInput", "A secret by its name.", secret)
}

fn step() -> Value {
    let step = object([
        ("name!", described(text(1..=MAX_STEP_NAME), "Its name.")),
        (
            "run!",
            described(text(1..=MAX_COMMAND), "Runs with `sh -c` in the checkout."),
        ),
        (
            "timeoutMs",
            described(whole(STEP_MS), "Its timeout, in milliseconds."),
        ),
    ]);
    input("SetupStepInput", "A command of the setup.", step)
}

fn registry(schemas: &mut Schemas) -> Value {
    let registry = object([
        (
            "kind!",
            described(schemas.of::<RegistryKind>(), "Its packages."),
        ),
        (
            "url!",
            described(text(1..=MAX_URL), "https, without user, query or fragment."),
        ),
        (
            "secret!",
            variable("The secret with its credential: a token, or `user:password`."),
        ),
    ]);
    let description = "A registry that requires a credential.";
    input("EnvironmentRegistryInput", description, registry)
}

fn service() -> Value {
    let service = object([
        (
            "name!",
            json!({ "type": "string", "pattern": "^[a-z0-9-]{1,63}$", "description": "Its name." }),
        ),
        (
            "image!",
            described(text(1..=MAX_IMAGE), "With a tag or a digest."),
        ),
        (
            "port!",
            described(whole(1..=65_535), "The port that it listens on."),
        ),
        ("variables", variables()),
        (
            "ready",
            described(
                text(1..=MAX_COMMAND),
                "Runs with `sh -c` in the container. The run begins once it succeeds.",
            ),
        ),
    ]);
    input(
        "EnvironmentServiceInput",
        "A container beside the runner's.",
        service,
    )
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
