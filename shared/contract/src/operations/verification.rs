//! Operations of verification.

use awo_domain::Timestamp;
use awo_domain::api_key::Scope;
use awo_domain::plugin::PluginId;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success};
use crate::routes::{Route, creating, keyed, streaming};
use crate::schema::Schemas;
use crate::verification::input::{NewPlugin, VerificationBody};
use crate::verification::output::{
    PluginShape, PluginsShape, SwitchShape, VerificationResultShape,
};

/// `GET /api/v1/verification/plugins`
pub const LIST_PLUGINS: Route = keyed(
    "GET",
    "/api/v1/verification/plugins",
    Scope::VerificationRead,
    "list-plugins",
);
/// `POST /api/v1/verification/plugins`
pub const REGISTER_PLUGIN: Route = creating(
    keyed(
        "POST",
        "/api/v1/verification/plugins",
        Scope::VerificationWrite,
        "register-plugin",
    ),
    "/api/v1/verification/plugins",
    "/id",
);
/// `GET /api/v1/verification/plugins/{id}`
pub const GET_PLUGIN: Route = keyed(
    "GET",
    "/api/v1/verification/plugins/{id}",
    Scope::VerificationRead,
    "get-plugin",
);
/// `DELETE /api/v1/verification/plugins/{id}`
pub const DELETE_PLUGIN: Route = keyed(
    "DELETE",
    "/api/v1/verification/plugins/{id}",
    Scope::VerificationWrite,
    "delete-plugin",
);
/// `POST /api/v1/verification/plugins/{id}/enable`
pub const ENABLE_PLUGIN: Route = keyed(
    "POST",
    "/api/v1/verification/plugins/{id}/enable",
    Scope::VerificationWrite,
    "enable-plugin",
);
/// `POST /api/v1/verification/plugins/{id}/disable`
pub const DISABLE_PLUGIN: Route = keyed(
    "POST",
    "/api/v1/verification/plugins/{id}/disable",
    Scope::VerificationWrite,
    "disable-plugin",
);
/// `POST /api/v1/verification/run`
pub const RUN_VERIFICATION: Route = streaming(keyed(
    "POST",
    "/api/v1/verification/run",
    Scope::VerificationWrite,
    "run-verification",
));

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_PLUGINS,
    REGISTER_PLUGIN,
    GET_PLUGIN,
    DELETE_PLUGIN,
    ENABLE_PLUGIN,
    DISABLE_PLUGIN,
    RUN_VERIFICATION,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let list = Operation::of(
        &LIST_PLUGINS,
        "List verification plugins",
        "The built-in ones by level, then your own.",
    );
    let get = Operation::of(&GET_PLUGIN, "Get a plugin", "Your own or a built-in one.")
        .path::<PluginId>();
    let delete = Operation::of(
        &DELETE_PLUGIN,
        "Unregister a plugin",
        "Built-in ones are 403: disable them.",
    )
    .path::<PluginId>();
    let enable =
        Operation::of(&ENABLE_PLUGIN, "Enable a plugin", "It runs from now on.").path::<PluginId>();
    let disable = Operation::of(
        &DISABLE_PLUGIN,
        "Disable a plugin",
        "From now on it runs neither in verifications nor in runs.",
    )
    .path::<PluginId>();
    vec![
        list.answers(Success::of::<PluginsShape>(schemas, 200, "All plugins.")),
        register(schemas),
        get.answers(Success::of::<PluginShape>(schemas, 200, "The plugin.")),
        delete.answers(Success::nothing("It is gone.")),
        enable.answers(Success::of::<SwitchShape>(schemas, 200, "It is enabled.")),
        disable.answers(Success::of::<SwitchShape>(schemas, 200, "It is disabled.")),
        run(schemas),
    ]
}

fn register(schemas: &mut Schemas) -> Operation {
    let now = Timestamp::from_epoch_ms(0);
    let body = NewPlugin { now }.schema(schemas);
    let example = json!({
        "id": "custom:licences",
        "name": "Licences",
        "description": "Every dependency has a licence that we allow.",
        "level": "L0",
        "command": ["./check-licences", "--strict"],
        "timeoutMs": 60_000,
    });
    Operation::of(
        &REGISTER_PLUGIN,
        "Register a plugin",
        "A command that runs in the clean checkout of every iteration. A taken id is 409.",
    )
    .body(body, example)
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<PluginShape>(schemas, 201, "The plugin."))
}

fn run(schemas: &mut Schemas) -> Operation {
    let body = VerificationBody {
        harness: |_: &str| Ok(()),
        plugin: PluginId::parse,
    };
    let body = body.schema(schemas);
    Operation::of(
        &RUN_VERIFICATION,
        "Verify a workspace",
        "Runs the plugins on the workspace of a run. It takes no slot; two at once, then 429. It is \
         charged by the second, and held for `timeoutMs`, a minute at least: 402 if the credits or a \
         budget do not cover that. If it takes longer than 5 s, the answer begins as 200 with white space: \
         read `success`.",
    )
    .body(body, example())
    .late()
    .fails(&[Failure::InsufficientCredits])
    .answers(Success::of::<VerificationResultShape>(
        schemas,
        200,
        "The finding.",
    ))
}

fn example() -> Value {
    json!({
        "workDir": "/workspaces/org_01kb4x00000000000000000000/run_01kb4x00000000000000000000/workspace",
        "levels": ["L0", "L1"],
        "timeoutMs": 120_000,
    })
}
