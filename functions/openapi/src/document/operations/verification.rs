//! Operations of verification.

use awo_contract::Field;
use awo_contract::schema::Schemas;
use awo_contract::verification::input::{NewPlugin, VerificationBody};
use awo_contract::verification::output::{
    PluginShape, PluginsShape, SwitchShape, VerificationResultShape,
};
use awo_domain::Timestamp;
use awo_domain::plugin::PluginId;
use awo_http::routes;
use serde_json::{Value, json};

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success};

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let list = Operation::of(
        &routes::LIST_PLUGINS,
        "List verification plugins",
        "The built-in ones by level, then your own.",
    );
    let get = Operation::of(
        &routes::GET_PLUGIN,
        "Get a plugin",
        "Your own or a built-in one.",
    );
    let delete = Operation::of(
        &routes::DELETE_PLUGIN,
        "Unregister a plugin",
        "Built-in ones are 403: disable them.",
    );
    let enable = Operation::of(
        &routes::ENABLE_PLUGIN,
        "Enable a plugin",
        "It runs from now on.",
    );
    let disable = Operation::of(
        &routes::DISABLE_PLUGIN,
        "Disable a plugin",
        "From now on it runs neither in verifications nor in runs.",
    );
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
        &routes::REGISTER_PLUGIN,
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
        &routes::RUN_VERIFICATION,
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
